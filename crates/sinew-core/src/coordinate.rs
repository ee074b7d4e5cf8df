//! The builder's methods for a pool that shares the machine with other programs. With the feature
//! `coordinate`.

use std::path::PathBuf;

use crate::builder::PoolBuilder;

impl PoolBuilder {
    /// Whether the pool shares the machine cooperatively with other programs that do. Default: no.
    /// Such a pool has a row in the table of this user's programs (see the crate `sinew-coord`). It
    /// runs no more workers than it is granted cores, and keeps its threads on those cores.
    ///
    /// A coordinator may also grant a schedule. Loops over items follow it if they name none or
    /// [`Schedule::Auto`](sinew_policy::chunk::Schedule::Auto), or if they are under a control that
    /// names none.
    ///
    /// The program's own settings win. A pool with [a schedule of its
    /// own](crate::PoolControl::set_schedule) is granted none. A pool whose
    /// [`mapping`](Self::mapping) is a list of processors is granted cores of that list only.
    ///
    /// The pool joins the table in the background. Without another program it runs as if it did
    /// not share. A program that cannot share prints one line. Only on Linux.
    ///
    /// Several pools of one process share like several programs: each has a row of its own. The
    /// pools get equal parts of the cores, by weight, and none keeps more cores than it has work
    /// for. A coordinator can choose shares in proportion to demand instead
    /// (`sinew coordinator --policy proportional`). Other pools, and all pools on other systems, do
    /// not share: each runs all its threads, and the kernel divides the cores among them.
    ///
    /// Under `sinew exec` the command's row stands for its pools. They have no rows: they follow
    /// the command's share, with its weight and its least number of cores, and
    /// [`Pool::share`](crate::Pool::share) is `None`. They take another share within a tenth of a
    /// second, and [`Pool::lend`](crate::Pool::lend) has no effect, since `sinew exec` measures
    /// what the command uses. Several such pools of one command run on the same cores. A pool that
    /// outlives its command gets a row. So has a pool of a command whose threads `sinew exec`
    /// leaves alone, such as a rank of MPI.
    ///
    /// # Cost
    ///
    /// Three threads that sleep. While other programs share, one of them reads the pool's counters
    /// every 10 ms as long as the pool has work.
    pub fn coordinate(mut self, coordinate: bool) -> Self {
        self.share.coordinate = coordinate;
        self
    }

    /// As [`coordinate`](Self::coordinate), with the table in `folder` instead of the one of this
    /// user: for experiments and tests. The folder is created if it does not exist. Programs on
    /// different machines, such as described ones, must not share a table.
    pub fn coordinate_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.share.coordinate = true;
        self.share.folder = Some(folder.into());
        self
    }

    /// The program's weight among the programs that [share](Self::coordinate) the machine, from
    /// 0.01 to 100. Default: 1. If two programs have work for all cores, the one of weight 2 gets
    /// twice as many cores as the one of weight 1. `sinew top` changes the weight while the program
    /// runs.
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

    /// The smallest number of cores that the pool is granted where it [shares](Self::coordinate)
    /// the machine, if there are enough cores for the minimum of every program. Default: 1; at most
    /// the number of [`threads`](Self::threads), which is also its largest grant.
    pub fn min_threads(mut self, threads: usize) -> Self {
        self.share.min_threads = threads;
        self
    }
}
