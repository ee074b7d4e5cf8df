//! One process's workers, divided among its permits. Pure.
//!
//! Each permit first gets its minimum, though the sum may exceed the number of workers: TBB asks
//! for one worker where a task waits that no other thread will run. The rest goes to the permits of
//! the highest priority, then to the next one. Among permits of one priority, the next worker goes
//! to the permit that has the fewest, unless that has its maximum; among equal ones, to the oldest.
//! So with one more worker no permit has fewer.

/// A permit's request, and its grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claim {
    /// Workers that it must have.
    pub min: u32,
    /// Workers that it can use; at least `min`.
    pub max: u32,
    /// Claims of a higher priority come first.
    pub priority: i32,
    /// The workers that [`divide`] has given to it.
    pub grant: u32,
}

impl AsMut<Self> for Claim {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// Sets all grants, for `workers` workers.
///
/// # Cost
///
/// For each priority, at most twice as many passes over the claims as there are claims. One or two
/// if their minima are equal.
pub fn divide<T: AsMut<Claim>>(claims: &mut [T], workers: u32) {
    let mut left = workers;
    for claim in claims.iter_mut().map(AsMut::as_mut) {
        claim.grant = claim.min.min(claim.max);
        left = left.saturating_sub(claim.grant);
    }
    let mut priority = highest(claims, |_| true);
    while let Some(present) = priority {
        left = raise(claims, present, left);
        priority = highest(claims, |other| other < present);
    }
}

/// The highest priority of a claim that wants more and has `is_one`.
fn highest<T: AsMut<Claim>>(claims: &mut [T], is_one: impl Fn(i32) -> bool) -> Option<i32> {
    let open = claims.iter_mut().map(AsMut::as_mut).filter(|claim| claim.grant < claim.max);
    open.map(|claim| claim.priority).filter(|priority| is_one(*priority)).max()
}

/// Gives `left` workers to the claims of one priority. Returns what they cannot use.
fn raise<T: AsMut<Claim>>(claims: &mut [T], priority: i32, mut left: u32) -> u32 {
    while left > 0 {
        let is_open = |claim: &&mut Claim| claim.priority == priority && claim.grant < claim.max;
        let open = claims.iter_mut().map(AsMut::as_mut).filter(is_open);
        let Some(lowest) = open.map(|claim| claim.grant).min() else { return left };
        // The lowest ones rise together until one has its maximum or they reach another one.
        let (mut count, mut ceiling) = (0, u32::MAX);
        for claim in claims.iter_mut().map(AsMut::as_mut).filter(is_open) {
            let is_lowest = claim.grant == lowest;
            count += u32::from(is_lowest);
            ceiling = ceiling.min(if is_lowest { claim.max } else { claim.grant });
        }
        let step = (ceiling - lowest).min(left / count);
        let rising = if step == 0 { left } else { count };
        let lowest_ones = claims.iter_mut().map(AsMut::as_mut).filter(is_open);
        let lowest_ones = lowest_ones.filter(|claim| claim.grant == lowest);
        for claim in lowest_ones.take(rising as usize) {
            claim.grant += step.max(1);
        }
        left -= rising * step.max(1);
    }
    left
}

#[cfg(test)]
mod tests {
    //! Blind to: requests that are read wrongly.
    use proptest::prelude::*;

    use super::*;

    fn claims() -> impl Strategy<Value = Vec<Claim>> {
        let claim = (0..4_u32, 0..9_u32, 0..3_i32).prop_map(|(min, more, priority)| Claim {
            min,
            max: min + more,
            priority,
            grant: 77,
        });
        proptest::collection::vec(claim, 0..8)
    }

    fn divided(mut claims: Vec<Claim>, workers: u32) -> Vec<Claim> {
        divide(&mut claims, workers);
        claims
    }

    /// One worker after the other, by the rule in this file's header.
    fn one_by_one(mut claims: Vec<Claim>, workers: u32) -> Vec<Claim> {
        for claim in &mut claims {
            claim.grant = claim.min;
        }
        let minima: u32 = claims.iter().map(|claim| claim.min).sum();
        for _ in minima..workers {
            let open = claims.iter_mut().filter(|claim| claim.grant < claim.max);
            if let Some(claim) = open.min_by_key(|claim| (-claim.priority, claim.grant)) {
                claim.grant += 1;
            }
        }
        claims
    }

    proptest! {
        /// Catches: workers that are given twice, or kept back while a permit wants one.
        #[test]
        fn grants_are_within_their_claims_and_add_up(all in claims(), workers in 0..60_u32) {
            let all = divided(all, workers);
            let sum = |part: fn(&Claim) -> u32| all.iter().map(part).sum::<u32>();
            prop_assert!(all.iter().all(|claim| (claim.min..=claim.max).contains(&claim.grant)));
            let expected = workers.clamp(sum(|claim| claim.min), sum(|claim| claim.max));
            prop_assert_eq!(sum(|claim| claim.grant), expected);
        }

        /// Catches: an arithmetic shortcut that differs from the rule.
        #[test]
        fn workers_go_one_by_one_to_the_permit_with_the_fewest(
            all in claims(), workers in 0..60_u32,
        ) {
            prop_assert_eq!(divided(all.clone(), workers), one_by_one(all, workers));
        }

        /// Catches: a permit that loses a worker because the process gets one more.
        #[test]
        fn with_more_workers_no_permit_has_fewer(all in claims(), workers in 0..60_u32) {
            let (few, many) = (divided(all.clone(), workers), divided(all, workers + 1));
            prop_assert!(few.iter().zip(&many).all(|(few, many)| few.grant <= many.grant));
        }
    }

    /// Catches: overflow, or a loop over billions of workers, where the page is forged.
    #[test]
    fn absurd_numbers_are_divided_at_once() {
        let most = Claim { min: 0, max: i32::MAX as u32, priority: i32::MIN, grant: 0 };
        for workers in [0, 1, u32::MAX - 1, u32::MAX] {
            let all = divided(vec![Claim { min: u32::MAX, max: u32::MAX, ..most }, most], workers);
            assert_eq!(all.iter().map(|claim| claim.grant).collect::<Vec<_>>(), [u32::MAX, 0]);
            let all = divided(vec![most; 3], workers);
            let sum: u64 = all.iter().map(|claim| u64::from(claim.grant)).sum();
            assert_eq!(sum, u64::from(workers));
        }
    }
}
