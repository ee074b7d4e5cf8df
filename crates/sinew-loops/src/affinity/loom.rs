//! Every interleaving of two threads that are placed by a control whose mapping changes (loom), and
//! planted bugs that the models catch.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sinew-loops --release loom_`

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;

use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::plant::Bug;
use sinew_topology::Mapping;

use super::{LoopPin, PinGuard, Pinned, Pinning};
use crate::control::Control;
use crate::planted::Planted;

const PLACES: usize = 2;

/// A mapping that is not checked with the system.
fn pinning(mapping: Mapping) -> Arc<Pinning> {
    Arc::new(Pinning { mapping, cpus: Vec::new() })
}

/// At which places the threads of a model are.
struct Houses([AtomicBool; PLACES]);

/// A thread of a model, which moves from place to place.
struct ModelThread {
    houses: Arc<Houses>,
    pins: RefCell<Vec<LoopPin>>,
    at: Cell<Option<usize>>,
}

impl ModelThread {
    fn new(houses: &Arc<Houses>) -> Self {
        Self { houses: Arc::clone(houses), pins: RefCell::default(), at: Cell::new(None) }
    }

    /// A participant that is in a loop within the loop for a while, and may change the mapping.
    fn take_part(&self, control: &Control, change: Option<Mapping>) {
        let mut pin = PinGuard::new(self, control.places(), 1);
        self.look(control, &mut pin);
        let before = self.at.get();
        self.look(control, &mut PinGuard::new(self, control.places(), 0));
        assert_eq!(self.at.get(), before, "a thread that does not come back to its place");
        if let Some(mapping) = change {
            control.set_pinning(Some(pinning(mapping)));
        }
        self.look(control, &mut pin);
    }

    /// A look at the requests, between two slices of work.
    fn look(&self, control: &Control, pin: &mut PinGuard<'_, Self>) {
        let Some(pinning) = control.requests().1.pinning else { return };
        pin.follow(Some(&pinning));
        let pins = self.pins.borrow();
        let innermost = pins.last().expect("a thread that lodges somewhere");
        assert!(Arc::ptr_eq(&innermost.pinning, &pinning), "a mapping that is not followed");
        assert_eq!(self.at.get(), Some(innermost.place));
    }
}

impl Pinned for ModelThread {
    fn pins(&self) -> RefMut<'_, Vec<LoopPin>> {
        self.pins.borrow_mut()
    }

    fn settle(&self) {
        let place = self.pins.borrow().last().map(|pin| pin.place);
        if place == self.at.get() {
            return;
        }
        if let Some(left) = self.at.replace(place) {
            self.houses.0[left].store(false, Ordering::Relaxed);
        }
        if let Some(place) = place {
            let is_taken = self.houses.0[place].swap(true, Ordering::Relaxed);
            assert!(!is_taken, "two threads at place {place}");
        }
    }

    fn can_be_pinned(&self) -> bool {
        true
    }
}

/// Two participants of one rank, as when one leaves and another is recruited at once; one of them
/// changes the mapping.
fn two_of_one_rank(first: Option<Mapping>) {
    loom::model(move || {
        let (control, houses) =
            (Control::new(), Arc::new(Houses([(); PLACES].map(|()| AtomicBool::new(false)))));
        if let Some(mapping) = &first {
            control.set_pinning(Some(pinning(mapping.clone())));
        }
        let other = {
            let (control, thread) = (control.clone(), ModelThread::new(&houses));
            loom::thread::spawn(move || thread.take_part(&control, None))
        };
        ModelThread::new(&houses).take_part(&control, Some(Mapping::Scatter));
        other.join().unwrap();
        assert!(control.places().all_free(), "a place that nobody gave back");
    });
}

/// Catches: a place that two threads have at once, also when one comes while the other leaves,
/// one that is lost, and a mapping that is not followed.
#[test]
fn loom_a_place_is_one_threads_at_a_time() {
    two_of_one_rank(Some(Mapping::Compact));
}

/// Catches: the same where threads are placed for the first time in mid-run, by the inner or the
/// outer loop.
#[test]
fn loom_a_first_mapping_places_threads_in_mid_run() {
    two_of_one_rank(None);
}

fn caught(bug: Bug) {
    let _planted = Planted::new(bug);
    two_of_one_rank(Some(Mapping::Compact));
}

/// Catches: a model in which no other thread looks for a place at the same time.
#[test]
#[should_panic(expected = "two threads at place")]
fn loom_a_place_looked_for_and_taken_apart_is_caught() {
    caught(Bug::TornCpuChoice);
}

/// Catches: a model in which no thread comes while another leaves.
#[test]
#[should_panic(expected = "two threads at place")]
fn loom_a_place_given_back_early_is_caught() {
    caught(Bug::EarlyCpuRelease);
}

/// Catches: a model without loops within loops.
#[test]
#[should_panic(expected = "two threads at place")]
fn loom_a_place_given_back_by_the_inner_loop_is_caught() {
    caught(Bug::InnerCpuRelease);
}
