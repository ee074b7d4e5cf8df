//! Every interleaving of two threads under a control whose mapping changes (loom), and planted bugs
//! that the models catch.
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

/// A mapping without the check that the system has its processors.
fn pinning(mapping: Mapping) -> Arc<Pinning> {
    Arc::new(Pinning { mapping, requested_ns: 0, cpus: Vec::new() })
}

/// For each place, whether a thread of the model has it.
struct Occupied([AtomicBool; PLACES]);

/// A thread of the model.
struct ModelThread {
    occupied: Arc<Occupied>,
    pins: RefCell<Vec<LoopPin>>,
    at: Cell<Option<usize>>,
}

impl ModelThread {
    fn new(occupied: &Arc<Occupied>) -> Self {
        Self { occupied: Arc::clone(occupied), pins: RefCell::default(), at: Cell::new(None) }
    }

    /// A participant that enters and leaves a nested loop, and may change the mapping.
    fn participate(&self, control: &Control, change: Option<Mapping>) {
        let mut pin = PinGuard::new(self, control.places(), 1);
        self.poll(control, &mut pin);
        let before = self.at.get();
        self.poll(control, &mut PinGuard::new(self, control.places(), 0));
        assert_eq!(self.at.get(), before, "a thread that does not come back to its place");
        if let Some(mapping) = change {
            control.set_pinning(Some(pinning(mapping)));
        }
        self.poll(control, &mut pin);
    }

    /// Follows the requests, as a participant does between two slices.
    fn poll(&self, control: &Control, pin: &mut PinGuard<'_, Self>) {
        let Some(pinning) = control.requests().1.pinning else { return };
        pin.follow(Some(&pinning));
        let pins = self.pins.borrow();
        let innermost = pins.last().expect("a pinned thread");
        assert!(Arc::ptr_eq(&innermost.pinning, &pinning), "a mapping that is not followed");
        assert_eq!(self.at.get(), Some(innermost.place));
    }
}

impl Pinned for ModelThread {
    fn pins(&self) -> RefMut<'_, Vec<LoopPin>> {
        self.pins.borrow_mut()
    }

    fn apply_pin(&self) {
        let place = self.pins.borrow().last().map(|pin| pin.place);
        if place == self.at.get() {
            return;
        }
        if let Some(left) = self.at.replace(place) {
            self.occupied.0[left].store(false, Ordering::Relaxed);
        }
        if let Some(place) = place {
            let is_taken = self.occupied.0[place].swap(true, Ordering::Relaxed);
            assert!(!is_taken, "two threads at place {place}");
        }
    }

    fn can_be_pinned(&self) -> bool {
        true
    }
}

/// Two participants with one rank, as when one leaves while another is recruited; one of them
/// changes the mapping.
fn two_of_one_rank(first: Option<Mapping>) {
    loom::model(move || {
        let (control, occupied) =
            (Control::new(), Arc::new(Occupied([(); PLACES].map(|()| AtomicBool::new(false)))));
        if let Some(mapping) = &first {
            control.set_pinning(Some(pinning(mapping.clone())));
        }
        let other = {
            let (control, thread) = (control.clone(), ModelThread::new(&occupied));
            loom::thread::spawn(move || thread.participate(&control, None))
        };
        ModelThread::new(&occupied).participate(&control, Some(Mapping::Scatter));
        other.join().unwrap();
        assert!(control.places().all_free(), "a place that was not released");
    });
}

/// Catches: a place with two threads, also when one comes while the other leaves, a place that
/// stays taken, and a mapping that is not followed.
#[test]
fn loom_a_place_is_one_threads_at_a_time() {
    two_of_one_rank(Some(Mapping::Compact));
}

/// Catches: the same for threads that are first pinned while the loop runs, in the inner or the
/// outer loop.
#[test]
fn loom_a_first_mapping_pins_threads_of_a_running_loop() {
    two_of_one_rank(None);
}

fn caught(bug: Bug) {
    let _planted = Planted::new(bug);
    two_of_one_rank(Some(Mapping::Compact));
}

/// Catches: a model in which no two threads take a place at the same time.
#[test]
#[should_panic(expected = "two threads at place")]
fn loom_a_search_and_a_taking_that_are_not_atomic_are_caught() {
    caught(Bug::TornCpuChoice);
}

/// Catches: a model in which no thread comes while another leaves.
#[test]
#[should_panic(expected = "two threads at place")]
fn loom_a_place_released_early_is_caught() {
    caught(Bug::EarlyCpuRelease);
}

/// Catches: a model without nested loops.
#[test]
#[should_panic(expected = "two threads at place")]
fn loom_a_place_released_by_the_inner_loop_is_caught() {
    caught(Bug::InnerCpuRelease);
}
