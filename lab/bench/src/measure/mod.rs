//! Measurements besides the tables: latencies, idling, memory, bandwidth. Measured on request, by
//! name.

mod auto;
mod calls;
pub(crate) mod coord;
mod exec;
pub(crate) mod idle;
mod jacobi;
pub(crate) mod latency;
mod line;
mod memory;
mod pairs;
pub(crate) mod plastic;
mod stencil;
mod stm;
mod tbb;
mod tool;
mod victims;
mod worklist;

use crate::output::say;
use crate::problem::Scale;
use line::Line;
use serde::Serialize;

/// A measurement that the command line knows.
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    run: fn(Scale) -> Result<Vec<Line>, String>,
}

/// Every measurement.
pub(crate) const ALL: [Measure; 15] = [
    Measure {
        name: "arrivals",
        about: "commands that do nothing, plain and under exec: how long, and how many end late",
        run: exec::arrivals,
    },
    Measure {
        name: "auto",
        about: "a schedule that is found out, after ten runs, beside every fixed one",
        run: auto::run,
    },
    Measure {
        name: "calls",
        about: "a short call from outside beside two long loops, here and in other runtimes",
        run: calls::run,
    },
    Measure {
        name: "latency",
        about: "how soon a pushed task is taken, a steal, an empty loop from warm and parked pools",
        run: latency::run,
    },
    Measure {
        name: "coord",
        about: "programs that share this machine, with a table and without; what the table costs",
        run: coord::run,
    },
    Measure {
        name: "exec",
        about: "OpenMP programs beside each other: plain, under exec, and under exec --malleable",
        run: exec::run,
    },
    Measure { name: "idle", about: "processor time of idle pools", run: idle::run },
    Measure {
        name: "jacobi",
        about: "a six-point stencil beside a copy of the same memory, by form, store and block",
        run: jacobi::run,
    },
    Measure { name: "memory", about: "bytes per worker", run: memory::run },
    Measure {
        name: "plastic",
        about: "how soon a running loop follows a change, what it costs that it could, and \
            metrics of its threads",
        run: plastic::run,
    },
    Measure {
        name: "stencil",
        about: "stencils beside loops by hand, by dimension and kind of edge",
        run: stencil::run,
    },
    Measure {
        name: "stm",
        about: "transactions beside locks, on one thread and on two",
        run: stm::run,
    },
    Measure {
        name: "tbb",
        about: "TBB programs beside each other and beside others, plain and under exec",
        run: tbb::run,
    },
    Measure {
        name: "victims",
        about: "a failed attempt to steal, and fib, under each victim policy",
        run: victims::run,
    },
    Measure {
        name: "worklist",
        about: "what the transactional worklist adds to transactions by hand, by setting",
        run: worklist::run,
    },
];

/// The result of one measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    name: &'static str,
    lines: Vec<Line>,
}

impl Measure {
    /// Measures and prints.
    ///
    /// # Errors
    ///
    /// One line that names what this machine lacks.
    pub(crate) fn run(&self, scale: Scale) -> Result<Measurement, String> {
        say!("\n{}: {}", self.name, self.about);
        let lines = (self.run)(scale)?;
        for line in &lines {
            line.print();
        }
        Ok(Measurement { name: self.name, lines })
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: figures that are wrong rather than missing.
    use super::*;

    #[test]
    fn every_measurement_runs_at_tiny_size() {
        for measure in &ALL {
            match measure.run(Scale::Tiny) {
                Ok(measurement) => assert!(!measurement.lines.is_empty(), "{}", measure.name),
                Err(why) => println!("skipped: {why}"),
            }
        }
    }
}
