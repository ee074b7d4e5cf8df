//! Sorting without a runtime: the standard library's.

use super::sorted;
use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    sorted(case, |items, is_stable| {
        if is_stable {
            items.sort_by_key(|item| item.key);
        } else {
            items.sort_unstable_by_key(|item| item.key);
        }
    })
}
