//! The coordinators of several machines, which decide together.
//!
//! Each machine has a coordinator of its table ([`sinew_coord::Coordinator`]), and these are the
//! ranks of a [`World`]. At an interval they exchange what their tables hold. Each decides for all
//! machines by [`jobs::decide`], and assigns the result to the programs of its own table. Ranks of
//! a job are known by the number in their rows ([`World::with_job`]).
//!
//! | file | contents |
//! |---|---|
//! | `looks` | the loads of programs, from looks at the table |
//! | `plan` | the programs of all machines, and the cores of each |
//!
//! # Invariants
//!
//! - C1: all machines decide from the same states, so they reach the same plan.
//! - C2: assigned cores are a minimum. A machine divides what is left, and what a program lends, by
//!   itself and at once.
//! - C3: when one coordinator ends or fails, all end. Each machine then decides by itself.
//!
//! # Not handled
//!
//! Which cores a program gets; each machine decides that. Programs of a machine that may run on
//! different cores: the machine keeps to its numbers as far as masks permit.
//!
//! # Tests
//!
//! `tests/machines.rs`: C1 to C3 over threads; of `sinew-cli`, the same over MPI.
//!
//! [`jobs::decide`]: sinew_policy::share::jobs::decide

mod looks;
mod plan;

use std::fmt;
use std::time::{Duration, Instant};

use sinew_coord::{Coordinator, Error, Row};

use crate::World;
use looks::Looks;
use plan::{MachineState, plan};

/// The coordinators of several machines, as one of them sees them.
///
/// ```
/// use std::time::Duration;
///
/// use sinew_coord::{Coordinator, Policy, Table};
/// use sinew_dist::machines::Machines;
///
/// # if cfg!(target_os = "linux") {
/// # let folder = tempfile::tempdir()?;
/// let table = Table::open(&folder.path().join("shared"))?;
/// let mut coordinator = Coordinator::start(&table, Policy::Equal, Default::default())?;
/// let world = sinew_dist::init()?;
/// let mut machines = Machines::over(&world, Duration::from_millis(500));
/// coordinator.step()?;
/// assert!(machines.step(&coordinator, false)?, "no machine ends");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Machines<'w> {
    world: &'w World,
    interval: Duration,
    /// When the machines exchange their states next.
    due: Instant,
    looks: Looks,
}

impl<'w> Machines<'w> {
    /// The machines of the ranks of `world`, one each, which exchange what their tables hold once
    /// in each interval.
    pub fn over(world: &'w World, interval: Duration) -> Self {
        Self { world, interval, due: Instant::now(), looks: Looks::default() }
    }

    /// The time until the next exchange.
    pub fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Looks at the table. If it is time, or if this coordinator `ends`, exchanges the states of
    /// all machines, and assigns cores to the programs of this one. Call it after each step of the
    /// coordinator. Returns whether all coordinators go on.
    ///
    /// # Errors
    ///
    /// As every change of a table; see [`Coordinator::assign`].
    ///
    /// # Blocking
    ///
    /// An exchange waits for all machines: for one interval, if they do not fail.
    ///
    /// # Cost
    ///
    /// For an exchange two messages a machine, near rank 0 of the size of all states; and a
    /// decision, about a microsecond a program.
    pub fn step(&mut self, coordinator: &Coordinator, ends: bool) -> Result<bool, Error> {
        let table = coordinator.table();
        let rows = table.read();
        self.looks.look(&rows, table.now_ns());
        if !ends && Instant::now() < self.due {
            return Ok(true);
        }
        let (programs, cores) = self.looks.programs(&rows, &table.layout().cores());
        let states = self.world.all_gather(&MachineState { cores, programs, ends });
        self.due = Instant::now() + self.interval;
        if states.iter().any(|state| state.ends) {
            return Ok(false);
        }
        let counts = plan(&states).swap_remove(self.world.rank() as usize);
        let assigned: Vec<(&Row, u32)> = rows.iter().zip(counts).collect();
        coordinator.assign(&assigned)?;
        Ok(true)
    }
}

impl fmt::Debug for Machines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (world, interval) = (self.world, self.interval);
        f.debug_struct("Machines").field("world", world).field("interval", &interval).finish()
    }
}
