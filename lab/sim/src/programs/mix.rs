//! Kinds of programs, and their arrivals.

use sinew_policy::share::Script;

use super::SECOND;
use crate::queue::Time;
use crate::random::{is_within, mix, unit};
use crate::setup::SetupError;

/// Weights of the random kinds.
const WEIGHTS: [f64; 4] = [1.0, 4.0, 0.5, 2.0];

/// See [`Mix::script`].
const SCRIPT: &str = "when hardly joins hardly threads 1\nwhen memory joins memory threads 4\n\
                      when memory joins perfect threads 6\nwhen memory leaves perfect free\n\
                      0.5 after well joins well threads 8\n";

/// Speed as a function of the number of cores.
#[derive(Debug, Clone, PartialEq)]
pub enum SpeedUp {
    /// Amdahl's law with this serial fraction, from 0 to 1.
    Serial(f64),
    /// Measured points of cores and speed with linear interpolation, scaled so that one core has
    /// speed 1.
    Measured(Vec<(u32, f64)>),
}

impl SpeedUp {
    /// The speed on `cores` cores; 0 on none.
    pub fn at(&self, cores: u32) -> f64 {
        let n = f64::from(cores);
        match self {
            _ if cores == 0 => 0.0,
            Self::Serial(serial) => 1.0 / (serial + (1.0 - serial) / n),
            Self::Measured(points) => between(points, n) / between(points, 1.0),
        }
    }
}

/// Linear interpolation; constant beyond the last point, through the origin before the first.
fn between(points: &[(u32, f64)], n: f64) -> f64 {
    let at = points.partition_point(|&(cores, _)| f64::from(cores) < n);
    let before = if at == 0 { (0.0, 0.0) } else { (f64::from(points[at - 1].0), points[at - 1].1) };
    match points.get(at) {
        None => before.1,
        Some(&(cores, speed)) => {
            before.1 + (speed - before.1) * (n - before.0) / (f64::from(cores) - before.0)
        }
    }
}

/// A kind of program.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// The name that effects and scripts use.
    pub name: String,
    /// Its scaling.
    pub speed_up: SpeedUp,
    /// Greatest number of cores that it can use.
    pub max: u32,
    /// Least number of cores that it should have.
    pub min: u32,
    /// Its share in proportion to other programs.
    pub weight: f64,
}

impl Kind {
    /// A kind with this serial fraction that uses any number of cores.
    pub fn new(name: &str, serial: f64) -> Self {
        Self {
            name: name.to_owned(),
            speed_up: SpeedUp::Serial(serial),
            max: 1_024,
            min: 1,
            weight: 1.0,
        }
    }
}

/// The arrival of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Time of the arrival.
    pub at: Time,
    /// Index of its kind.
    pub kind: usize,
    /// Duration on one core.
    pub work: Time,
    /// Time from its arrival to its death, if it has not ended by then.
    pub dies_after: Option<Time>,
}

/// All programs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mix {
    /// The kinds.
    pub kinds: Vec<Kind>,
    /// Effects on throughput: the second kind in the same cache changes the first kind's throughput
    /// by this fraction; −0.2 means a fifth less.
    pub effects: Vec<(usize, usize, f64)>,
    /// Arrivals in any order.
    pub arrivals: Vec<Arrival>,
}

impl Mix {
    /// `programs` programs of four kinds: with perfect, good, limited and hardly any scaling. The
    /// seed assigns weights from 0.5 to 4. Work is heavy-tailed with a mean of 10 s, and arrivals
    /// keep `cores` cores about three quarters busy. One program in fifty dies within ten seconds.
    pub fn random(programs: usize, cores: usize, seed: u64) -> Self {
        let measured = SpeedUp::Measured(vec![(1, 1.0), (4, 3.6), (8, 4.8), (16, 4.4)]);
        let mut kinds = vec![
            Kind::new("perfect", 0.0),
            Kind::new("well", 0.03),
            Kind { speed_up: measured, max: 16, ..Kind::new("memory", 0.0) },
            Kind { max: 4, ..Kind::new("hardly", 0.5) },
        ];
        let dealt = mix(!seed) as usize;
        for (at, kind) in kinds.iter_mut().enumerate() {
            kind.weight = WEIGHTS[at.wrapping_add(dealt) % WEIGHTS.len()];
        }
        let effects = vec![(2, 2, -0.25), (1, 2, -0.1), (1, 1, 0.05)];
        Self { effects, ..Self::of_kinds(kinds, programs, cores, seed) }
    }

    /// `programs` programs of these kinds, each equally frequent, with arrivals and deaths as in
    /// [`random`](Self::random); empty if there are no kinds.
    pub fn of_kinds(kinds: Vec<Kind>, programs: usize, cores: usize, seed: u64) -> Self {
        let chance = |program: usize, what: u64| unit(mix(mix(seed) ^ mix(program as u64) ^ what));
        let interval = 10.0 / (0.75 * cores.max(1) as f64) * SECOND as f64;
        let (mut at, many) = (0.0, kinds.len());
        let arrival = |program: usize| {
            at += -libm::log(chance(program, 1)) * interval;
            let pareto = libm::pow(chance(program, 2), -1.0 / 1.5).min(300.0);
            let dies = chance(program, 3) < 0.02;
            Arrival {
                at: at as Time,
                kind: ((chance(program, 4) * many as f64) as usize).min(many - 1),
                work: (pareto * 10.0 / 3.0 * SECOND as f64) as Time,
                dies_after: dies.then(|| (chance(program, 5) * 10.0 * SECOND as f64) as Time),
            }
        };
        let programs = if many == 0 { 0 } else { programs };
        Self { arrivals: (0..programs).map(arrival).collect(), kinds, effects: Vec::new() }
    }

    /// A script for the programs of [`random`](Self::random): few threads for kinds that scale
    /// badly, and for other kinds while those are present.
    pub fn script() -> Script {
        SCRIPT.parse().unwrap_or_default()
    }

    pub(super) fn check(&self) -> Result<(), SetupError> {
        let wrong = |why: String| Err(SetupError::new(why));
        for Kind { name, speed_up, max, min, weight } in &self.kinds {
            if *max == 0 || min > max {
                return wrong(format!(
                    "{name} uses from {min} to {max} cores, which is no range from 1 on"
                ));
            }
            if !(weight.is_finite() && *weight > 0.0) {
                return wrong(format!("the weight of {name} is {weight}: use a number above 0"));
            }
            match speed_up {
                SpeedUp::Serial(serial) if !is_within(&(0.0..=1.0), *serial) => {
                    return wrong(format!(
                        "the serial part of {name} is {serial}: use a number from 0 to 1"
                    ));
                }
                SpeedUp::Measured(points) if !is_curve(points) => {
                    return wrong(format!(
                        "the curve of {name} must have points of 1 core and more in ascending \
                         order, with speeds above 0"
                    ));
                }
                _ => {}
            }
        }
        if let Some((_, _, change)) =
            self.effects.iter().find(|(_, _, change)| !(-0.95..=1.0).contains(change))
        {
            return wrong(format!("an effect of {change} is not from -0.95 to 1"));
        }
        let unknown = |kind: usize| kind >= self.kinds.len();
        if self.arrivals.iter().any(|arrival| unknown(arrival.kind))
            || self.effects.iter().any(|&(a, b, _)| unknown(a) || unknown(b))
        {
            return wrong("a program or an effect is of a kind that there is not".into());
        }
        Ok(())
    }
}

fn is_curve(points: &[(u32, f64)]) -> bool {
    let sound = points.iter().all(|&(cores, speed)| cores > 0 && speed.is_finite() && speed > 0.0);
    sound && !points.is_empty() && points.windows(2).all(|pair| pair[0].0 < pair[1].0)
}
