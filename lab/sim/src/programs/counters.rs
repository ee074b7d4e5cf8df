//! Results, and the checks of every run.

use super::host::Resident;
use super::mix::Arrival;
use super::run::Run;
use super::{Power, ProgramsReport, SECOND};
use crate::queue::Time;
use crate::report::Violation;

/// Relative rounding error of a sum of many numbers.
const ROUNDING: f64 = 1e-6;

/// Counters that are updated during a run.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) arrived: u64,
    pub(super) died: u64,
    pub(super) events: u64,
    ended: u64,
    makespan: Time,
    responses: f64,
    slowdowns: f64,
    squares: f64,
    worst: f64,
    /// The first program that ended too early or with a wrong amount of work.
    broken: Option<Violation>,
}

impl Counters {
    /// Programs that have arrived and ended or died.
    pub(super) fn left(&self) -> u64 {
        self.ended + self.died
    }

    /// Registers the end of a program that would take `alone` alone, and at least `least` with the
    /// best neighbours.
    pub(super) fn record_end(
        &mut self,
        now: Time,
        arrival: &Arrival,
        gone: &Resident,
        alone: f64,
        least: f64,
    ) {
        let response = (now - arrival.at) as f64;
        let slowdown = if alone > 0.0 { (response / alone).max(1e-12) } else { 1.0 };
        self.ended += 1;
        self.makespan = self.makespan.max(now);
        self.responses += response;
        self.slowdowns += slowdown;
        self.squares += slowdown * slowdown;
        self.worst = self.worst.max(slowdown);
        let had = arrival.work as f64 + gone.debt;
        let broken = if (had - gone.done - gone.left).abs() > had * ROUNDING + 1.0 {
            Some(Violation::WorkNotConserved { had: had as Time, done: gone.done as Time })
        } else if response < least * (1.0 - ROUNDING) - 1.0 {
            Some(Violation::OutOfBounds { time: response as Time, bound: least as Time })
        } else {
            None
        };
        self.broken = self.broken.or(broken);
    }
}

impl Run<'_> {
    /// Checks the invariants and returns the report.
    pub(super) fn close(self) -> Result<ProgramsReport, Violation> {
        if self.queue.backwards() > 0 {
            return Err(Violation::TimeRanBackwards(self.queue.backwards()));
        }
        let overlaps = self.hosts.iter().map(|host| host.overlaps).sum();
        if overlaps > 0 {
            return Err(Violation::Shared(overlaps));
        }
        let present: usize = self.hosts.iter().map(|host| host.residents.len()).sum();
        if self.counters.arrived != self.counters.left() + present as u64 {
            return Err(Violation::NotOnceEach {
                created: self.counters.arrived,
                run: self.counters.left(),
            });
        }
        self.counters.broken.map_or_else(|| Ok(self.report()), Err)
    }

    fn report(&self) -> ProgramsReport {
        let counters = &self.counters;
        let ended = counters.ended.max(1) as f64;
        let sum = |count: fn(&super::host::Host<'_>) -> u64| self.hosts.iter().map(count).sum();
        let cores = (self.hosts.len() * self.facts.layout.len()) as f64;
        let used: f64 = self.hosts.iter().map(|host| host.used).sum();
        let time = self.queue.now() as f64 / SECOND as f64;
        let energy = |power: Power| {
            power.idle_w * self.hosts.len() as f64 * time + power.core_w * used / SECOND as f64
        };
        let fairness = if counters.squares > 0.0 {
            counters.slowdowns * counters.slowdowns / (ended * counters.squares)
        } else {
            1.0
        };
        ProgramsReport {
            arrived: counters.arrived,
            ended: counters.ended,
            died: counters.died,
            makespan: counters.makespan,
            mean_response: counters.responses / ended,
            mean_slowdown: counters.slowdowns / ended,
            worst_slowdown: counters.worst,
            fairness,
            moved: sum(|host| host.moved),
            decisions: sum(|host| host.decisions),
            moving_decisions: sum(|host| host.moving),
            used: used / (self.queue.now().max(1) as f64 * cores),
            energy_j: self.facts.setup.power.map(energy),
            events: counters.events,
            trace: self.trace.hash(),
            is_whole: counters.left() == self.facts.mix.arrivals.len() as u64,
        }
    }
}
