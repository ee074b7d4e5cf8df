//! All tables and figures of the publication, and the statements that our results are held
//! against.

use super::access::SEQUENTIAL as ACCESS_ALONE;
use super::metrics::{WITH, WITHOUT};
use super::performance::{OPENMP, OURS, SEQUENTIAL};
use super::schedules::{CHUNKS, INDIVIDUAL, STATIC, SWITCHED};
use super::sharing::{Manner, TIMES};
use super::{PUBLICATION, schedules, switching};
use crate::exhibit::{A_DRAWING, Claim, Exhibit, Exhibits, Repeat, Said, means};
use crate::experiment::Need;
use crate::paper::plastic::{DYNAMIC_OVER_STATIC, METRICS, SHARING_INTERVALS_MS, THREADS};
use crate::results::{Results, all_of};
use crate::setting::Setting;

/// The figures are pictures.
const PICTURE: &str = "The picture has no numbers; held against is what the text says of it.";
const CODE: &str = "a listing, nothing to measure";
const PARAMETERS: &str = "parameters, which the experiment has at size full";

/// All tables and figures, in the publication's order.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    let mut all = Exhibits::of(PUBLICATION);
    all.repeated(
        "Figure 2.1",
        "programs that share a socket against the same on sockets of their own",
        "The programs are other ones.",
        [
            Repeat::simulated("plastic-pairs-machine", "Termi", simulated_on_one_socket),
            Repeat::new("plastic-pairs", on_one_socket).needs(Need::Packages(2)),
        ],
    );
    all.drawn(&[
        ("Figure 2.2", "times of three algorithms over the size, invented"),
        ("Figure 3.1", "patterns, from the documentation of SkePU"),
        ("Figure 3.2", "a bad static schedule"),
        ("Figure 3.3", "a better one"),
        ("Figure 3.4", "programs and the controller"),
        ("Figure 3.5", "two programs that share a machine, over time"),
    ]);
    for (label, subject, why) in [
        ("Figure 4.1", "the interface of map-array", CODE),
        ("Figure 4.2", "a use of it", CODE),
        ("Figure 4.3", "its parallel part", CODE),
        ("Figure 4.4", "the end of its threads", CODE),
        ("Figure 4.5", "a switch of the implementation", CODE),
        ("Figure 4.6", "messages between threads", CODE),
        ("Figure 4.7", "pinning of a thread", CODE),
        ("Figure 4.8", "messages between programs and the controller", A_DRAWING),
        ("Figure 4.9", "a change that the controller asks for", CODE),
        ("Figure 4.10", "printing from several threads", CODE),
        ("Figure 4.11", "the start of a program", CODE),
    ] {
        all.not(label, subject, why);
    }
    for experiment in 1..=5 {
        let (label, subject) =
            (format!("Table 5.{experiment}"), format!("parameters of Experiment {experiment}"));
        all.not(&label, &subject, PARAMETERS);
    }
    of_single_programs(&mut all);
    all.repeated(
        "Figure 6.5",
        "two programs at once, coordinated and in anarchy",
        PICTURE,
        [Repeat::new("plastic-sharing", coordinated).needs(Need::Workers(THREADS))],
    );
    all.not("Table 6.7", "parameters of Experiment 5", PARAMETERS);
    all.repeated(
        "Section 7.1",
        "tasks that read memory, future work",
        "The publication has no values.",
        [Repeat::new("plastic-access", of_memory)],
    );
    all.into_all()
}

fn of_single_programs(all: &mut Exhibits) {
    for (label, subject) in
        [("Figure 6.1", "times with metrics and without"), ("Table 6.1", "what metrics add")]
    {
        let repeat = Repeat::new("plastic-metrics", metered);
        all.repeated(label, subject, "Tasks are shorter at size default.", [repeat]);
    }
    all.not("Table 6.2", "parameters of Experiment 1", PARAMETERS);
    all.not("Table 6.3", "parameters of Experiment 2", PARAMETERS);
    all.repeated(
        "Figure 6.2",
        "map-array beside a sequential program and OpenMP",
        PICTURE,
        [Repeat::new("plastic-performance", performance)],
    );
    for (label, subject) in [
        ("Figure 6.3", "times with a controller and without"),
        ("Table 6.4", "what a controller and a switch add"),
    ] {
        let repeat = Repeat::new("plastic-switching", switched);
        all.repeated(label, subject, "Tasks are shorter at size default.", [repeat]);
    }
    all.not("Table 6.5", "parameters of Experiment 3", PARAMETERS);
    all.not("Table 6.6", "parameters of Experiment 4", PARAMETERS);
    all.repeated(
        "Figure 6.4",
        "schedules of unequal tasks, and a switch",
        PICTURE,
        [
            Repeat::new("plastic-schedules", over_static).needs(Need::Workers(THREADS)),
            Repeat::new("plastic-schedules", over_chunks),
        ],
    );
}

/// The speeds of all programs of all pairs on one socket over those on their own.
fn on_one_socket(results: &Results, _: &Setting) -> Vec<Claim> {
    let on = |programs: &str, mode: &str, metric: &str| {
        let [one, own] = [mode, "own sockets"].map(|mode| [("programs", programs), ("mode", mode)]);
        results.ratios(&one, &own, metric)
    };
    let shared = results.samples().iter().filter(|sample| {
        sample.round == 0 && sample.labels.iter().any(|(_, value)| value == "one socket")
    });
    let ratios = shared.flat_map(|sample| {
        let programs = sample.labels.iter().find(|(name, _)| *name == "programs");
        let programs = programs.map_or("", |(_, programs)| programs.as_str());
        sample.metrics.iter().map(move |(metric, _)| on(programs, "one socket", metric))
    });
    let mean = means(&ratios.collect::<Vec<_>>());
    vec![Claim::ratio("speed on one socket over own sockets, mean of all pairs", Said::Less, mean)]
}

/// The same where the neighbour's effect is measured and the sockets are simulated.
fn simulated_on_one_socket(results: &Results, _: &Setting) -> Vec<Claim> {
    let pairs = results.samples().iter().filter(|sample| sample.round == 0);
    let ratios = pairs.flat_map(|sample| {
        let simulated = sample.metrics.iter().filter(|(name, _)| name.ends_with("one_over_own"));
        simulated.map(|(metric, _)| results.values(&all_of(&sample.labels), metric))
    });
    let mean = means(&ratios.collect::<Vec<_>>());
    vec![Claim::ratio("speed on one socket over own sockets, mean of all pairs", Said::Less, mean)]
}

fn metered(results: &Results, _: &Setting) -> Vec<Claim> {
    let ratios = results.ratios(&[("way", WITH)], &[("way", WITHOUT)], "wall_s");
    let said = METRICS.percent.map_or(Said::More, Said::Effect);
    vec![Claim::gain(format!("time that metrics add, {} tasks", METRICS.tasks), said, &ratios)]
}

fn performance(results: &Results, setting: &Setting) -> Vec<Claim> {
    let most = setting.most_workers().to_string();
    let of = |way: &str, workers: &str, base: [(&str, &str); 2]| {
        results.ratios(&[("way", way), ("workers", workers)], &base, "wall_s")
    };
    vec![
        Claim::ratio(
            "time on one thread over the sequential program",
            Said::Same,
            of(OURS, "1", [("way", SEQUENTIAL), ("workers", "1")]),
        ),
        Claim::ratio(
            format!("time over OpenMP's, {most} threads"),
            Said::Same,
            of(OURS, &most, [("way", OPENMP), ("workers", &most)]),
        ),
    ]
}

fn switched(results: &Results, setting: &Setting) -> Vec<Claim> {
    let claim = |(tasks, _)| {
        let more: Vec<f64> =
            switching::more(results, &format!("{tasks}")).iter().map(|more| more + 1.0).collect();
        Claim::gain(format!("time that a switch adds, {tasks} tasks"), Said::Same, &more)
    };
    switching::rows(setting).into_iter().map(claim).collect()
}

fn over_static(results: &Results, _: &Setting) -> Vec<Claim> {
    let claim = |way: &str| {
        let ours = schedules::over(results, STATIC, way);
        Claim::ratio(format!("speed of {way} over static"), Said::Effect(DYNAMIC_OVER_STATIC), ours)
    };
    [CHUNKS, INDIVIDUAL, SWITCHED].map(claim).into()
}

fn over_chunks(results: &Results, _: &Setting) -> Vec<Claim> {
    let claim = |(way, said): (&str, Said)| {
        let ours = schedules::over(results, CHUNKS, way);
        Claim::ratio(format!("speed of {way} over dynamic chunks"), said, ours)
    };
    [(INDIVIDUAL, Said::Less), (SWITCHED, Said::Same)].map(claim).into()
}

fn coordinated(results: &Results, _: &Setting) -> Vec<Claim> {
    let [shorter, longer] = SHARING_INTERVALS_MS.map(|every| Manner::Scripted(every).name());
    let anarchy = Manner::Anarchy.name();
    let claim = |of: &str, to: &str| {
        let ratios = results.ratios(&[("manner", of)], &[("manner", to)], TIMES[0]);
        Claim::ratio(format!("time of all, {of}, over {to}"), Said::Less, ratios)
    };
    vec![claim(&shorter, &anarchy), claim(&longer, &anarchy), claim(&longer, &shorter)]
}

fn of_memory(results: &Results, setting: &Setting) -> Vec<Claim> {
    let most = setting.most_workers().to_string();
    let claim = |access: &str| {
        let way = "map-array, static";
        let ours = [("access", access), ("way", way), ("workers", most.as_str())];
        let alone = [("access", access), ("way", ACCESS_ALONE)];
        let what = format!("speed-up of reading {access}, {most} threads");
        let speed_ups = results.ratios(&alone, &ours, "wall_s");
        Claim::ratio(what, Said::Words("not measured there"), speed_ups)
    };
    ["in a row", "at random"].map(claim).into()
}
