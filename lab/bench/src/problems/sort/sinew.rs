//! Sorting on Sinew.

use super::sorted;
use crate::problem::Form;
use crate::runtimes::sinew::{self, ParallelSliceMut};

pub(super) fn form() -> Form {
    sinew::form("sinew", |pool, case| {
        sorted(case, |items, is_stable| {
            pool.run(|_| {
                if is_stable {
                    items.par_sort_by_key(|item| item.key);
                } else {
                    items.par_sort_unstable_by_key(|item| item.key);
                }
            });
        })
    })
}
