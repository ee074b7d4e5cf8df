//! Empty loops on rayon, each called from outside its pool, or all from inside.

use super::{Each, drive};
use crate::problem::Form;
use crate::runtimes::rayon::{self, ThreadPool};
use ::rayon::prelude::*;

pub(super) fn forms() -> [Form; 2] {
    [
        rayon::form("rayon", |pool, case| drive(case, &mut Outside(pool))),
        rayon::form("rayon inside", |pool, case| pool.install(|| drive(case, &mut Inside))),
    ]
}

struct Outside<'p>(&'p ThreadPool);

impl Each for Outside<'_> {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        self.0.install(|| Inside.each(length, body));
    }
}

struct Inside;

impl Each for Inside {
    fn each(&mut self, length: usize, body: impl Fn(usize) + Send + Sync) {
        (0..length).into_par_iter().for_each(body);
    }
}
