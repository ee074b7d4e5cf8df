//! Prices of a portfolio of swaptions by simulation, after the program of that name in the PARSEC
//! suite.
//!
//! A loop over blocks of trials, several for each swaption. A block has random numbers of its own,
//! so its schedule does not matter; sums are combined in the order of blocks. Swaptions that expire
//! late take longer than others. Differences from PARSEC: a model that is free of arbitrage in
//! discrete time as well. So the mean value of the swap beneath each swaption is known exactly, and
//! the result is compared with it.

mod model;

use std::fmt;

use rand::SeedableRng;
use sinew::{Schedule, Worker};

use crate::app::App;
use crate::loops::{LoopSchedule, Loops, Serial};
use crate::memory::room;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use model::{Model, Swaption};

/// Random numbers of one block.
type Random = rand::rngs::SmallRng;

const SIZES: &str = "100 to 100000000000000 trials a swaption";

const NUMBERS: Numbers = Numbers {
    app: "swaptions",
    sizes: SIZES,
    tiny: 1_200,
    small: 5_000,
    full: 20_000,
    range: 100..=100_000_000_000_000,
};

pub(crate) const APP: App = App {
    name: "swaptions",
    about: "prices of swaptions by simulation: a loop over blocks of trials of uneven length",
    sizes: SIZES,
    demo: "full",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// Swaptions; fewer where the time is not of interest.
const SWAPTIONS: usize = 64;
const TINY_SWAPTIONS: usize = 8;

/// Trials a block.
const BLOCK: usize = 500;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let trials = NUMBERS.pick(&options.size)?;
    let count = if trials <= NUMBERS.tiny { TINY_SWAPTIONS } else { SWAPTIONS };
    room(APP.name, count as u64 * (trials / BLOCK as u64 + 1) * size_of::<Sums>() as u64)?;
    let schedule = options.schedule_or(Schedule::Stealing);
    Ok(problem(Swaptions::new(count, trials as usize, schedule)))
}

struct Swaptions {
    model: Model,
    swaptions: Vec<Swaption>,
    trials: usize,
    schedule: LoopSchedule,
}

/// The sums over trials.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    trials: usize,
    swap: f64,
    swap_squares: f64,
    swaption: f64,
    swaption_squares: f64,
}

impl Sums {
    fn add(mut self, swap: f64) -> Self {
        let swaption = swap.max(0.0);
        self.trials += 1;
        self.swap += swap;
        self.swap_squares += swap * swap;
        self.swaption += swaption;
        self.swaption_squares += swaption * swaption;
        self
    }

    fn and(self, other: &Self) -> Self {
        Self {
            trials: self.trials + other.trials,
            swap: self.swap + other.swap,
            swap_squares: self.swap_squares + other.swap_squares,
            swaption: self.swaption + other.swaption,
            swaption_squares: self.swaption_squares + other.swaption_squares,
        }
    }

    fn price(&self) -> Price {
        Price {
            swap: Mean::of(self.trials, self.swap, self.swap_squares),
            swaption: Mean::of(self.trials, self.swaption, self.swaption_squares),
        }
    }
}

/// A mean of trials and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mean {
    value: f64,
    error: f64,
}

impl Mean {
    fn of(trials: usize, sum: f64, squares: f64) -> Self {
        let trials = trials as f64;
        let value = sum / trials;
        let variance = (squares / trials - value * value).max(0.0);
        Self { value, error: (variance / (trials - 1.0)).sqrt() }
    }

    /// Whether chance explains the difference from another mean.
    fn is_near(self, other: Self) -> bool {
        (self.value - other.value).abs() <= UNLIKELY * self.error.hypot(other.error) + ROUNDING
    }
}

/// A deviation of this many standard errors happens at random once in half a billion cases.
const UNLIKELY: f64 = 6.0;

/// Values are below 1, so this is far more than rounding adds up to.
const ROUNDING: f64 = 1e-9;

/// Of a swaption, and of the swap beneath it, for a notional value of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Price {
    swap: Mean,
    swaption: Mean,
}

#[derive(Debug, Clone, PartialEq)]
struct Portfolio(Vec<Price>);

impl fmt::Display for Portfolio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || self.0.iter().map(|price| price.swaption);
        let (value, error) =
            all().fold((0.0, 0.0_f64), |(v, e), mean| (v + mean.value, e.hypot(mean.error)));
        write!(f, "{} swaptions, worth {value:.5} ± {error:.5} together", self.0.len())
    }
}

/// Random streams are numbered: these are for what prices are held against.
const REFERENCE: u64 = 1 << 63;

impl Swaptions {
    /// Expiries of one to eight periods, strikes of 3 to 12 percent.
    fn new(count: usize, trials: usize, schedule: LoopSchedule) -> Self {
        let strike = |at: usize| 0.03 + 0.09 * at as f64 / count as f64;
        let swaptions =
            (0..count).map(|at| Swaption { expiry: 1 + at % 8, strike: strike(at) }).collect();
        Self { model: Model::new(1.0), swaptions, trials, schedule }
    }

    /// Blocks of one swaption.
    fn blocks(&self) -> usize {
        self.trials.div_ceil(BLOCK)
    }

    fn solve(&self, loops: impl Loops) -> Portfolio {
        let blocks = self.blocks();
        let sums =
            loops.map(self.swaptions.len() * blocks, |at| self.block(at / blocks, at % blocks));
        let total = |sums: &[Sums]| sums.iter().fold(Sums::default(), Sums::and).price();
        Portfolio(sums.chunks(blocks).map(total).collect())
    }

    fn block(&self, swaption: usize, block: usize) -> Sums {
        let trials = BLOCK.min(self.trials - block * BLOCK);
        self.simulate(swaption, trials, (swaption * self.blocks() + block) as u64)
    }

    fn simulate(&self, swaption: usize, trials: usize, stream: u64) -> Sums {
        let mut random = Random::seed_from_u64(stream);
        let mut swap = || self.swaptions[swaption].swap_at_random(&self.model, &mut random);
        (0..trials).fold(Sums::default(), |sums, _| sums.add(swap()))
    }

    /// The same with other random numbers, and fewer of them.
    fn reference(&self, swaption: usize) -> Price {
        let trials = (self.trials / 10).clamp(200, 10_000);
        self.simulate(swaption, trials, REFERENCE + swaption as u64).price()
    }
}

impl Solve for Swaptions {
    type Input = ();
    type Answer = Portfolio;

    fn size(&self) -> String {
        format!("{} swaptions, {} trials each", self.swaptions.len(), self.trials)
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Portfolio {
        self.solve(Serial)
    }

    fn parallel(&self, _: &Worker, (): ()) -> Portfolio {
        self.solve(self.schedule)
    }

    /// Swaps have their exact mean value, and swaptions the one that other random numbers give. A
    /// swaption is worth at least its swap, and never less than zero.
    fn check(&self, Portfolio(prices): &Portfolio) -> Result<(), Wrong> {
        let complete = prices.len() == self.swaptions.len();
        Wrong::unless(complete, || "some swaptions have no price".to_owned())?;
        for (at, (price, swaption)) in prices.iter().zip(&self.swaptions).enumerate() {
            let exact = Mean { value: swaption.swap_today(&self.model), error: 0.0 };
            let (swap, value) = (price.swap, price.swaption.value);
            Wrong::unless(swap.is_near(exact), || {
                format!("swap {at} is worth {}, not {} ± {}", exact.value, swap.value, swap.error)
            })?;
            Wrong::unless(value >= swap.value.max(0.0) - ROUNDING, || {
                format!("a duty beats swaption {at}")
            })?;
            let reference = self.reference(at).swaption;
            Wrong::unless(price.swaption.is_near(reference), || {
                format!("swaption {at} is worth about {}, not {value}", reference.value)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(swaptions: &Swaptions) -> Portfolio {
        let portfolio = swaptions.serial(());
        swaptions.check(&portfolio).unwrap();
        portfolio
    }

    /// Blind to: the drift, which vanishes; the exact means of swaps see that.
    #[test]
    fn without_volatility_prices_are_those_of_the_known_future() {
        let mut problem = Swaptions::new(16, 100, Schedule::Static.into());
        problem.model = Model::new(0.0);
        for (price, swaption) in solved(&problem).0.iter().zip(&problem.swaptions) {
            let known = swaption.swap_today(&problem.model).max(0.0);
            assert!((price.swaption.value - known).abs() < 1e-14, "{swaption:?}");
            assert!(price.swaption.error < 1e-8);
        }
    }

    /// The value of waiting grows with volatility.
    /// Blind to: a wrong dependence between rates; the exact means of swaps see that.
    #[test]
    fn more_volatility_makes_swaptions_worth_more() {
        let total = |volatility: f64| {
            let mut problem = Swaptions::new(8, 2000, Schedule::Static.into());
            problem.model = Model::new(volatility);
            solved(&problem).0.iter().map(|price| price.swaption.value).sum::<f64>()
        };
        assert!(total(0.5) < total(1.0) && total(1.0) < total(2.0));
    }

    /// Blind to: a price that is wrong by less than chance explains; `agree` compares exactly.
    #[test]
    fn a_wrong_or_missing_price_is_noticed() {
        let problem = Swaptions::new(8, 1000, Schedule::Static.into());
        let right = solved(&problem);
        let wrong = |tamper: fn(&mut Vec<Price>)| {
            let mut prices = right.clone();
            tamper(&mut prices.0);
            problem.check(&prices).unwrap_err().to_string()
        };
        assert!(wrong(|prices| prices[2].swap.value += 0.05).contains("swap 2"));
        assert!(wrong(|prices| prices[3].swaption.value += 0.05).contains("swaption 3"));
        assert!(wrong(|prices| prices[1].swaption.value = 0.0).contains("duty"));
        assert!(wrong(|prices| prices[4].swaption.value = f64::NAN).contains("swaption 4"));
        assert!(wrong(|prices| _ = prices.pop()).contains("no price"));
    }
}
