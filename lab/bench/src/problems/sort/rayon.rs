//! Sorting on rayon.

use super::sorted;
use crate::problem::Form;
use crate::runtimes::rayon;
use ::rayon::slice::ParallelSliceMut;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| {
        sorted(case, |items, is_stable| {
            pool.install(|| {
                if is_stable {
                    items.par_sort_by_key(|item| item.key);
                } else {
                    items.par_sort_unstable_by_key(|item| item.key);
                }
            });
        })
    })
}
