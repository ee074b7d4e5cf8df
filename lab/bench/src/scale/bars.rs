//! The demands on sixteen threads, and whether they were met.

use super::results::{Results, Verdict};
use super::subjects::{COORDINATED, IN_TURN};
use crate::problem::Limit;
use crate::statistics::Summary;

/// The number of threads of the bars.
const THREADS: usize = 16;

/// A demand.
struct Bar {
    what: &'static str,
    limit: Limit,
    measure: fn(&Results, usize) -> Option<Summary>,
}

const BARS: [Bar; 12] = [
    Bar {
        what: "fib 39: times one worker's speed",
        limit: Limit::AtLeast(15.0),
        measure: |run, threads| scaling(run, "fib 39, public", threads),
    },
    Bar {
        what: "skynet 10^8: times one worker's speed",
        limit: Limit::AtLeast(15.0),
        measure: |run, threads| scaling(run, "skynet 10^8, public", threads),
    },
    Bar {
        what: "a warm loop of 64 empty elements from outside, in µs",
        limit: Limit::AtMost(3.0),
        measure: |run, threads| {
            scaled(run.per_operation(("loops 64 elements", "sinew", threads))?, 1e-3)
        },
    },
    Bar {
        what: "uts T3: times the serial speed",
        limit: Limit::AtLeast(12.0),
        measure: |run, threads| speed_up(run, "uts T3", "sinew", threads),
    },
    Bar {
        what: "a sort in place: times the best rival's speed",
        limit: Limit::AtLeast(0.9),
        measure: |run, threads| beside_best(run, "sort in place", threads),
    },
    Bar {
        what: "a stable sort: times the best rival's speed",
        limit: Limit::AtLeast(0.9),
        measure: |run, threads| beside_best(run, "sort stable", threads),
    },
    Bar {
        what: "read-only transactions: times one thread's speed",
        limit: Limit::AtLeast(14.0),
        measure: |run, threads| scaling(run, "reads of 100 variables", threads),
    },
    Bar {
        what: "intruder, tuned: times the serial speed",
        limit: Limit::AtLeast(5.0),
        measure: |run, threads| speed_up(run, "intruder", "tuned", threads),
    },
    Bar {
        what: "vacation, tuned: times the serial speed",
        limit: Limit::AtLeast(5.0),
        measure: |run, threads| speed_up(run, "vacation", "tuned", threads),
    },
    Bar {
        what: "an idle pool: processor time of 0.2 s, in µs",
        limit: Limit::AtMost(200.0),
        measure: |run, threads| {
            scaled(run.per_operation(("processor time of an idle pool", "sinew", threads))?, 1e-3)
        },
    },
    Bar {
        what: "four programs at once: times the time of one after the other",
        limit: Limit::AtMost(1.05),
        measure: |run, threads| {
            const NAME: &str = "4 programs of short loops";
            run.ratio((NAME, COORDINATED, threads), (NAME, IN_TURN, threads))
        },
    },
    Bar {
        what: "two programs at once: times the time of one after the other",
        limit: Limit::AtMost(1.05),
        measure: |run, threads| {
            const NAME: &str = "2 programs of short loops";
            run.ratio((NAME, COORDINATED, threads), (NAME, IN_TURN, threads))
        },
    },
];

fn scaled(summary: Summary, by: f64) -> Option<Summary> {
    let Summary { lower, median, upper } = summary;
    Some(Summary { lower: lower * by, median: median * by, upper: upper * by })
}

fn scaling(run: &Results, subject: &str, threads: usize) -> Option<Summary> {
    run.ratio((subject, "sinew", 1), (subject, "sinew", threads))
}

fn speed_up(run: &Results, subject: &str, contender: &str, threads: usize) -> Option<Summary> {
    run.ratio((subject, "serial", 1), (subject, contender, threads))
}

/// The rival with the shortest time, by its median.
fn beside_best(run: &Results, subject: &str, threads: usize) -> Option<Summary> {
    let measured = run.subjects.iter().find(|known| known.name == subject)?;
    let is_rival = |name: &&str| !name.starts_with("sinew") && *name != "serial";
    let rivals = measured.contenders().into_iter().filter(is_rival);
    let (best, _) = rivals
        .filter_map(|name| Some((name, measured.find(name, threads)?.median_ns()?)))
        .min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    run.ratio((subject, best, threads), (subject, "sinew", threads))
}

/// All verdicts.
pub(super) fn verdicts(run: &Results) -> Vec<Verdict> {
    BARS.iter().map(|bar| verdict(bar, run)).collect()
}

fn verdict(bar: &Bar, run: &Results) -> Verdict {
    let measured = (bar.measure)(run, THREADS);
    let (bound, limit) = match bar.limit {
        Limit::AtLeast(limit) => ("at least", limit),
        Limit::AtMost(limit) => ("at most", limit),
    };
    let verdict = measured.map_or("not measured", |figure| {
        let is_met = match bar.limit {
            Limit::AtLeast(limit) => figure.median >= limit,
            Limit::AtMost(limit) => figure.median <= limit,
        };
        if is_met { "met" } else { "missed" }
    });
    let all = run.threads.last().copied().filter(|&all| all != THREADS);
    let on_all = all.and_then(|all| (bar.measure)(run, all));
    Verdict { what: bar.what, threads: THREADS, bound, limit, measured, verdict, on_all }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::run;
    use super::super::subject::Subject;
    use super::super::subjects;
    use super::*;
    use crate::problem::Scale;

    fn verdict_of(run: &Results, what: &str) -> &'static str {
        let all = verdicts(run);
        all.iter().find(|verdict| verdict.what.starts_with(what)).unwrap().verdict
    }

    /// Catches: a bound that is the wrong way round, and a figure of another number of threads.
    #[test]
    fn a_bar_is_met_missed_or_not_measured() {
        let tree = |part| run("uts T3", "sinew", [1.0, part]);
        assert_eq!(verdict_of(&tree(1.0 / 13.0), "uts T3"), "met");
        assert_eq!(verdict_of(&tree(1.0 / 11.0), "uts T3"), "missed");
        assert_eq!(verdict_of(&tree(0.1), "intruder"), "not measured");
        let mut other = tree(1.0 / 13.0);
        other.subjects[0].cells[2].threads = 8;
        other.threads = vec![1, 8];
        assert_eq!(verdict_of(&other, "uts T3"), "not measured");
        let on_all = verdicts(&other).into_iter().find(|bar| bar.what.starts_with("uts")).unwrap();
        assert!(on_all.on_all.unwrap().median > 12.0);
    }

    /// Catches: a bar that names a subject or contender that does not exist.
    #[test]
    fn every_bar_is_measured_where_all_subjects_are() {
        let all = subjects::all(Scale::Full, 100);
        let mut whole = run("", "", [1.0, 1.0]);
        whole.subjects = all
            .iter()
            .map(|subject: &Subject| {
                let mut one = run(&subject.name, "", [1.0, 0.5]).subjects.remove(0);
                let cells = subject.contenders.iter().flat_map(|contender| {
                    contender.teams.among(&[1, 16]).into_iter().map(|threads| {
                        let mut cell =
                            run("", contender.name, [1.0, 0.5]).subjects[0].cells.remove(1);
                        cell.threads = threads;
                        cell
                    })
                });
                one.cells = cells.collect();
                one
            })
            .collect();
        for verdict in verdicts(&whole) {
            assert!(verdict.measured.is_some(), "{verdict:?}");
        }
    }
}
