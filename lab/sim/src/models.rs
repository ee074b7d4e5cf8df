//! The constants of the models of machines, and their sources.

/// Number of tasks near their data that the memory of a domain serves at full speed. M. Wittmann
/// and G. Hager (2009) chose "the number of threads per socket so that the local memory bus could
/// be saturated, which happens to be the case for two threads on both platforms".
pub const READERS: f64 = 2.0;

/// How many times as long a task takes alone if its data lie in another domain. Fitted to one entry
/// of Table 1 there, plain tasks in the order jki over blocks placed in turn: 412.7 of the 598.2
/// million updates a second of the fastest entry, where all tasks are near.
pub const FAR: f64 = 1.2;

/// Million lattice site updates a second of one worker of that machine near its data: a quarter of
/// the fastest entry of Table 1, 598.2, is one memory's, which [`READERS`] workers share.
pub const MLUPS: f64 = 598.2 / 4.0 / READERS;

/// Number of victims whose lines and pages a thief keeps in its caches. K.-F. Faxén and J. Ardelius
/// (2011): each core of their TILEPro64 has "16 data TLB entries", and a worker's stack is on a page
/// of its own.
pub const TRIED: usize = 16;
