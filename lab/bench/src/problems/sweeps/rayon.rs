//! Sweeps on rayon, all of them from inside its pool.

use super::{Sweep, WIDTH};
use crate::problem::Form;
use crate::runtimes::rayon;
use ::rayon::prelude::*;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| {
        pool.install(|| {
            Sweep::drive(case, |sweep, data| {
                data.par_chunks_mut(WIDTH)
                    .enumerate()
                    .for_each(|(number, row)| sweep.row(number, row));
            })
        })
    })
}
