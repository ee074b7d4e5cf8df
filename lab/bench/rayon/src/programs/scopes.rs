//! Scopes and detached tasks by themselves.

use super::inside;
use crate::answer::mix;
use crate::work::{Scale, Work, work};
use rayon::Scope;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;

/// The expected result of `count` tasks.
fn written(count: &usize) -> Vec<u64> {
    (0..*count as u64).map(mix).collect()
}

pub(super) fn spawn(scale: Scale) -> Box<dyn Work> {
    let parallel = |count: &usize| {
        let mut places = vec![0; *count];
        rayon::scope(|scope| {
            for (index, place) in places.iter_mut().enumerate() {
                scope.spawn(move |_| *place = mix(index as u64));
            }
        });
        places
    };
    work(scale.pick(20_000, 200), written, parallel)
}

pub(super) fn fifo(scale: Scale) -> Box<dyn Work> {
    let parallel = |count: &usize| {
        let mut places = vec![0; *count];
        rayon::scope_fifo(|scope| {
            for (index, place) in places.iter_mut().enumerate() {
                scope.spawn_fifo(move |_| *place = mix(index as u64));
            }
        });
        places
    };
    work(scale.pick(20_000, 200), written, parallel)
}

pub(super) fn tree(scale: Scale) -> Box<dyn Work> {
    let serial = |depth: &u32| {
        let mut numbers = vec![0; (1 << depth) - 1];
        number(1, &mut numbers);
        numbers
    };
    let parallel = |depth: &u32| {
        let mut numbers = vec![0; (1 << depth) - 1];
        rayon::scope(|scope| grow(scope, 1, &mut numbers));
        numbers
    };
    work(scale.pick(14, 6), serial, parallel)
}

/// Numbers the vertices of a tree that is kept root first, then its left half, then its right half.
fn number(root: u64, tree: &mut [u64]) {
    let Some((first, below)) = tree.split_first_mut() else { return };
    *first = root;
    let (left, right) = below.split_at_mut(below.len() / 2);
    number(2 * root, left);
    number(2 * root + 1, right);
}

/// The same with a task for each vertex.
fn grow<'s>(scope: &Scope<'s>, root: u64, tree: &'s mut [u64]) {
    let Some((first, below)) = tree.split_first_mut() else { return };
    *first = root;
    let (left, right) = below.split_at_mut(below.len() / 2);
    scope.spawn(move |scope| grow(scope, 2 * root, left));
    scope.spawn(move |scope| grow(scope, 2 * root + 1, right));
}

pub(super) fn nested(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(12, 5),
        |depth: &u32| (1u64 << depth) - 1,
        |depth| inside(|| tasks_below(*depth)),
    )
}

/// A scope with two tasks, which do the same one level further down; returns the number of scopes.
fn tasks_below(depth: u32) -> u64 {
    if depth == 0 {
        return 0;
    }
    let (mut left, mut right) = (0, 0);
    rayon::scope(|scope| {
        scope.spawn(|_| left = tasks_below(depth - 1));
        scope.spawn(|_| right = tasks_below(depth - 1));
    });
    left + right + 1
}

pub(super) fn in_place(scale: Scale) -> Box<dyn Work> {
    let parallel = |scopes: &u64| {
        // Relaxed: the scope's end publishes what its tasks have done.
        let done = AtomicU64::new(0);
        for _ in 0..*scopes {
            rayon::in_place_scope(|scope| {
                for number in 0..8 {
                    let done = &done;
                    scope.spawn(move |_| {
                        done.fetch_add(number, Relaxed);
                    });
                }
            });
        }
        done.into_inner()
    };
    work(scale.pick(300, 5), |scopes| *scopes * 28, parallel)
}

pub(super) fn detached(scale: Scale) -> Box<dyn Work> {
    let parallel = |tasks: &u64| {
        let (sender, receiver) = mpsc::channel();
        for number in 0..*tasks {
            let sender = sender.clone();
            rayon::spawn(move || sender.send(number).expect("a receiver waits for it"));
        }
        drop(sender);
        receiver.iter().sum()
    };
    work(scale.pick(3_000, 50), |tasks| (0..*tasks).sum::<u64>(), parallel)
}
