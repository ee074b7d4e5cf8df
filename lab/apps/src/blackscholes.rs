//! Prices of European options in closed form, after the program of that name in the PARSEC suite.
//!
//! One loop over the options, entered again and again, as PARSEC does to have something to measure.
//! The cumulative normal distribution is the polynomial PARSEC uses: formula 26.2.17 of Abramowitz
//! and Stegun's "Handbook of Mathematical Functions". Differences: double precision, and generated
//! options, each as a call and as a put, so that prices can be held against each other.

use std::fmt;

use sinew::prelude::*;

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory::room;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

const SIZES: &str = "1 to 100000000000 options";

const NUMBERS: Numbers = Numbers {
    app: "blackscholes",
    sizes: SIZES,
    tiny: 1_000,
    small: 8_192,
    full: 65_536,
    range: 1..=100_000_000_000,
};

pub(crate) const APP: App = App {
    name: "blackscholes",
    about: "prices of European options: one loop over independent items, entered again and again",
    sizes: SIZES,
    demo: "full",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// Number of times that all options are priced; fewer where the time is not of interest.
const ROUNDS: usize = 100;
const TINY_ROUNDS: usize = 5;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let length = NUMBERS.pick(&options.size)?;
    // The options, and a price of each for the results of both versions.
    let bytes = size_of::<Contract>() + 2 * size_of::<f64>();
    room(APP.name, length.saturating_mul(bytes as u64))?;
    let rounds = if length <= NUMBERS.tiny { TINY_ROUNDS } else { ROUNDS };
    let schedule = options.schedule_or(Schedule::Static);
    Ok(problem(BlackScholes { contracts: contracts(length as usize), rounds, schedule }))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Call,
    Put,
}

/// An option: money in any currency, rates a year, time in years.
#[derive(Debug, Clone, Copy)]
struct Contract {
    kind: Kind,
    spot: f64,
    strike: f64,
    rate: f64,
    volatility: f64,
    time: f64,
}

/// Random calls, the same ones each time, each followed by the put with the same terms.
fn contracts(length: usize) -> Vec<Contract> {
    let mut rng = fastrand::Rng::with_seed(42);
    let mut between = move |low: f64, high: f64| low + (high - low) * rng.f64();
    let mut pair = move || {
        let spot = between(20.0, 120.0);
        let call = Contract {
            kind: Kind::Call,
            spot,
            strike: spot * between(0.7, 1.3),
            rate: between(0.01, 0.1),
            volatility: between(0.05, 0.65),
            time: between(0.05, 1.0),
        };
        [call, Contract { kind: Kind::Put, ..call }]
    };
    let pairs = std::iter::from_fn(|| Some(pair()));
    let mut contracts = Vec::with_capacity(length);
    contracts.extend(pairs.flatten().take(length));
    contracts
}

impl Contract {
    /// The formula of Black and Scholes with a given cumulative normal distribution.
    #[inline]
    fn price_with(&self, cumulative: impl Fn(f64) -> f64) -> f64 {
        let spread = self.volatility * self.time.sqrt();
        let drift = (self.rate + 0.5 * self.volatility * self.volatility) * self.time;
        let upper = ((self.spot / self.strike).ln() + drift) / spread;
        let lower = upper - spread;
        match self.kind {
            Kind::Call => self.spot * cumulative(upper) - self.discounted() * cumulative(lower),
            Kind::Put => self.discounted() * cumulative(-lower) - self.spot * cumulative(-upper),
        }
    }

    /// The present value of the strike.
    #[inline]
    fn discounted(&self) -> f64 {
        self.strike * (-self.rate * self.time).exp()
    }

    #[inline]
    fn price(&self) -> f64 {
        self.price_with(cumulative_normal)
    }

    fn precise_price(&self) -> f64 {
        self.price_with(|x| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2))
    }
}

/// The cumulative normal distribution, with an error of at most 7.5e-8.
#[inline]
fn cumulative_normal(x: f64) -> f64 {
    const SCALE: f64 = 0.231_641_9;
    const COEFFICIENTS: [f64; 5] =
        [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;
    let distance = x.abs();
    let t = 1.0 / (1.0 + SCALE * distance);
    let polynomial = t * COEFFICIENTS.iter().fold(0.0, |sum, coefficient| sum * t + coefficient);
    let tail = DENSITY_AT_0 * (-0.5 * distance * distance).exp() * polynomial;
    if x < 0.0 { tail } else { 1.0 - tail }
}

struct BlackScholes {
    contracts: Vec<Contract>,
    rounds: usize,
    schedule: LoopSchedule,
}

/// A price for each option.
#[derive(Debug, Clone, PartialEq)]
struct Prices(Vec<f64>);

impl fmt::Display for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        write!(f, "{mean:.6} on average")
    }
}

/// The error of the polynomial counts once for the spot and once for the strike; with a little for
/// rounding.
const ACCURACY: f64 = 1e-7;

/// Rounding alone separates a call and its put from what they should differ by.
const PARITY: f64 = 1e-12;

impl BlackScholes {
    fn check_parity(&self, at: usize, call: f64, put: f64) -> Result<(), Wrong> {
        let terms = &self.contracts[at];
        let expected = terms.spot - terms.discounted();
        let holds = (call - put - expected).abs() <= PARITY * (terms.spot + terms.strike);
        Wrong::unless(holds, || {
            format!("call {at} is worth {call}, its put {put}: they should differ by {expected}")
        })
    }
}

impl Solve for BlackScholes {
    /// Room for the prices.
    type Input = Vec<f64>;
    type Answer = Prices;

    fn size(&self) -> String {
        format!("{} options, {} times", self.contracts.len(), self.rounds)
    }

    fn input(&self) -> Vec<f64> {
        vec![0.0; self.contracts.len()]
    }

    fn serial(&self, mut prices: Vec<f64>) -> Prices {
        for _ in 0..self.rounds {
            for (price, contract) in prices.iter_mut().zip(&self.contracts) {
                *price = contract.price();
            }
        }
        Prices(prices)
    }

    fn parallel(&self, _: &Worker, mut prices: Vec<f64>) -> Prices {
        for _ in 0..self.rounds {
            over(&mut prices)
                .zip(&self.contracts)
                .scheduled(self.schedule)
                .for_each(|(price, contract)| *price = contract.price());
        }
        Prices(prices)
    }

    /// Each price is the one a precise error function gives, and calls and puts differ as arbitrage
    /// demands.
    fn check(&self, prices: &Prices) -> Result<(), Wrong> {
        let Prices(prices) = prices;
        Wrong::unless(prices.len() == self.contracts.len(), || {
            "some options have no price".to_owned()
        })?;
        for (at, (price, contract)) in prices.iter().zip(&self.contracts).enumerate() {
            let precise = contract.precise_price();
            let near = (price - precise).abs() <= ACCURACY * (contract.spot + contract.strike);
            Wrong::unless(near, || format!("option {at} is worth {precise}, not {price}"))?;
        }
        let mut pairs = prices.chunks_exact(2).enumerate();
        pairs.try_for_each(|(at, pair)| self.check_parity(2 * at, pair[0], pair[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of Hull's "Options, Futures, and Other Derivatives": 4.76 and 0.81.
    /// Blind to: errors of less than half a cent; the next test sees them.
    #[test]
    fn a_textbook_option_has_the_textbook_price() {
        let call = Contract {
            kind: Kind::Call,
            spot: 42.0,
            strike: 40.0,
            rate: 0.1,
            volatility: 0.2,
            time: 0.5,
        };
        let put = Contract { kind: Kind::Put, ..call };
        assert_eq!(format!("{:.2} {:.2}", call.price(), put.price()), "4.76 0.81");
    }

    /// Blind to: values between hundredths.
    #[test]
    fn the_polynomial_is_as_precise_as_its_source_says() {
        for step in -800..=800 {
            let x = f64::from(step) / 100.0;
            let precise = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
            assert!((cumulative_normal(x) - precise).abs() <= 7.5e-8, "{x}");
        }
    }

    /// Blind to: a call and its put that are wrong by the same amount, below the polynomial's
    /// accuracy.
    #[test]
    fn a_wrong_or_missing_price_is_noticed() {
        let problem = BlackScholes {
            contracts: contracts(101),
            rounds: 1,
            schedule: Schedule::Static.into(),
        };
        let right = problem.serial(problem.input());
        problem.check(&right).unwrap();
        let wrong = |tamper: fn(&mut Vec<f64>)| {
            let mut prices = right.clone();
            tamper(&mut prices.0);
            problem.check(&prices).unwrap_err().to_string()
        };
        assert!(wrong(|prices| prices[8] += 1e-9).contains("call 8"));
        assert!(wrong(|prices| prices[9] += 0.01).contains("option 9"));
        assert!(wrong(|prices| prices[9] = f64::NAN).contains("option 9"));
        assert!(wrong(|prices| prices.truncate(100)).contains("no price"));
    }
}
