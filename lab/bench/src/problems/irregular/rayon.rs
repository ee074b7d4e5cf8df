//! An irregular loop on rayon.

use super::Load;
use crate::problem::Form;
use crate::runtimes::rayon;
use ::rayon::prelude::*;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| {
        let load = Load::of(case);
        let run = |i| load.run(i);
        pool.install(|| (0..load.length).into_par_iter().map(run).reduce(|| 0, u64::wrapping_add))
    })
}
