//! The list of one rank: a [`Worklist`](sinew::worklist::Worklist) in rounds, whose units are
//! routed when their transaction has committed.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use sinew::stm::{Tx, TxResult};
use sinew::worklist::{More, Round, Rounds, Work};
use sinew_policy::lifelines::Rank;

use super::member::Local;

/// How long a round should take at most: this is how long a unit waits before it is sent.
const ROUND: Duration = Duration::from_millis(1);

/// The rank at which a unit is at home.
pub(super) struct Homes<'h, U> {
    key: &'h (dyn Fn(&U) -> u64 + Sync),
    own: Rank,
    ranks: u32,
}

impl<'h, U> Homes<'h, U> {
    pub(super) fn new(key: &'h (dyn Fn(&U) -> u64 + Sync), own: Rank, ranks: u32) -> Self {
        Self { key, own, ranks }
    }

    fn of(&self, unit: &U) -> Rank {
        ((self.key)(unit) % u64::from(self.ranks)) as Rank
    }

    /// Removes the units with other homes, and deals them to these.
    pub(super) fn deal(&self, units: &mut Vec<U>) -> Vec<Vec<U>> {
        let mut away: Vec<_> = (0..self.ranks).map(|_| Vec::new()).collect();
        for unit in units.extract_if(.., |unit| self.of(unit) != self.own) {
            away[self.of(&unit) as usize].push(unit);
        }
        away
    }
}

/// Units that running one adds. They run, or travel to their homes, once its transaction has
/// committed.
pub struct Out<'o, U> {
    homes: &'o Homes<'o, U>,
    here: &'o mut More<U>,
    away: &'o mut Vec<(Rank, U)>,
}

impl<U> fmt::Debug for Out<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").field("away", &self.away.len()).finish_non_exhaustive()
    }
}

impl<U> Out<'_, U> {
    /// Adds a unit.
    pub fn push(&mut self, unit: U) {
        match self.homes.of(&unit) {
            home if home == self.homes.own => self.here.push(unit),
            home => self.away.push((home, unit)),
        }
    }
}

impl<U> Extend<U> for Out<'_, U> {
    fn extend<I: IntoIterator<Item = U>>(&mut self, units: I) {
        units.into_iter().for_each(|unit| self.push(unit));
    }
}

/// The work of the rank's list.
pub(super) struct Routed<'h, U, V, A, F, G> {
    homes: &'h Homes<'h, U>,
    process: F,
    fold: G,
    types: PhantomData<fn(V) -> A>,
}

/// The local value of a worker.
pub(super) struct Own<U, A> {
    /// Units that its units have added for other ranks.
    away: Vec<(Rank, U)>,
    /// Memory for what the next unit adds.
    spare: Vec<(Rank, U)>,
    pub(super) sum: A,
}

impl<'h, U, V, A, F, G> Routed<'h, U, V, A, F, G> {
    pub(super) fn new(homes: &'h Homes<'h, U>, process: F, fold: G) -> Self {
        Self { homes, process, fold, types: PhantomData }
    }
}

impl<'env, U, V, A, F, G> Work<'env> for Routed<'_, U, V, A, F, G>
where
    U: Send + Sync,
    A: Default + Send,
    F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut Out<'_, U>) -> TxResult<V> + Sync,
    G: Fn(&mut A, V) + Sync,
{
    type Unit = U;
    type Value = (V, Vec<(Rank, U)>);
    type Local = Own<U, A>;

    fn init(&self, _worker: usize) -> Own<U, A> {
        Own { away: Vec::new(), spare: Vec::new(), sum: A::default() }
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        unit: &U,
        own: &mut Own<U, A>,
        more: &mut More<U>,
    ) -> TxResult<Self::Value> {
        let mut away = std::mem::take(&mut own.spare);
        let mut out = Out { homes: self.homes, here: more, away: &mut away };
        let value = (self.process)(tx, unit, &mut out)?;
        Ok((value, away))
    }

    fn fold(&self, own: &mut Own<U, A>, (value, mut away): Self::Value) {
        own.away.append(&mut away);
        own.spare = away;
        (self.fold)(&mut own.sum, value);
    }
}

/// The rounds of a rank's list.
pub(super) struct Running<'a, 'r, U, A> {
    pub(super) homes: &'a Homes<'a, U>,
    pub(super) rounds: &'a mut Rounds<'r, U, Own<U, A>>,
}

impl<U, A> Local<U> for Running<'_, '_, U, A> {
    fn add(&mut self, units: Vec<U>) -> bool {
        let at_home = units.iter().all(|unit| self.homes.of(unit) == self.homes.own);
        self.rounds.extend(units);
        at_home
    }

    fn round(&mut self, away: &mut [Vec<U>]) -> Round {
        let round = self.rounds.run(ROUND);
        self.rounds.each_local(|own| {
            own.away.drain(..).for_each(|(home, unit)| away[home as usize].push(unit));
        });
        round
    }
}
