//! Counters by the place in the program that starts the transaction.
//!
//! Each thread counts for itself, with plain additions; a reader sums over the threads. So counting
//! writes no shared memory, and a read-only transaction writes none.

use sinew_sync::counter::Counter;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A place that starts transactions.
pub(crate) type Site = &'static Location<'static>;

/// Why an attempt aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Another transaction had locked a record that this one needed.
    Locked,
    /// Another commit changed a variable that this transaction had read.
    Changed,
    /// Another transaction was irrevocable when this one tried to commit or to become irrevocable.
    Token,
    /// The closure returned an error that was not this attempt's own, or panicked.
    Body,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Locked => "another transaction had locked a variable; repeat the attempt",
            Self::Changed => "another commit changed a variable that was read; repeat the attempt",
            Self::Token => "another transaction was irrevocable; repeat the attempt",
            Self::Body => {
                "the closure ended the attempt itself, by `retry`, `restart` or another attempt's \
                 error; repeat the attempt when the closure can end in another way"
            }
        })
    }
}

impl Error for Cause {}

/// The counters of one site's transactions, summed over all threads.
///
/// They are read one after the other while threads continue to count, so they may be slightly
/// inconsistent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transactions that committed.
    pub commits: u64,
    /// Attempts that aborted for [`Cause::Locked`].
    pub locked: u64,
    /// Attempts that aborted for [`Cause::Changed`].
    pub changed: u64,
    /// Attempts that aborted for [`Cause::Token`].
    pub token: u64,
    /// Attempts that aborted for [`Cause::Body`].
    pub body: u64,
    /// Times that a transaction waited for a change, with `retry`.
    pub retries: u64,
    /// Transactions that committed while they held the token.
    pub irrevocable: u64,
    /// Entries in the read sets of committed transactions, in total.
    pub reads: u64,
    /// Entries in the write sets of committed transactions, in total.
    pub writes: u64,
}

impl Counters {
    /// Aborted attempts, for any cause.
    pub fn aborts(&self) -> u64 {
        self.locked + self.changed + self.token + self.body
    }

    fn add(&mut self, own: &Own) {
        self.commits += own.commits.get();
        self.locked += own.locked.get();
        self.changed += own.changed.get();
        self.token += own.token.get();
        self.body += own.body.get();
        self.retries += own.retries.get();
        self.irrevocable += own.irrevocable.get();
        self.reads += own.reads.get();
        self.writes += own.writes.get();
    }
}

/// The counters of one thread at one site.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) commits: Counter,
    pub(crate) reads: Counter,
    pub(crate) writes: Counter,
    pub(crate) irrevocable: Counter,
    pub(crate) retries: Counter,
    locked: Counter,
    changed: Counter,
    token: Counter,
    body: Counter,
}

impl Own {
    #[cold]
    pub(crate) fn aborted(&self, cause: Cause) {
        let counter = match cause {
            Cause::Locked => &self.locked,
            Cause::Changed => &self.changed,
            Cause::Token => &self.token,
            Cause::Body => &self.body,
        };
        counter.add(1);
    }
}

/// File, line and column: the same place may have several addresses.
type Key = (&'static str, u32, u32);

pub(crate) fn key(site: Site) -> Key {
    (site.file(), site.line(), site.column())
}

/// The counters of every thread at one site: of running threads, and the sum of ended ones.
#[derive(Debug, Default)]
struct All {
    running: Vec<Arc<Own>>,
    ended: Counters,
}

impl All {
    fn sum(&self) -> Counters {
        let mut sum = self.ended;
        self.running.iter().for_each(|own| sum.add(own));
        sum
    }
}

/// All sites.
#[derive(Debug)]
pub(crate) struct Sites(BTreeMap<Key, (Site, All)>);

impl Sites {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds the counters of a further thread at `site`.
    pub(crate) fn enter(&mut self, site: Site) -> Arc<Own> {
        let own = Arc::new(Own::default());
        let (_, all) = self.0.entry(key(site)).or_insert_with(|| (site, All::default()));
        all.running.push(Arc::clone(&own));
        own
    }

    /// Adds the counters of a thread that ends to the sum.
    pub(crate) fn leave(&mut self, site: Site, own: &Arc<Own>) {
        if let Some((_, all)) = self.0.get_mut(&key(site)) {
            all.ended.add(own);
            all.running.retain(|other| !Arc::ptr_eq(other, own));
        }
    }

    pub(crate) fn counters(&self, site: Site) -> Counters {
        self.0.get(&key(site)).map(|(_, all)| all.sum()).unwrap_or_default()
    }

    pub(crate) fn all(&self) -> Vec<(Site, Counters)> {
        self.0.values().map(|(site, all)| (*site, all.sum())).collect()
    }
}
