//! How a builder is told what its pool asks for among other programs. With the feature
//! `coordinate`.

use std::path::PathBuf;

use crate::builder::PoolBuilder;

impl PoolBuilder {
    /// Whether the pool shares the machine with other programs that do so, by agreement: it takes
    /// part in the table that all programs of this user share (see the crate `sinew-coord`), lets
    /// no more workers work than it is given cores, and keeps its threads on those. Default: no.
    ///
    /// A schedule that somebody asks for on the program's behalf, such as a coordinator's script,
    /// is followed by loops over items that name none or
    /// [`Schedule::Auto`](sinew_policy::chunk::Schedule::Auto), and by those under a
    /// control that names none.
    ///
    /// What the program decides itself is left to it: no schedule is granted to a pool that has
    /// [one of its own](crate::PoolControl::set_schedule), and a pool whose
    /// [`mapping`](Self::mapping) is a list of processors is given cores of that list only.
    ///
    /// It does so in the background: until it has been told of neighbours, and whenever there are
    /// none, everything is as without. A program that cannot says so in one line. Only on Linux.
    ///
    /// Several pools of one process share in the same way, as if they were programs: each that
    /// coordinates has a row of its own, and they get equal parts of the cores, by weight, of which
    /// none keeps more than it has work for. In proportion to demand only where a coordinator has
    /// chosen that rule (`sinew coordinator --policy proportional`). Pools that do not coordinate,
    /// and all on other systems, share nothing: each has all its threads, which start with it and
    /// sleep while it has no work, and the kernel divides the cores among those that run.
    ///
    /// # Cost
    ///
    /// Three threads that sleep; with neighbours, a look at the pool every 10 ms while it has work.
    pub fn coordinate(mut self, coordinate: bool) -> Self {
        self.share.coordinate = coordinate;
        self
    }

    /// The same, among the programs that share the table in `folder`, which is made if need be,
    /// instead of all programs of this user: for experiments and tests. Programs on different
    /// machines, such as described ones, must not share a table.
    pub fn coordinate_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.share.coordinate = true;
        self.share.folder = Some(folder.into());
        self
    }

    /// The program's part of the machine in proportion to others', from 0.01 to 100, where it
    /// [shares](Self::coordinate) one: of two programs with work for all cores, the one of weight 2
    /// has twice as many as the one of weight 1. Default: 1. `sinew top` changes it while the
    /// program runs.
    ///
    /// ```
    /// use sinew_core::Pool;
    ///
    /// let pool = Pool::builder().coordinate(true).weight(2.0).min_threads(2).threads(4).build()?;
    /// assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn weight(mut self, weight: f64) -> Self {
        self.share.weight = weight;
        self
    }

    /// How many threads other programs leave to the pool at least, where it
    /// [shares](Self::coordinate) the machine and there are cores enough for what all have asked
    /// for so; no more than it has. Default: 1. The most that it takes is its number of
    /// [`threads`](Self::threads).
    pub fn min_threads(mut self, threads: usize) -> Self {
        self.share.min_threads = threads;
        self
    }
}
