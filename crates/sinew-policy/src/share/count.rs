//! How many cores each program gets.
//!
//! Two steps: a real number for each program, by the policy ([`shares`]), then whole numbers next
//! to them that add up and move as few cores as possible. Policies by measured speeds give core by
//! core instead. With the sum of speeds S and the watts W of all cores so far, a piece of work
//! takes the time 1/S and the energy W/S. So energy^p · time^(1 − p) is least where S / W^p is
//! greatest.
//!
//! Source: water-filling for shares between a floor and a ceiling; largest remainder for the whole
//! numbers. Difference: a program that holds one of the two whole numbers next to its share keeps
//! it as long as the sum allows. This is the hysteresis: a share must move past the next whole
//! number to move a core.

use sinew_cpus::CpuSet;

use super::name::Policy;
use super::power::Power;
use super::{Program, curve::Curve};

/// The factor by which a new distribution by measured speeds must exceed the present one.
const LEAST_GAIN: f64 = 1.05;

/// The factor by which a number of cores must be better than a lower one: sums of measured numbers
/// that are equal differ by less.
const LEAST_DIFFERENCE: f64 = 1.0 + 1e-9;

/// The least and the most cores of a program.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    floor: f64,
    ceiling: f64,
}

/// The number of cores of each program, out of `cores`. All programs are active, and there are no
/// more programs than cores.
pub(super) fn counts(
    policy: Policy,
    programs: &[&Program],
    masks: &[CpuSet],
    cores: usize,
    power: Option<Power>,
) -> Vec<u32> {
    let bounds = bounds(policy, programs, masks, cores);
    let held: Vec<u32> = programs.iter().map(|program| held_count(program)).collect();
    match (policy, power) {
        (Policy::Energy { percent }, Some(power)) => {
            let price = Price { power, exponent: f64::from(percent) / 100.0 };
            return by_speed(programs, &bounds, cores, &held, Some(price));
        }
        (Policy::Efficiency | Policy::Energy { .. }, _) => {
            return by_speed(programs, &bounds, cores, &held, None);
        }
        _ => {}
    }
    whole(&real(policy, programs, &bounds, cores as f64), &held)
}

/// The real-valued shares of `cores` under a policy, ignoring masks. The numbers of cores are
/// rounded from these. The policy by measured speeds has no real-valued shares of its own.
pub fn shares(policy: Policy, programs: &[Program], cores: usize) -> Vec<f64> {
    let chosen: Vec<&Program> = programs.iter().filter(|program| program.is_active()).collect();
    let masks: Vec<CpuSet> = chosen.iter().map(|program| program.mask.clone()).collect();
    let bounds = bounds(policy, &chosen, &masks, cores);
    let mut real = real(policy, &chosen, &bounds, cores as f64).into_iter();
    programs
        .iter()
        .map(|program| if program.is_active() { real.next().unwrap_or(0.0) } else { 0.0 })
        .collect()
}

fn held_count(program: &Program) -> u32 {
    if program.held.cores.len() == program.held.threads as usize { program.held.threads } else { 0 }
}

/// The minima, if there are enough cores for all of them; at least one core each.
fn bounds(policy: Policy, programs: &[&Program], masks: &[CpuSet], cores: usize) -> Vec<Bounds> {
    let ceilings = programs.iter().zip(masks).map(|(program, mask)| {
        let requested = program.requested_threads(policy).unwrap_or(u32::MAX);
        let most = program.max.min(requested).min(mask.len() as u32).max(1);
        (most, f64::from(program.demand.max(program.min).min(most)))
    });
    let ceilings: Vec<(u32, f64)> = ceilings.collect();
    let floor = |i: usize| {
        let least = programs[i].requested_threads(policy).unwrap_or(programs[i].min);
        f64::from(least.clamp(1, ceilings[i].0))
    };
    let enough = (0..programs.len()).map(floor).sum::<f64>() <= cores as f64;
    let bound = |i: usize| {
        let floor = if enough { floor(i) } else { 1.0 };
        Bounds { floor, ceiling: ceilings[i].1.max(floor) }
    };
    (0..programs.len()).map(bound).collect()
}

impl Program {
    pub(super) fn requested_threads(&self, policy: Policy) -> Option<u32> {
        let request = self.request.as_ref().filter(|request| policy.follows(request))?;
        let pinned =
            request.cores.as_ref().map(|cores| cores.intersection(&self.mask).len() as u32);
        request.threads.or(pinned).map(|threads| threads.max(1))
    }

    /// The weight, clamped to 0.001 to 1,000; 1 if it is not finite.
    fn sound_weight(&self) -> f64 {
        if self.weight.is_finite() { self.weight.clamp(1e-3, 1e3) } else { 1.0 }
    }
}

fn real(policy: Policy, programs: &[&Program], bounds: &[Bounds], cores: f64) -> Vec<f64> {
    let weights: Vec<f64> = programs.iter().map(|program| program.sound_weight()).collect();
    match policy {
        Policy::Proportional => {
            let demand = programs.iter().map(|program| f64::from(program.demand));
            let rates: Vec<f64> =
                weights.iter().zip(demand).map(|(weight, demand)| weight * demand).collect();
            fill(&rates, bounds, cores)
        }
        Policy::Priority => by_priority(&weights, bounds, cores),
        _ => fill(&weights, bounds, cores),
    }
}

/// Shares in proportion to `rates` that add up to `cores`, or as near as the bounds allow.
fn fill(rates: &[f64], bounds: &[Bounds], cores: f64) -> Vec<f64> {
    let at = |level: f64| {
        rates.iter().zip(bounds).map(move |(rate, b)| (rate * level).clamp(b.floor, b.ceiling))
    };
    let (mut low, mut high) = (0.0_f64, 1e12_f64);
    for _ in 0..200 {
        let before = (low, high);
        let middle = if high > 1e3 * (low + 1e-9) {
            ((low + 1e-9) * high).sqrt()
        } else {
            (low + high) / 2.0
        };
        let end = if at(middle).sum::<f64>() > cores { &mut high } else { &mut low };
        *end = middle;
        if (low, high) == before {
            // No number is between them, so all further steps would do the same.
            break;
        }
    }
    at(low).collect()
}

/// The heaviest program first; programs of the same weight by `fill`.
fn by_priority(weights: &[f64], bounds: &[Bounds], cores: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    let mut shares: Vec<f64> = bounds.iter().map(|b| b.floor).collect();
    let mut left = cores - shares.iter().sum::<f64>();
    for group in order.chunk_by(|&a, &b| weights[a] == weights[b]) {
        let group_bounds: Vec<Bounds> = group.iter().map(|&i| bounds[i]).collect();
        let floors: f64 = group_bounds.iter().map(|b| b.floor).sum();
        let filled = fill(&vec![1.0; group.len()], &group_bounds, floors + left.max(0.0));
        left -= filled.iter().sum::<f64>() - floors;
        group.iter().zip(filled).for_each(|(&i, share)| shares[i] = share);
    }
    shares
}

/// Whole numbers next to the shares, with the same sum; as close to the held numbers as that
/// allows.
fn whole(shares: &[f64], held: &[u32]) -> Vec<u32> {
    const TINY: f64 = 1e-6;
    let low = |i: usize| (shares[i] + TINY).floor();
    let high = |i: usize| (shares[i] - TINY).ceil().max(low(i));
    let mut counts: Vec<f64> =
        (0..shares.len()).map(|i| f64::from(held[i]).clamp(low(i), high(i))).collect();
    let target = (shares.iter().sum::<f64>() + TINY).floor();
    loop {
        let error = target - counts.iter().sum::<f64>();
        let can_move =
            |&i: &usize| if error > 0.0 { counts[i] < high(i) } else { counts[i] > low(i) };
        let lag = |i: usize| (shares[i] - counts[i]) * error.signum();
        // Newcomers come first, otherwise a core would move from one old program to another.
        let is_newcomer = |i: usize| error > 0.0 && held[i] == 0;
        let next = (0..counts.len()).filter(can_move).max_by(|&a, &b| {
            let by_lag = lag(a).total_cmp(&lag(b)).then(b.cmp(&a));
            is_newcomer(a).cmp(&is_newcomer(b)).then(by_lag)
        });
        match next {
            Some(next) if error.abs() > 0.5 => counts[next] += error.signum(),
            _ => break counts.into_iter().map(|count| count as u32).collect(),
        }
    }
}

/// The bounds with those of programs without measurements set to an equal part: at that number they
/// are measured. If cores have a price, a program that was measured at one number of them alone is
/// tried on half as many.
fn settle_unknown(
    programs: &[&Program],
    bounds: &[Bounds],
    cores: usize,
    held: &[u32],
    has_price: bool,
) -> Vec<Bounds> {
    let is_unknown = |i: usize| programs[i].curve.points().is_empty();
    // The speeds decide about the other programs, so their held numbers do not count here.
    let held: Vec<u32> = (0..held.len()).map(|i| if is_unknown(i) { held[i] } else { 0 }).collect();
    let fair = whole(&real(Policy::Equal, programs, bounds, cores as f64), &held);
    let bound = |i: usize| match programs[i].curve.points() {
        [] => Bounds { floor: f64::from(fair[i]), ceiling: f64::from(fair[i]) },
        [point] if has_price => {
            let half = f64::from((point.cores / 2).min(fair[i])).max(bounds[i].floor);
            let is_new = half < f64::from(point.cores);
            if is_new { Bounds { floor: half, ceiling: half } } else { bounds[i] }
        }
        _ => bounds[i],
    };
    (0..bounds.len()).map(bound).collect()
}

/// The price of cores: their watts, to this exponent.
#[derive(Debug, Clone, Copy)]
struct Price {
    power: Power,
    exponent: f64,
}

impl Price {
    fn of(self, cores: u32) -> f64 {
        self.power.watts(cores).max(f64::MIN_POSITIVE).powf(self.exponent)
    }
}

/// Gives core by core to the program with the largest gain, to the last one or, if they have a
/// `price`, as many as give the most speed for it; unless the held distribution is nearly as good.
fn by_speed(
    programs: &[&Program],
    bounds: &[Bounds],
    cores: usize,
    held: &[u32],
    price: Option<Price>,
) -> Vec<u32> {
    let bounds = settle_unknown(programs, bounds, cores, held, price.is_some());
    let mut counts: Vec<u32> = bounds.iter().map(|b| b.floor as u32).collect();
    let value = |counts: &[u32]| -> f64 {
        let each = programs.iter().zip(counts);
        let speed = each.map(|(program, &n)| program.sound_weight() * program.curve.speed_up(n));
        speed.sum::<f64>() / price.map_or(1.0, |price| price.of(counts.iter().sum()))
    };
    let gain = |i: usize, count: u32| {
        let curve = &programs[i].curve;
        programs[i].sound_weight() * best_gain(curve, count, bounds[i].ceiling as u32)
    };
    let mut best = (value(&counts), counts.clone());
    while counts.iter().sum::<u32>() < cores as u32 {
        let open = (0..counts.len()).filter(|&i| f64::from(counts[i]) < bounds[i].ceiling);
        let key = |i: usize| (gain(i, counts[i]), counts[i]);
        let next = open.max_by(|&a, &b| {
            let ((gain_a, count_a), (gain_b, count_b)) = (key(a), key(b));
            gain_a.total_cmp(&gain_b).then(count_b.cmp(&count_a)).then(b.cmp(&a))
        });
        let Some(next) = next else { break };
        counts[next] += 1;
        if price.is_some() && value(&counts) > best.0 * LEAST_DIFFERENCE {
            best = (value(&counts), counts.clone());
        }
    }
    let all = counts.iter().sum::<u32>();
    let counts = if price.is_some() { best.1 } else { counts };
    let legal = |i: usize| (bounds[i].floor..=bounds[i].ceiling).contains(&f64::from(held[i]));
    let held_cores = held.iter().sum::<u32>();
    let stays = (held_cores == all || price.is_some() && held_cores < all)
        && (0..held.len()).all(legal)
        && value(&counts) < LEAST_GAIN * value(held);
    if stays { held.to_vec() } else { counts }
}

/// The gain in speed-up per further core, for the best number of further cores: a flat piece of the
/// curve does not hide a steep one after it.
fn best_gain(curve: &Curve, count: u32, ceiling: u32) -> f64 {
    let now = curve.speed_up(count);
    let ahead = (count + 1)..=ceiling.min(count.saturating_add(64));
    ahead.map(|n| (curve.speed_up(n) - now) / f64::from(n - count)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a search that ends before its last step would change nothing.
    #[test]
    fn the_search_for_a_level_ends_where_a_longer_one_would() {
        let random = &mut fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let programs = random.usize(1..6);
            let rates: Vec<f64> = (0..programs).map(|_| random.f64() * 100.0).collect();
            let bounds: Vec<Bounds> = (0..programs)
                .map(|_| {
                    let floor = f64::from(random.u32(0..4));
                    Bounds { floor, ceiling: floor + f64::from(random.u32(0..9)) }
                })
                .collect();
            let cores = f64::from(random.u32(0..40));
            let longer = by_200_steps(&rates, &bounds, cores);
            assert_eq!(fill(&rates, &bounds, cores), longer, "{rates:?} {bounds:?} {cores}");
        }
    }

    fn by_200_steps(rates: &[f64], bounds: &[Bounds], cores: f64) -> Vec<f64> {
        let at = |level: f64| {
            rates.iter().zip(bounds).map(move |(rate, b)| (rate * level).clamp(b.floor, b.ceiling))
        };
        let (mut low, mut high) = (0.0_f64, 1e12_f64);
        for _ in 0..200 {
            let is_wide = high > 1e3 * (low + 1e-9);
            let middle = if is_wide { ((low + 1e-9) * high).sqrt() } else { (low + high) / 2.0 };
            let end = if at(middle).sum::<f64>() > cores { &mut high } else { &mut low };
            *end = middle;
        }
        at(low).collect()
    }
}
