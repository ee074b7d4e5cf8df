//! All tables and figures of the publication, and the statements that our results are held
//! against.

use super::chip;
use super::model;
use super::simulated as sampled;
use super::strategies::{RAND, SAMP_SET, SET};
use super::workloads::{Workload, simulated, workloads};
use super::{PUBLICATION, breakdown, sampling, speedup, table1};
use crate::exhibit::{Claim, Exhibit, Exhibits, Repeat, Said, means, over};
use crate::experiment::Need;
use crate::paper::wool::{BEST_SAMPLE, MOST_WORKERS, SAMPLING_PAYS_FROM, Workload as Published};
use crate::results::{Results, all_of};
use crate::setting::Setting;

/// The publication's values stand in a picture.
const PICTURE: &str = "The values stand in a picture only; held against are the words about it.";

/// All tables and figures, in the publication's order.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    let mut all = Exhibits::of(PUBLICATION);
    all.drawn(&[
        ("Figure 1", "the program fib in Wool"),
        ("Figure 2", "the program stress, a tree of tasks"),
        ("Figure 3", "the algorithm of the two-field task stack"),
    ]);
    all.repeated(
        "Figure 4",
        "sampling on up to 1024 simulated workers: time and steals",
        "The curves' base is not published.",
        [Repeat::simulated("wool-simulation", "the publication's model", of_sampling)],
    );
    all.repeated(
        "Table 1",
        "parallelism, task sizes and steal intervals of the programs",
        "Cycles are those of another processor.",
        [
            Repeat::new("wool-table1", characters),
            Repeat::simulated("wool-chip", "TILEPro64", intervals),
        ],
    );
    all.repeated(
        "Figure 5",
        "speed-ups under four ways to choose a victim, and the model's bounds",
        PICTURE,
        [
            Repeat::simulated("wool-chip", "TILEPro64", speed_ups_on_the_chip),
            Repeat::new("wool-speedup", speed_ups).needs(Need::Workers(32)),
        ],
    );
    all.repeated(
        "Figure 6",
        "processor time in the application, in steals and in search",
        PICTURE,
        [Repeat::new("wool-breakdown", parts)],
    );
    all.repeated(
        "Figure 7",
        "what sampling does to the number of steals and to the time of one",
        PICTURE,
        [Repeat::new("wool-sampling", sampling_of_steals).needs(Need::Workers(32))],
    );
    all.repeated(
        "Figure 8",
        "what sampling does to the time where a steal is delayed by 4000 cycles",
        PICTURE,
        [Repeat::new("wool-sampling", sampling_delayed).needs(Need::Workers(32))],
    );
    all.into_all()
}

fn of_sampling(results: &Results, setting: &Setting) -> Vec<Claim> {
    let counts = sampled::counts(setting.scale);
    let most = counts.last().copied().unwrap_or(1);
    let fewer = counts.iter().rev().copied().find(|&count| count < SAMPLING_PAYS_FROM);
    let ratios = |workers: usize, samples: u32, base: u32, metric: &str| {
        let labels = |samples| sampled::labels(workers, samples);
        over(results, &labels(samples), &labels(base), metric)
    };
    let best = BEST_SAMPLE;
    let few = fewer.unwrap_or(most);
    let time = |workers, said| {
        let what = format!("time with samples of {best} over none, {workers} workers");
        Claim::ratio(what, said, ratios(workers, best, 0, "time_leaves"))
    };
    let size = |other: u32, said| {
        let what = format!("time with samples of {other} over {best}, {most} workers");
        Claim::ratio(what, said, ratios(most, other, best, "time_leaves"))
    };
    vec![
        time(few, Said::More),
        time(most, Said::Less),
        Claim::ratio(
            format!("steals with samples of {best} over none, {most} workers"),
            Said::Effect(2.0 / 3.0),
            ratios(most, best, 0, "steals"),
        ),
        size(1, Said::More),
        size(4, Said::More),
    ]
}

/// Ours over the publication's in each round, and the mean over the programs of the table.
fn beside(
    workloads: &[Workload],
    what: &str,
    ours: impl Fn(&Workload) -> Vec<f64>,
    theirs: impl Fn(&Published) -> f64,
) -> Claim {
    let ratios = |workload: &Workload| {
        let published = theirs(workload.published()?);
        Some(ours(workload).into_iter().map(|ours| ours / published).collect())
    };
    let all: Vec<Vec<f64>> = workloads.iter().filter_map(ratios).collect();
    let what = format!("{what} over the table's, mean of {} programs", all.len());
    Claim::ratio(what, Said::Value(1.0), means(&all))
}

fn characters(results: &Results, setting: &Setting) -> Vec<Claim> {
    let workloads = workloads(setting.scale);
    let recorded = |workload: &Workload, metric: &str| {
        let labels = table1::labels(&workload.name(), table1::RECORDED, 1);
        results.values(&all_of(&labels), metric)
    };
    let parallelism = |metric| move |workload: &Workload| recorded(workload, metric);
    let cycles = |workload: &Workload| {
        let labels = table1::labels(&workload.name(), table1::ALONE, 1);
        let walls = results.values(&all_of(&labels), "wall_s");
        let rates = recorded(workload, "cycles_a_s");
        let repetitions = f64::from(workload.repetitions);
        let kilocycles = |(wall, rate): (f64, f64)| wall * rate / 1e3 / repetitions;
        walls.into_iter().zip(rates).map(kilocycles).collect()
    };
    let granularity = |workload: &Workload| {
        let [work, rate, tasks] =
            ["work_s", "cycles_a_s", "tasks"].map(|metric| recorded(workload, metric));
        let each = |((work, rate), tasks): ((f64, f64), f64)| work * rate / tasks;
        work.into_iter().zip(rate).zip(tasks).map(each).collect()
    };
    vec![
        beside(
            &workloads,
            "parallelism where steals are free",
            parallelism("parallelism_0"),
            |line| line.parallelism_0,
        ),
        beside(
            &workloads,
            "parallelism where a steal costs 1000 cycles",
            parallelism("parallelism_1000"),
            |line| line.parallelism_1000,
        ),
        beside(&workloads, "cycles of a repetition", cycles, |line| line.kilocycles.into()),
        beside(&workloads, "cycles of a task", granularity, |line| line.granularity.into()),
    ]
}

fn intervals(results: &Results, setting: &Setting) -> Vec<Claim> {
    let interval = |workload: &Workload| {
        let labels = chip::labels(&workload.name(), RAND.name, MOST_WORKERS);
        results.values(&all_of(&labels), "steal_kilocycles")
    };
    let what = format!("work between two steals, {MOST_WORKERS} workers, RAND,");
    vec![beside(&simulated(setting.scale), &what, interval, |line| line.steal_interval[7].into())]
}

fn speed_ups_on_the_chip(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (workloads, most) = (simulated(setting.scale), MOST_WORKERS);
    let of_model = |workload: &Workload| {
        let labels = chip::labels(&workload.name(), RAND.name, most);
        let of = |metric| results.values(&all_of(&labels), metric);
        let low = |parallelism| model::speed_ups(parallelism, most).0;
        of("speed_up")
            .into_iter()
            .zip(of("parallelism"))
            .map(|(ours, all)| ours / low(all))
            .collect()
    };
    let set = |workload: &Workload| {
        let counts = chip::counts(setting.scale).into_iter().filter(|&workers| workers > 1);
        let ratios = counts.map(|workers| {
            let [set, rand] =
                [SET, RAND].map(|way| chip::labels(&workload.name(), way.name, workers));
            over(results, &set, &rand, "time_s")
        });
        ratios.collect::<Vec<_>>()
    };
    let of_model: Vec<Vec<f64>> = workloads.iter().map(of_model).collect();
    let set: Vec<Vec<f64>> = workloads.iter().flat_map(set).collect();
    vec![
        Claim::ratio(
            format!("speed-up on {most} workers over the model's lower end, mean of all programs"),
            Said::Value(1.0),
            means(&of_model),
        ),
        Claim::ratio("time with SET over RAND, mean of all points", Said::Less, means(&set)),
    ]
}

fn speed_ups(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (workloads, most) = (workloads(setting.scale), setting.most_workers());
    let of = |workload: &Workload, strategy: &str, workers| {
        speedup::labels(&workload.name(), strategy, workers)
    };
    let of_model = |workload: &Workload| {
        let span = of(workload, speedup::SPAN, 1);
        let parallelism = results.last(&all_of(&span), "parallelism_0")?;
        let low = model::speed_ups(parallelism, most).0;
        let [alone, all] = [1, most].map(|workers| of(workload, RAND.name, workers));
        let speed_ups = over(results, &alone, &all, "wall_s").into_iter();
        Some(speed_ups.map(|speed_up| speed_up / low).collect())
    };
    let set = |workload: &Workload| {
        let [set, rand] = [SET, RAND].map(|way| of(workload, way.name, most));
        over(results, &set, &rand, "wall_s")
    };
    let of_model: Vec<Vec<f64>> = workloads.iter().filter_map(of_model).collect();
    let set: Vec<Vec<f64>> = workloads.iter().map(set).collect();
    vec![
        Claim::ratio(
            format!("speed-up on {most} workers over the model's lower end, mean of all programs"),
            Said::Value(1.0),
            means(&of_model),
        ),
        Claim::ratio(
            format!("time with SET over RAND, {most} workers, mean of all programs"),
            Said::Less,
            means(&set),
        ),
    ]
}

fn parts(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (workloads, most) = (workloads(setting.scale), setting.most_workers());
    let sum = |workload: &Workload, workers: usize, metrics: &[&str]| {
        let labels = breakdown::labels(&workload.name(), workers);
        let each = metrics.iter().map(|metric| results.values(&all_of(&labels), metric));
        let each: Vec<Vec<f64>> = each.collect();
        let rounds = each.iter().map(Vec::len).min().unwrap_or(0);
        (0..rounds).map(|round| each.iter().map(|values| values[round]).sum()).collect::<Vec<f64>>()
    };
    let over = |of: Vec<f64>, to: Vec<f64>| {
        of.into_iter().zip(to).map(|(of, to)| of / to).collect::<Vec<f64>>()
    };
    let steals = ["steals_s", "steals_in_join_s"];
    let application = ["application_s", "application_in_join_s"];
    let all = [&application[..], &steals, &["search_s", "search_in_join_s"]].concat();
    let share = |workload: &Workload| {
        let parts = over(sum(workload, most, &steals), sum(workload, most, &all));
        parts.into_iter().map(|part| part * 100.0).collect()
    };
    let grown = |sorts: bool| {
        let chosen = workloads.iter().filter(|workload| (workload.app == "multisort") == sorts);
        let growth = chosen.map(|workload| {
            over(sum(workload, most, &application), sum(workload, 1, &application))
        });
        means(&growth.collect::<Vec<_>>())
    };
    let shares: Vec<Vec<f64>> = workloads.iter().map(share).collect();
    let growth = |what: &str| format!("application time of {what}, {most} workers over one");
    vec![
        Claim::percent(
            format!("steals of all processor time, {most} workers, mean of all programs"),
            Said::LessThan(50.0),
            means(&shares),
        ),
        Claim::ratio(growth("multisort"), Said::More, grown(true)),
        Claim::ratio(growth("the others"), Said::Same, grown(false)),
    ]
}

/// SAMP+SET over SET on the most workers, the mean of these programs.
fn sampled_over_set(
    results: &Results,
    setting: &Setting,
    (delay, mode, metric): (u32, sampling::Mode, &str),
    apps: impl Fn(&str) -> bool,
) -> Vec<f64> {
    let ratios = |workload: &Workload| {
        let [of, to] = [SAMP_SET, SET].map(|way| {
            sampling::labels(&workload.name(), way, delay, mode, setting.most_workers())
        });
        over(results, &of, &to, metric)
    };
    let chosen = workloads(setting.scale).into_iter().filter(|workload| apps(workload.app));
    means(&chosen.map(|workload| ratios(&workload)).collect::<Vec<_>>())
}

fn sampling_of_steals(results: &Results, setting: &Setting) -> Vec<Claim> {
    let most = setting.most_workers();
    let of = |mode, metric| sampled_over_set(results, setting, (0, mode, metric), |_| true);
    let what = |what: &str| format!("{what}, SAMP+SET over SET, {most} workers");
    vec![
        Claim::ratio(what("steals"), Said::Less, of(sampling::Mode::Plain, "steals")),
        Claim::ratio(
            what("time of a steal"),
            Said::More,
            of(sampling::Mode::Profiled, "a_steal_s"),
        ),
        Claim::ratio(what("time"), Said::Same, of(sampling::Mode::Plain, "wall_s")),
    ]
}

fn sampling_delayed(results: &Results, setting: &Setting) -> Vec<Claim> {
    let most = setting.most_workers();
    let of = |gains: bool| {
        let case = (4000, sampling::Mode::Plain, "wall_s");
        sampled_over_set(results, setting, case, |app| ["stress", "ssf"].contains(&app) == gains)
    };
    let what = |what: &str| format!("time of {what}, SAMP+SET over SET, {most} workers");
    vec![
        Claim::ratio(what("stress and ssf"), Said::Less, of(true)),
        Claim::ratio(what("the others"), Said::Same, of(false)),
    ]
}
