//! Empty loops on Sinew, each called from outside its pool, or all from inside.

use super::{Each, drive};
use crate::problem::Form;
use crate::runtimes::sinew::{self, ParIter, Pool, over};

pub(super) fn forms() -> [Form; 2] {
    [
        sinew::form("sinew", |pool, case| drive(case, &mut Outside(pool))),
        sinew::form("sinew inside", |pool, case| pool.run(|_| drive(case, &mut Inside))),
    ]
}

struct Outside<'p>(&'p Pool);

impl Each for Outside<'_> {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        self.0.run(|_| Inside.each(length, body));
    }
}

struct Inside;

impl Each for Inside {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        over(0..length).for_each(body);
    }
}
