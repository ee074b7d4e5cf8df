//! All subjects. To add one: a function in a file below that returns a [`Subject`] whose answer can
//! be wrong.
//!
//! | file | contents |
//! |---|---|
//! | `problems` | the problems of `bench`, at short sizes and at the public ones |
//! | `applications` | trees, and worklists in all versions |
//! | `readers` | read-only transactions |
//! | `programs` | rayon programs on upstream's rayon-core and on ours |
//! | `figures` | times by distance, changes, programs at once, idle pools |

mod applications;
mod figures;
mod problems;
mod programs;
mod readers;

pub(super) use figures::{COORDINATED, IN_TURN};
pub(super) use programs::CORES;

use super::subject::{Group, Subject};
use crate::problem::Scale;

/// All of them, those first that the bars need. `steps_per_us` says how fast the work of a region
/// is here.
pub(super) fn all(scale: Scale, steps_per_us: u64) -> Vec<Subject> {
    let mut all = problems::all(scale, steps_per_us);
    all.extend(applications::all(scale));
    all.extend(readers::all(scale));
    all.extend(figures::all(scale));
    // Stable: the order within a group stays.
    all.sort_by_key(|subject| (subject.weight > 1, subject.group == Group::Programs));
    all.extend(programs::all());
    if scale == Scale::Tiny {
        all.iter_mut().for_each(|subject| subject.cell_ms = 5);
    }
    all
}

#[cfg(test)]
mod tests {
    //! Blind to: an answer that is wrong at full size only; every run compares its answers.
    use super::super::subject::{Ask, Place};
    use super::*;

    /// Catches: a subject whose name is another's, and one without anything to compare with.
    #[test]
    fn every_subject_has_a_name_of_its_own_and_an_answer_to_compare_with() {
        let all = all(Scale::Full, 1);
        for subject in &all {
            let same = all.iter().filter(|other| other.name == subject.name).count();
            assert_eq!(same, 1, "{}", subject.name);
            assert!(subject.known.is_some() || subject.contenders.len() > 1, "{subject:?}");
        }
        for group in Group::ALL {
            assert!(all.iter().any(|subject| subject.group == group), "{group:?}");
        }
    }

    /// Catches: a contender that does not run, or returns another answer than the others.
    #[test]
    fn every_contender_that_runs_here_returns_the_answer_of_the_others() {
        for subject in all(Scale::Tiny, 100) {
            // These are processes of the real binary, or its parts.
            if matches!(subject.group, Group::Sharing | Group::Programs) {
                continue;
            }
            let mut ready = (subject.prepare)().unwrap();
            let mut answers = Vec::from_iter(subject.known);
            for contender in subject.contenders.iter().filter(|one| one.place == Place::Here) {
                for threads in contender.teams.among(&[1, 2]) {
                    let contender = contender.name.to_owned();
                    let ask = Ask { contender, threads, case: subject.case };
                    answers.push(ready(&ask).unwrap().answer);
                }
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{subject:?} {answers:?}");
        }
    }
}
