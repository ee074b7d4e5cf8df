//! loom models of the ring: an owner that runs, changes and takes items, and a reader.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use sinew_sync::plant::{Bug, plant};

use super::{Lookahead, Owner, Reader};

/// A step of the owner, with the current item unless it says otherwise.
#[derive(Clone, Copy)]
enum Step {
    /// Puts the next item in, if there is room.
    Push,
    Done,
    Change,
    Take,
}
use Step::{Change, Done, Push, Take};

/// Reads the next item, if there is one: it is the one that was put in at its position.
fn read(reader: &mut Reader<'_, u64>) {
    if let Some(ahead) = reader.claim_next() {
        let first = *ahead;
        let _ = ahead.is_overtaken();
        assert_eq!(*ahead, first, "an item was changed while it was read");
    }
}

fn follow(owner: &mut Owner<'_, u64>, script: &[Step]) {
    let mut number = 0;
    for step in script {
        match step {
            Push if owner.has_room() => {
                owner.push(number);
                number += 1;
            }
            Push => {}
            Done => owner.done(1),
            Change => {
                if let Some(mut first) = owner.first_mut() {
                    *first += 100;
                }
            }
            Take => assert!(owner.take().is_some()),
        }
    }
}

fn check(script: &'static [Step], reads: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let ring = Arc::new(Lookahead::new());
        let theirs = Arc::clone(&ring);
        let reader = loom::thread::spawn(move || {
            let mut reader = theirs.reader().unwrap();
            (0..reads).for_each(|_| read(&mut reader));
        });
        let mut owner = ring.owner().unwrap();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| follow(&mut owner, script))) {
            // Its drop would panic as well.
            std::mem::forget(owner);
            resume_unwind(payload);
        }
        drop(owner);
        reader.join().unwrap();
    });
}

/// Catches: an item that is dropped and replaced while the reader has it.
#[test]
fn loom_an_item_stays_while_it_is_read() {
    check(&[Push, Push, Done, Done, Push, Push], 1);
    check(&[Push, Push, Done, Push, Done], 2);
}

/// Catches: an item that is changed or taken while the reader has it.
#[test]
fn loom_the_owner_has_the_current_item_alone_to_change_and_take_it() {
    check(&[Push, Push, Done, Change], 1);
    check(&[Push, Push, Done, Take], 1);
}

/// Catches: an item in the cell of one that the reader still has, and a position without an item
/// that the reader reads.
#[test]
fn loom_a_cell_that_is_left_out_is_not_read() {
    check_left_out();
}

/// The reader may keep the item at position 1, so that position 3 is left out.
fn check_left_out() {
    check(&[Push, Push, Done, Done, Push, Done, Push, Push], 2);
}

#[test]
#[should_panic]
fn loom_finds_a_reader_without_its_fence() {
    plant(&[Bug::NoClaimFence]);
    check(&[Push, Push, Done, Done, Push, Push], 1);
}

#[test]
#[should_panic]
fn loom_finds_an_owner_that_does_not_look_at_the_claim() {
    plant(&[Bug::BlindReuse]);
    check(&[Push, Push, Done, Done, Push, Push], 1);
}

#[test]
#[should_panic]
fn loom_finds_a_claim_that_ends_with_a_relaxed_store() {
    plant(&[Bug::RelaxedClaim]);
    check(&[Push, Push, Done, Done, Push, Push], 1);
}

#[test]
#[should_panic]
fn loom_finds_an_owner_that_forgets_what_it_keeps() {
    plant(&[Bug::ForgottenKeep]);
    check_left_out();
}
