//! Interest rates that move at random without a chance of arbitrage: the framework of Heath, Jarrow
//! and Morton.
//!
//! A curve is the forward rates of the periods to come. In each period it moves up by one place,
//! and is shifted by a drift and three random factors: level, slope and curvature. The drift gives
//! every discounted bond its present value as mean, in discrete time. So prices that are linear in
//! bonds are exact but for sampling. Source: Glasserman, "Monte Carlo Methods in Financial
//! Engineering", section 3.6.

use rand_distr::{Distribution, StandardNormal};

use super::Random;

/// Periods of the curve.
pub(super) const PERIODS: usize = 11;

/// The length of a period in years.
pub(super) const PERIOD: f64 = 0.5;

const FACTORS: usize = 3;

/// Forward rates a year, or what they change by: one for each period to come.
type Curve = [f64; PERIODS];

#[derive(Debug, Clone)]
pub(super) struct Model {
    today: Curve,
    drift: Curve,
    /// Standard deviations of each rate's change within a period, by factor.
    shocks: [Curve; FACTORS],
}

impl Model {
    /// Rising rates, and factors of about one percentage point a year times `volatility`.
    pub(super) fn new(volatility: f64) -> Self {
        let factors: [fn(f64) -> f64; FACTORS] =
            [|_| 0.01, |years| 0.01 * (-years / 5.0).exp(), |years| 0.001 - 0.0005 * years];
        let years = |period: usize| PERIOD * period as f64;
        let deviations =
            factors.map(|factor| std::array::from_fn(|period| volatility * factor(years(period))));
        Self {
            today: std::array::from_fn(|period| 0.05 + 0.005 * period as f64),
            drift: drift(&deviations),
            shocks: deviations.map(|curve: Curve| curve.map(|rate| rate * PERIOD.sqrt())),
        }
    }

    /// The present value of a unit of money paid after this number of periods.
    pub(super) fn bond(&self, periods: usize) -> f64 {
        (-PERIOD * self.today[..periods].iter().sum::<f64>()).exp()
    }

    /// The rates after this many periods, and the present value of a unit of money paid then.
    fn walk(&self, periods: usize, random: &mut Random) -> (Curve, f64) {
        let mut curve = self.today;
        let mut spent = 0.0;
        for period in 0..periods {
            spent += PERIOD * curve[0];
            let normals: [f64; FACTORS] = std::array::from_fn(|_| StandardNormal.sample(random));
            self.shift(&mut curve[..PERIODS - period], normals);
        }
        (curve, (-spent).exp())
    }

    fn shift(&self, curve: &mut [f64], normals: [f64; FACTORS]) {
        curve.copy_within(1.., 0);
        let [level, slope, curvature] = &self.shocks;
        let shocks = level.iter().zip(slope).zip(curvature);
        for ((rate, drift), ((level, slope), curvature)) in
            curve.iter_mut().zip(&self.drift).zip(shocks)
        {
            *rate += drift + level * normals[0] + slope * normals[1] + curvature * normals[2];
        }
    }
}

/// The drift that follows from the yearly standard deviations of the rates.
fn drift(deviations: &[Curve; FACTORS]) -> Curve {
    let convexity = |periods: usize| {
        let sums = deviations.iter().map(|factor| factor[..periods].iter().sum::<f64>());
        0.5 * PERIOD * PERIOD * sums.map(|sum| sum * sum).sum::<f64>()
    };
    std::array::from_fn(|at| convexity(at + 1) - convexity(at))
}

/// The right to enter, at the expiry, a swap that pays a fixed rate and receives floating ones up
/// to the curve's end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swaption {
    /// In periods from today.
    pub(super) expiry: usize,
    /// The fixed rate, a year.
    pub(super) strike: f64,
}

impl Swaption {
    /// The present value of the swap: known exactly, because it consists of bonds.
    pub(super) fn swap_today(&self, model: &Model) -> f64 {
        let annuity: f64 = (self.expiry + 1..=PERIODS).map(|end| PERIOD * model.bond(end)).sum();
        model.bond(self.expiry) - model.bond(PERIODS) - self.strike * annuity
    }

    /// The present value of the swap in one random future.
    pub(super) fn swap_at_random(&self, model: &Model, random: &mut Random) -> f64 {
        let (curve, discount) = model.walk(self.expiry, random);
        let (mut bond, mut annuity) = (1.0, 0.0);
        for rate in &curve[..PERIODS - self.expiry] {
            bond *= (-PERIOD * rate).exp();
            annuity += PERIOD * bond;
        }
        discount * (1.0 - bond - self.strike * annuity)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// The bond that remains is lognormal, so Black's formula is exact.
    fn option_on_the_last_payment(model: &Model, strike: f64) -> f64 {
        let (expiry, owed) = (PERIODS - 1, 1.0 + PERIOD * strike);
        let variance: f64 = model
            .shocks
            .iter()
            .flat_map(|factor| &factor[..expiry])
            .map(|shock| shock * shock)
            .sum();
        let deviation = PERIOD * variance.sqrt();
        let ratio = owed * model.bond(PERIODS) / model.bond(expiry);
        let upper = ratio.ln() / deviation + 0.5 * deviation;
        let cumulative = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
        model.bond(expiry) * cumulative(deviation - upper)
            - owed * model.bond(PERIODS) * cumulative(-upper)
    }

    /// Blind to: errors smaller than chance allows at this number of trials.
    #[test]
    fn an_option_on_a_single_payment_has_blacks_price() {
        let (model, trials) = (Model::new(1.0), 40_000);
        let mut random = Random::seed_from_u64(7);
        for strike in [0.08, 0.1, 0.12] {
            let swaption = Swaption { expiry: PERIODS - 1, strike };
            let mut value = || swaption.swap_at_random(&model, &mut random).max(0.0);
            let mean = (0..trials).map(|_| value()).sum::<f64>() / f64::from(trials);
            let exact = option_on_the_last_payment(&model, strike);
            assert!((mean - exact).abs() < 0.03 * exact, "{mean} is not {exact} at {strike}");
        }
    }

    /// Blind to: the drift, which vanishes.
    #[test]
    fn a_curve_without_volatility_only_moves_up() {
        let model = Model::new(0.0);
        let (curve, discount) = model.walk(3, &mut Random::seed_from_u64(1));
        assert_eq!(curve[..PERIODS - 3], model.today[3..]);
        assert!((discount - model.bond(3)).abs() < 1e-15);
    }
}
