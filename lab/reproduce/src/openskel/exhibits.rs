//! All tables and figures of the publication, and the statements that our results are held
//! against.

use super::applications::names;
use super::comparison::Comparison;
use super::oracle::{picked, played};
use super::search::{BASELINE as FIXED_BASELINE, TUNED};
use super::single::{BASELINE, HELPERS, OPTIMISATIONS};
use super::{PUBLICATION, helped, locking, places, simulated, thresholds, versions};
use crate::common::machines::labels;
use crate::exhibit::{Claim, Exhibit, Exhibits, NO_GAIN, Repeat, Said, means, over};
use crate::experiment::Need;
use crate::paper::openskel::{TABLE_4_2, TABLE_4_3, VERSIONS_LEFT_OUT};
use crate::results::{Results, all_of};
use crate::setting::Setting;
use crate::statistics::deviation;

/// The figures are pictures.
const PICTURE: &str = "The picture has no numbers; held against is what the text says of it.";
const CODE: &str = "pseudo-code, nothing to measure";

/// All tables and figures, in the publication's order.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    let mut all = Exhibits::of(PUBLICATION);
    all.drawn(&[
        ("Figure 1.1", "an application with a worklist"),
        ("Figure 2.1", "message passing and shared variables"),
        ("Figure 2.2", "algorithmic skeletons"),
    ]);
    all.not("Figure 2.3", "an atomic statement before and after translation", CODE);
    all.not("Figure 3.1", "the behaviour of a worklist", CODE);
    all.drawn(&[("Figure 3.2", "OpenSkel between application and transactions")]);
    all.not("Table 3.1", "the interface of OpenSkel", "a list of functions, nothing to measure");
    all.not("Figure 3.3", "the main function of an application", CODE);
    all.not("Figure 3.4", "an application", CODE);
    all.not("Figure 3.5", "a worker of OpenSkel", CODE);
    all.repeated(
        "Section 4.1",
        "the optimisations under locks that are taken at the commit",
        "The publication shows no values, and TL2 is not repeated.",
        [Repeat::new("openskel-locking", under_both_locks)],
    );
    all.not(
        "Table 4.1",
        "the machines UMA16, NUMA16 and NUMA32",
        "a description; the simulator has machines of these names",
    );
    all.drawn(&[("Figure 4.1", "the same machines")]);
    of_versions(&mut all);
    all.drawn(&[("Figure 5.1", "the optimisations")]);
    all.not("Table 5.1", "the interface of helpers", "a list of functions, nothing to measure");
    all.drawn(&[("Figure 5.2", "a helper beside its worker")]);
    all.not("Table 5.2", "advantages of the optimisations", "words, nothing to measure");
    of_optimisations(&mut all);
    all.drawn(&[("Figure 6.1", "the states of the tuner")]);
    all.not("Figure 6.2", "the tuner", CODE);
    all.not("Figure 6.3", "the tuner's choice of the number of threads", CODE);
    all.not("Figure 6.4", "the tuner's choice of the lifespan", CODE);
    of_the_tuner(&mut all);
    of_places(&mut all);
    all.into_all()
}

fn of_versions(all: &mut Exhibits) {
    let of =
        |claims: fn(&Results, &Setting) -> Vec<Claim>| Repeat::new("openskel-versions", claims);
    all.repeated(
        "Table 4.2",
        "applications by hand on NUMA32: cores, aborts, cache misses, length",
        "The simulator's units are alike; only cores are numbers, the rest is words.",
        [
            Repeat::simulated("openskel-machines", "UMA16, NUMA16, NUMA32", simulated_cores),
            of(cores_by_hand).needs(Need::Workers(32)),
        ],
    );
    all.repeated(
        "Table 4.3",
        "standard deviations of the times, baseline and by hand",
        "Compared are values for each number of workers, of which there are few here.",
        [of(deviations)],
    );
    all.repeated(
        "Figure 4.2",
        "baseline against the original: speed-up and aborts",
        PICTURE,
        [
            Repeat::simulated("openskel-machines", "UMA16, NUMA16, NUMA32", scales_no_further),
            of(baseline_over_original).needs(Need::Workers(16)),
        ],
    );
    all.repeated(
        "Figure 4.3",
        "transactions of the baseline and of the original",
        PICTURE,
        [of(transactions).needs(Need::Workers(16))],
    );
}

fn on_machines(claims: impl Fn(&Results, &Setting) -> Vec<Claim> + 'static) -> Repeat {
    Repeat::simulated("openskel-machines", "UMA16, NUMA16, NUMA32", claims)
}

fn of_optimisations(all: &mut Exhibits) {
    let figures = [
        ("Figure 5.3", "stealing"),
        ("Figure 5.4", "coalescing"),
        ("Figure 5.5", "swap retry"),
        ("Figure 5.6", HELPERS),
    ];
    for (label, optimisation) in figures {
        let here = Repeat::new("openskel-single", move |results, setting| {
            alone(results, setting, optimisation)
        });
        let here = here.needs(Need::Workers(16));
        let by = match optimisation {
            HELPERS => {
                vec![
                    Repeat::simulated("openskel-helpers-machine", "UMA16", simulated_helpers),
                    here,
                ]
            }
            _ => vec![
                on_machines(move |results, setting| {
                    simulated_alone(results, setting, optimisation)
                }),
                here,
            ],
        };
        all.repeated(label, format!("{optimisation} against the baseline"), PICTURE, by);
    }
    all.repeated(
        "Figure 5.7",
        "cache misses with helpers and without",
        "It needs a processor's counters.",
        [Repeat::new("openskel-single", misses)],
    );
    all.repeated(
        "Figure 5.8",
        "all optimisations side by side",
        PICTURE,
        [Repeat::new("openskel-single", side_by_side).needs(Need::Workers(16))],
    );
}

fn of_the_tuner(all: &mut Exhibits) {
    all.repeated(
        "Figure 6.5",
        "the tuner and the best fixed settings over the best baseline",
        "The search is exhaustive at size full only.",
        [Repeat::new("openskel-combined", |results, setting| tuned(results, setting, 46.0))
            .needs(Need::Workers(16))],
    );
    all.repeated(
        "Figure 6.6",
        "the thresholds alpha and beta",
        PICTURE,
        [Repeat::new("openskel-thresholds", pairs).needs(Need::Workers(16))],
    );
    all.repeated(
        "Figure 6.7",
        "what the tuner does, epoch by epoch",
        PICTURE,
        [Repeat::new("openskel-path", settling)],
    );
}

fn of_places(all: &mut Exhibits) {
    all.repeated(
        "Figure 7.1",
        "pages that each thread touches, over time",
        "The picture has no numbers, and the pages depend on the allocator.",
        [Repeat::new("openskel-footprint", pages)],
    );
    all.drawn(&[("Figure 7.2", "thread mappings"), ("Figure 7.3", "page placements")]);
    all.repeated(
        "Figure 7.4",
        "thread mappings of the baseline",
        PICTURE,
        [
            on_machines(simulated_mapping),
            Repeat::new("openskel-places", mappings).needs(Need::Packages(2)),
        ],
    );
    all.repeated(
        "Figure 7.5",
        "page placements of the baseline",
        PICTURE,
        [Repeat::new("openskel-places", placements).needs(Need::Nodes(2))],
    );
    all.repeated(
        "Figure 7.6",
        "the tuner with mappings and placements",
        "The search is exhaustive at size full only.",
        [Repeat::new("openskel-combined", |results, setting| tuned(results, setting, 91.0))
            .needs(Need::Nodes(2))],
    );
}

fn under_both_locks(results: &Results, setting: &Setting) -> Vec<Claim> {
    let applications = names(setting.scale);
    let claim = |optimisation: &str| {
        let speed_ups = |app: &str, locks: &str| {
            let [base, this] =
                [BASELINE, optimisation].map(|version| locking::labels(app, version, locks));
            over(results, &base, &this, "wall_s")
        };
        let ratios = |app: &String| {
            let [late, early] = [locking::LATE, locking::EARLY].map(|locks| speed_ups(app, locks));
            late.into_iter().zip(early).map(|(late, early)| late / early).collect()
        };
        let all: Vec<Vec<f64>> = applications.iter().map(ratios).collect();
        let what = format!("speed-up by {optimisation}, locks at the commit over the first write");
        Claim::ratio(what, Said::Same, means(&all))
    };
    OPTIMISATIONS.into_iter().map(claim).collect()
}

/// The number of cores on which a simulated version is fastest, in each round.
fn fastest(results: &Results, setting: &Setting, app: &str, version: &str) -> Vec<f64> {
    let times = |cores: usize| {
        let labels = labels(simulated::NAMES, (app, "numa32", version, cores));
        (cores, results.values(&all_of(&labels), "time_s"))
    };
    let all: Vec<(usize, Vec<f64>)> =
        simulated::counts("numa32", setting.scale).into_iter().map(times).collect();
    let rounds = all.iter().map(|(_, times)| times.len()).min().unwrap_or(0);
    let best = |round: usize| {
        let least = all.iter().min_by(|a, b| a.1[round].total_cmp(&b.1[round]));
        least.map(|(cores, _)| *cores as f64)
    };
    (0..rounds).filter_map(best).collect()
}

fn simulated_cores(results: &Results, setting: &Setting) -> Vec<Claim> {
    let claim = |row: &crate::paper::openskel::Character| {
        // The original of vacation has no common list.
        let own_lists = VERSIONS_LEFT_OUT.contains(&row.app);
        let version = if own_lists { "stealing" } else { BASELINE };
        let ours = fastest(results, setting, row.app, version);
        let what = format!("{}, {version}, scales to", row.app);
        Claim::plain(what, "cores", Said::Value(row.scales_to.into()), ours)
    };
    TABLE_4_2.iter().map(claim).collect()
}

fn scales_no_further(results: &Results, setting: &Setting) -> Vec<Claim> {
    let claim = |app: &str| {
        let ours = fastest(results, setting, app, BASELINE);
        let what = format!("{app}, baseline on NUMA32, scales to");
        Claim::plain(what, "cores", Said::LessThan(9.0), ours)
    };
    ["intruder", "kmeans"].map(claim).into()
}

fn of_hand<'a>(results: &'a Results, setting: &'a Setting) -> Comparison<'a> {
    Comparison::new(results, setting, ["version", "workers"], versions::BY_HAND)
}

fn cores_by_hand(results: &Results, setting: &Setting) -> Vec<Claim> {
    let comparison = of_hand(results, setting);
    let claim = |row: &crate::paper::openskel::Character| {
        let ours = comparison.fastest(row.app, versions::BY_HAND).map(|workers| workers as f64);
        let what = format!("{} by hand, scales to", row.app);
        Claim::plain(what, "cores", Said::Value(row.scales_to.into()), ours.into_iter().collect())
    };
    TABLE_4_2.iter().map(claim).collect()
}

fn deviations(results: &Results, setting: &Setting) -> Vec<Claim> {
    let comparison = of_hand(results, setting);
    let of = |app: &str, version: &str| {
        let all = setting.threads.iter().filter_map(|&workers| {
            Some(deviation(&comparison.values(app, (version, workers), "wall_s"))? * 100.0)
        });
        all.collect::<Vec<_>>()
    };
    let claim = |row: &crate::paper::openskel::Deviation| {
        let published =
            [(versions::BASELINE, row.baseline_uma16), (versions::BY_HAND, row.original_uma16)];
        published.map(|(version, value)| {
            let what = format!("{}, {version}, deviation (UMA16)", row.app);
            Claim::percent(what, Said::Value(value), of(row.app, version))
        })
    };
    TABLE_4_3.iter().flat_map(claim).collect()
}

fn baseline_over_original(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (comparison, most) = (of_hand(results, setting), setting.most_workers());
    let speed_ups = |app: &str| {
        let [base, this] = [versions::BY_HAND, versions::BASELINE].map(|name| (name, most));
        comparison.speed_ups(app, base, this)
    };
    let said = [
        ("intruder", Said::More),
        ("kmeans", Said::Less),
        ("labyrinth", Said::Same),
        ("vacation", Said::Less),
    ];
    let each = said.map(|(app, said)| {
        Claim::gain(format!("baseline over the original, {app}"), said, &speed_ups(app))
    });
    let averaged = comparison.applications.iter().map(String::as_str);
    let averaged = averaged.filter(|app| !VERSIONS_LEFT_OUT.contains(app));
    let mean = means(&averaged.map(speed_ups).collect::<Vec<_>>());
    let mean = Claim::gain("the same, mean without vacation", Said::Effect(3.0), &mean);
    each.into_iter().chain([mean]).collect()
}

fn transactions(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (comparison, most) = (of_hand(results, setting), setting.most_workers());
    let said = [
        ("intruder", Said::Less),
        ("kmeans", Said::Less),
        ("labyrinth", Said::Effect(0.5)),
        ("vacation", Said::Same),
    ];
    let claim = |(app, said)| {
        let [of, to] = [versions::BASELINE, versions::BY_HAND]
            .map(|version| comparison.values(app, (version, most), "transactions"));
        let ratios = of.into_iter().zip(to).map(|(of, to)| of / to).collect();
        Claim::ratio(format!("transactions over the original's, {app}"), said, ratios)
    };
    said.map(claim).into()
}

/// The statements of the text about an optimisation's gain.
fn said(optimisation: &str) -> [(&'static str, Said); 5] {
    let all = |said: [Said; 5]| {
        let apps = ["intruder", "kmeans", "labyrinth", "vacation", "yada"];
        std::array::from_fn(|at| (apps[at], said[at]))
    };
    use Said::{Same, UpTo, Words};
    match optimisation {
        "stealing" => all([
            UpTo(102.0),
            UpTo(35.0),
            Words("a victim is hard to find"),
            UpTo(47.0),
            UpTo(35.0),
        ]),
        "coalescing" => all([UpTo(16.0), UpTo(4.0), NO_GAIN, UpTo(32.0), UpTo(7.0)]),
        "swap retry" => all([NO_GAIN, NO_GAIN, UpTo(4.0), Same, UpTo(33.0)]),
        _ => all([UpTo(12.0), NO_GAIN, NO_GAIN, UpTo(10.0), Words("on UMA16 only")]),
    }
}

fn of_baseline<'a>(results: &'a Results, setting: &'a Setting) -> Comparison<'a> {
    Comparison::new(results, setting, ["optimisation", "cores"], BASELINE)
}

fn alone(results: &Results, setting: &Setting, optimisation: &'static str) -> Vec<Claim> {
    let (comparison, most) = (of_baseline(results, setting), setting.most_workers());
    let claim = |(app, said)| {
        let speed_ups = comparison.speed_ups(app, (BASELINE, most), (optimisation, most));
        Claim::gain(format!("{optimisation}, {app}, {most} cores"), said, &speed_ups)
    };
    said(optimisation).map(claim).into()
}

/// The speed-ups of a simulated version over the baseline, on all cores of a machine.
fn simulated_speed_ups(
    results: &Results,
    setting: &Setting,
    (app, machine, version): (&str, &'static str, &str),
) -> Vec<f64> {
    let most = simulated::counts(machine, setting.scale).last().copied().unwrap_or(1);
    let [base, this] =
        [BASELINE, version].map(|version| labels(simulated::NAMES, (app, machine, version, most)));
    over(results, &base, &this, "time_s")
}

fn simulated_alone(results: &Results, setting: &Setting, optimisation: &str) -> Vec<Claim> {
    let on = |machine: &'static str| {
        said(optimisation).map(|(app, said)| {
            let speed_ups = simulated_speed_ups(results, setting, (app, machine, optimisation));
            let said = match (optimisation, app, machine) {
                ("stealing", "yada", "numa32") => Said::Words("no number"),
                _ => said,
            };
            Claim::gain(format!("{optimisation}, {app}, {machine}"), said, &speed_ups)
        })
    };
    ["uma16", "numa32"].into_iter().flat_map(on).collect()
}

fn simulated_helpers(results: &Results, _: &Setting) -> Vec<Claim> {
    let [without, with] = helped::without_and_with();
    let what = "8 workers with helpers over 16 without, most conflicts and misses";
    vec![Claim::gain(what, Said::More, &over(results, &without, &with, "time_s"))]
}

fn simulated_mapping(results: &Results, setting: &Setting) -> Vec<Claim> {
    let of = |app: &String| simulated_speed_ups(results, setting, (app, "numa32", "compact"));
    let mean = means(&names(setting.scale).iter().map(of).collect::<Vec<_>>());
    vec![Claim::gain("compact over scatter on numa32, mean", Said::Effect(48.0), &mean)]
}

fn misses(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (comparison, most) = (of_baseline(results, setting), setting.most_workers());
    let claim = |(app, _): (&str, Said)| {
        let [with, without] =
            [HELPERS, BASELINE].map(|version| comparison.round_misses(app, (version, most)));
        let ratios = with.into_iter().zip(without).map(|(with, without)| with / without).collect();
        let said = if app == "labyrinth" { Said::Same } else { Said::Less };
        Claim::ratio(format!("miss ratio with helpers over without, {app}"), said, ratios)
    };
    said(HELPERS).map(claim).into()
}

fn side_by_side(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (comparison, most) = (of_baseline(results, setting), setting.most_workers());
    let claim = |other: &'static str| {
        let speed_ups = comparison
            .applications
            .iter()
            .map(|app| comparison.speed_ups(app, (other, most), (OPTIMISATIONS[0], most)));
        let mean = means(&speed_ups.collect::<Vec<_>>());
        Claim::gain(format!("stealing over {other}, mean of all applications"), Said::More, &mean)
    };
    OPTIMISATIONS[1..].iter().copied().map(claim).collect()
}

/// The tuner over the baseline, and over the best fixed settings: means of all applications.
fn tuned(results: &Results, setting: &Setting, average: f64) -> Vec<Claim> {
    let applications = names(setting.scale);
    let speed_ups = |app: &String, over_best: bool| {
        let base =
            if over_best { picked(results, app) } else { played(results, app, FIXED_BASELINE) };
        let both = base.zip(played(results, app, TUNED));
        both.map(|(base, tuned)| results.ratios(&base, &tuned, "wall_s")).unwrap_or_default()
    };
    let mean = |over_best| {
        means(&applications.iter().map(|app| speed_ups(app, over_best)).collect::<Vec<_>>())
    };
    vec![
        Claim::gain("the tuner over the best baseline, mean", Said::Effect(average), &mean(false)),
        Claim::gain("the tuner over the best fixed settings, mean", Said::Same, &mean(true)),
    ]
}

fn pairs(results: &Results, setting: &Setting) -> Vec<Claim> {
    let (applications, manager) = (names(setting.scale), setting.worklists.contention);
    let mean = |tenths: u32| {
        let speed_ups = applications.iter().map(|app| {
            let [best, this] = [1, tenths].map(|all| thresholds::labels(app, manager, (all, all)));
            over(results, &best, &this, "wall_s")
        });
        means(&speed_ups.collect::<Vec<_>>())
    };
    vec![
        Claim::gain("(0.9, 0.9) over (0.1, 0.1), mean", Said::Less, &mean(9)),
        Claim::gain("(0.5, 0.5) over (0.1, 0.1), mean", Said::Same, &mean(5)),
    ]
}

fn settling(results: &Results, setting: &Setting) -> Vec<Claim> {
    let claim = |app: String| {
        let shares = results.values(&[("application", &app)], "settling_share");
        let percent = shares.into_iter().map(|share| share * 100.0).collect();
        let said = match app.as_str() {
            "labyrinth" => Said::Words("more, with few long transactions"),
            _ => Said::LessThan(2.0),
        };
        Claim::percent(format!("time until the tuner has settled, {app}"), said, percent)
    };
    names(setting.scale).into_iter().map(claim).collect()
}

fn pages(results: &Results, setting: &Setting) -> Vec<Claim> {
    let claim = |app: String| {
        let pages = results.values(&[("application", &app)], "pages");
        let said = Said::Words("each thread touches most");
        Claim::plain(format!("pages seen, {app}"), "", said, pages)
    };
    names(setting.scale).into_iter().map(claim).collect()
}

/// Means of all applications over scattered threads on the most workers.
fn over_scatter(results: &Results, setting: &Setting, place: &'static str) -> Vec<f64> {
    let comparison = Comparison::new(results, setting, ["place", "workers"], places::SCATTER);
    let most = setting.most_workers();
    let speed_ups = comparison
        .applications
        .iter()
        .map(|app| comparison.speed_ups(app, (places::SCATTER, most), (place, most)));
    means(&speed_ups.collect::<Vec<_>>())
}

fn mappings(results: &Results, setting: &Setting) -> Vec<Claim> {
    let of = |place| over_scatter(results, setting, place);
    vec![
        Claim::gain("compact over scatter, mean", Said::Effect(48.0), &of(places::COMPACT)),
        Claim::gain("the system over scatter, mean", Said::Same, &of(places::SYSTEM)),
    ]
}

fn placements(results: &Results, setting: &Setting) -> Vec<Claim> {
    let claim = |place| {
        let what = format!("{place} over first touch, mean");
        Claim::gain(what, Said::Effect(8.0), &over_scatter(results, setting, place))
    };
    [places::CYCLIC, places::BOUND].map(claim).into()
}
