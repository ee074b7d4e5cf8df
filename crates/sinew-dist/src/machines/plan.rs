//! The programs of all machines, and the cores of each. Pure.
//!
//! The rows of a job on all machines are its ranks. Its ranks wait for each other if they have
//! waited longer for slower ranks than for work: ranks of a bag wait for work, and for each other
//! only at its end. [`plan`] numbers the jobs, and has [`jobs::decide`] divide the cores of all
//! machines at once. Every machine computes it from the same states, so all reach the same plan.
//!
//! [`jobs::decide`]: sinew_policy::share::jobs::decide

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sinew_policy::share::jobs::{Job, Rank, decide};
use sinew_policy::share::{Curve, Speed};

/// The programs of a machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct MachineState {
    /// The cores that its programs can use.
    pub(super) cores: u32,
    pub(super) programs: Vec<ProgramState>,
    /// Whether its coordinator ends.
    pub(super) ends: bool,
}

/// A program, as its machine sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProgramState {
    /// The number of its job; 0 if it is a rank of none.
    pub(super) job: u64,
    /// How long it has waited for slower ranks, and for work, of late.
    pub(super) waited: f64,
    pub(super) idled: f64,
    pub(super) weight: f64,
    pub(super) min: u32,
    /// The most cores that it can use now; 0 if it has no work.
    pub(super) max: u32,
    /// The work that it does in a second.
    pub(super) load: f64,
    /// Its measured speeds by cores.
    pub(super) speeds: Vec<(u32, f32)>,
    /// The cores that were assigned to it before.
    pub(super) held: u32,
}

/// The cores of every program, by machine, in the order of the machine's programs.
pub(super) fn plan(machines: &[MachineState]) -> Vec<Vec<u32>> {
    let cores: Vec<u32> = machines.iter().map(|machine| machine.cores).collect();
    let (mut jobs, mut numbers, mut ranks) = (Vec::new(), HashMap::new(), Vec::new());
    for (machine, state) in machines.iter().enumerate() {
        for program in &state.programs {
            let next = jobs.len();
            let job = match program.job {
                0 => next,
                number => *numbers.entry(number).or_insert(next),
            };
            if job == next {
                jobs.push(Known { waited: 0.0, idled: 0.0, weight: program.weight });
            }
            jobs[job].add(program);
            ranks.push(program.rank(machine, job));
        }
    }
    let jobs: Vec<Job> = jobs.iter().map(Known::job).collect();
    let mut counts = decide(&cores, &jobs, &ranks).into_iter();
    let of = |machine: &MachineState| counts.by_ref().take(machine.programs.len()).collect();
    machines.iter().map(of).collect()
}

/// A job, of all ranks so far.
struct Known {
    waited: f64,
    idled: f64,
    weight: f64,
}

impl Known {
    fn add(&mut self, program: &ProgramState) {
        self.waited += program.waited;
        self.idled += program.idled;
        self.weight = self.weight.max(program.weight);
    }

    fn job(&self) -> Job {
        Job { waits: self.waited > self.idled, weight: self.weight }
    }
}

impl ProgramState {
    fn rank(&self, machine: usize, job: usize) -> Rank {
        let speeds = self.speeds.iter().map(|&(cores, rate)| Speed { cores, rate });
        Rank {
            min: self.min,
            load: self.load,
            curve: Curve::from_points(speeds),
            held: self.held,
            ..Rank::new(machine, job, self.max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(job: u64, load: f64) -> ProgramState {
        let (speeds, weight, waited) = (Vec::new(), 1.0, if job == 0 { 0.0 } else { 1.0 });
        ProgramState { job, waited, idled: 0.5, weight, min: 1, max: 8, load, speeds, held: 0 }
    }

    fn machine(programs: &[ProgramState]) -> MachineState {
        MachineState { cores: 8, programs: programs.to_vec(), ends: false }
    }

    /// Catches: programs without a job that count as ranks of one, and counts of another machine.
    #[test]
    fn the_rows_of_a_job_on_all_machines_are_its_ranks() {
        let machines = [
            machine(&[program(7, 8.0)]),
            machine(&[]),
            machine(&[program(0, 1.0), program(7, 1.9)]),
            machine(&[program(0, 1.0)]),
        ];
        assert_eq!(plan(&machines), [vec![8], vec![], vec![6, 2], vec![8]]);
        let alone = [machine(&[program(7, 8.0)]), machine(&[program(0, 1.0), program(8, 1.9)])];
        assert_eq!(plan(&alone), [vec![8], vec![4, 4]]);
    }

    /// Catches: the ranks of a bag, which wait for each other at its end, as ranks that wait.
    #[test]
    fn ranks_that_mostly_wait_for_work_keep_their_cores() {
        let of_bag = |load| ProgramState { idled: 1.5, ..program(7, load) };
        let machines = [machine(&[of_bag(8.0)]), machine(&[program(0, 1.0), of_bag(1.9)])];
        assert_eq!(plan(&machines), [vec![8], vec![4, 4]]);
    }

    /// Catches: a rank without work that keeps its job from more cores.
    #[test]
    fn a_rank_without_work_has_no_cores() {
        let idle = ProgramState { max: 0, ..program(7, 9.0) };
        let machines = [machine(&[program(7, 1.0), program(9, 1.0)]), machine(&[idle])];
        assert_eq!(plan(&machines), [vec![4, 4], vec![0]]);
    }
}
