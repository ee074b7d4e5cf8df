//! Programs that share a machine: how many cores each gets, and which.
//!
//! [`decide`] takes a machine and the programs on it, and returns a [`Grant`] for each: a number of
//! threads and the cores for them. It is a pure function, so every caller with the same view
//! reaches the same decision, and no leader is needed. The cores that programs hold are a part of
//! the view: of equally good decisions it takes the one that moves least.
//!
//! A program without work (`demand` 0) is *dormant*: it has one thread on its whole mask, which
//! occupies no core, and the others use its cores until it has work. If no program is active, each
//! gets all that it can use, so that short bursts of one program need no decision. With more active
//! programs than cores, each has one thread on its whole mask, and the kernel divides the time.
//!
//! | file | contents |
//! |---|---|
//! | `name` | the policies, and how one is added |
//! | `count`, `place` | how many cores each program gets; which |
//! | `contention` | placement by the effects of a shared cache |
//! | `layout` | the machine as policies see it |
//! | `curve`, `meter` | measured speeds; how they are measured |
//! | `power` | the machine's power, measured |
//! | `demand`, `last_loop` | what a program reports: how much work it has, its last schedule |
//! | `script` | requests over time |
//! | `jobs` | how many cores each rank of jobs on several machines gets; with the feature `lifelines` |
//!
//! # Invariants
//!
//! - H1: every program has at least one thread, and at least one core if its mask has one on this
//!   machine.
//! - H2: no program has a core outside its mask.
//! - H3: unless the machine is crowded, cores of active programs are disjoint, as many as threads,
//!   and so no more than the machine has.
//! - H4: numbers are within one of the policy's real-valued shares, as far as masks permit.
//! - H5: a decision over its own grants returns them unchanged.
//!
//! # Cost
//!
//! Programs × cores, a few times; if masks overlap partly, that for each core at most.
//!
//! # Tests
//!
//! `tests.rs`: H1 to H5 on random machines of up to four packages with up to 64 programs, and the
//! properties of each policy.

mod contention;
mod count;
mod curve;
mod demand;
#[cfg(feature = "lifelines")]
pub mod jobs;
mod layout;
mod meter;
mod name;
mod place;
mod power;
mod script;
#[cfg(test)]
mod tests;

pub use crate::LastLoop;
pub use contention::Effects;
pub use count::shares;
pub use curve::{Curve, POINTS, Speed};
pub use demand::DemandMeter;
pub use layout::{Layout, Place};
pub use meter::{Meter, Reading};
pub use name::{Policy, PolicyError};
pub use power::{Power, PowerMeter, PowerReading};
pub use script::{Event, Request, Script, ScriptError, Step};

use sinew_cpus::CpuSet;

/// The most rounds of a decision; nearly all need one.
const MOST_ROUNDS: usize = 16;

/// CPUs that can be shared have numbers below this.
pub const MAX_CORES: usize = 1024;

/// The facts about a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// How many of its threads would find work now.
    pub demand: u32,
    /// The least cores it should have, as long as there are enough for every program.
    pub min: u32,
    /// The most cores it can use, by its own number of threads and by its quota.
    pub max: u32,
    /// Its weight relative to others'.
    pub weight: f64,
    /// The cores that it may run on.
    pub mask: CpuSet,
    /// Its present grant.
    pub held: Grant,
    /// Its measured speeds.
    pub curve: Curve,
    /// A request for it, under [`Policy::Script`].
    pub request: Option<Request>,
}

impl Program {
    /// A program with `threads` threads that may run on `mask`, always has work for all of them,
    /// and holds nothing.
    pub fn new(threads: u32, mask: CpuSet) -> Self {
        Self {
            demand: threads,
            min: 1,
            max: threads,
            weight: 1.0,
            mask,
            held: Grant::default(),
            curve: Curve::default(),
            request: None,
        }
    }

    fn is_active(&self) -> bool {
        self.demand > 0
    }
}

/// Threads and cores of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// How many threads may run.
    pub threads: u32,
    /// The cores on which they may run.
    pub cores: CpuSet,
}

/// The grants, in the order of `programs`. `effects` are the effects of a shared cache, which
/// [`Policy::Contention`] uses, and `power` is the machine's, which [`Policy::Energy`] uses.
///
/// ```
/// use sinew_cpus::CpuSet;
/// use sinew_policy::share::{Effects, Layout, Policy, Program, decide};
///
/// let (machine, all) = (Layout::flat(4), CpuSet::first(4));
/// let programs = [Program::new(4, all.clone()), Program::new(4, all)];
/// let grants = decide(Policy::Equal, &machine, &programs, &Effects::none(), None);
/// assert_eq!((grants[0].threads, grants[1].threads), (2, 2));
/// assert!(grants[0].cores.intersection(&grants[1].cores).is_empty());
/// ```
pub fn decide(
    policy: Policy,
    layout: &Layout,
    programs: &[Program],
    effects: &Effects,
    power: Option<Power>,
) -> Vec<Grant> {
    let mut grants = decide_once(policy, layout, programs, effects, power);
    if programs.iter().zip(&grants).all(|(program, grant)| program.held == *grant) {
        return grants;
    }
    // If masks overlap partly, or cores are requested, a decision over its own grants may find a
    // better one (H5).
    let mut programs = programs.to_vec();
    for _ in 0..MOST_ROUNDS {
        programs
            .iter_mut()
            .zip(&grants)
            .for_each(|(program, grant)| program.held.clone_from(grant));
        let again = decide_once(policy, layout, &programs, effects, power);
        if again == grants {
            break;
        }
        grants = again;
    }
    grants
}

fn decide_once(
    policy: Policy,
    layout: &Layout,
    programs: &[Program],
    effects: &Effects,
    power: Option<Power>,
) -> Vec<Grant> {
    let all = layout.cores();
    let mask_of = |i: usize| programs[i].mask.intersection(&all);
    let is_here = |&i: &usize| programs[i].is_active() && !mask_of(i).is_empty();
    let active: Vec<usize> = (0..programs.len()).filter(is_here).collect();
    let masks: Vec<CpuSet> = active.iter().map(|&i| mask_of(i)).collect();
    let mut grants: Vec<Grant> =
        programs.iter().map(|program| on_whole_mask(program, &all)).collect();
    if active.is_empty() {
        return programs.iter().map(|program| undisturbed(policy, program, &all)).collect();
    }
    let reach = masks.iter().fold(CpuSet::new(), |reach, mask| reach.union(mask));
    if active.len() > reach.len() {
        return grants;
    }
    let chosen: Vec<&Program> = active.iter().map(|&i| &programs[i]).collect();
    let counts = count::counts(policy, &chosen, &masks, reach.len(), power);
    let held: Vec<CpuSet> =
        chosen.iter().zip(&masks).map(|(program, mask)| held_by(program, mask)).collect();
    let effects = effects.of(&active);
    let requested: Vec<CpuSet> =
        chosen.iter().map(|program| program.requested_cores(policy)).collect();
    let view = place::View { layout, masks: &masks, requested: &requested };
    let placed = match policy {
        Policy::Contention => contention::place(&view, &counts, &held, &effects),
        _ => place::place(&view, &counts, &held),
    };
    for ((&i, cores), count) in active.iter().zip(placed).zip(counts) {
        if !cores.is_empty() {
            grants[i] = Grant { threads: count.min(cores.len() as u32), cores };
        }
    }
    grants
}

/// One thread on the whole mask: for dormant programs, and for all on a crowded machine.
fn on_whole_mask(program: &Program, all: &CpuSet) -> Grant {
    let here = program.mask.intersection(all);
    Grant { threads: 1, cores: if here.is_empty() { program.mask.clone() } else { here } }
}

/// The grant of a dormant program if no program is active: all that it can use, as far as a script
/// permits. So it begins without waiting for a share.
fn undisturbed(policy: Policy, program: &Program, all: &CpuSet) -> Grant {
    let Grant { cores: here, .. } = on_whole_mask(program, all);
    let requested = program.requested_cores(policy).intersection(&here);
    let cores = if requested.is_empty() { here } else { requested };
    let threads = program.requested_threads(policy).unwrap_or(u32::MAX).min(program.max);
    Grant { threads: threads.clamp(1, cores.len().max(1) as u32), cores }
}

/// The cores that a program holds alone: none if it has one thread on its whole mask.
fn held_by(program: &Program, mask: &CpuSet) -> CpuSet {
    let cores = program.held.cores.intersection(mask);
    if cores.len() == program.held.threads as usize { cores } else { CpuSet::new() }
}

impl Program {
    fn requested_cores(&self, policy: Policy) -> CpuSet {
        let request = self.request.as_ref().filter(|request| policy.follows(request));
        request.and_then(|request| request.cores.clone()).unwrap_or_default()
    }
}
