//! The permits of one process and who has to be called because of them. No clock, no lock and no
//! call happens here, so a test can run any sequence of requests.
//!
//! # States of a permit
//!
//! | state | its claim | entered by |
//! |---|---|---|
//! | inactive | nothing | a request that says so, `deactivate` |
//! | idle | its minimum | `idle` |
//! | active | as requested | any other request, `activate` |
//!
//! # Invariants
//!
//! - P1: after each change, all grants are those of [`divide`].
//! - P2: a permit whose grant has changed for another reason than its own request is *due*, until
//!   its client's function begins to run. So the last call for a permit begins after its last
//!   change.
//! - P3: a client's function runs for one permit on one thread at a time.
//! - P4: a number stands for one client or permit, ever. A released permit's number is unknown.

use alloc::vec::Vec;
use core::ffi::c_void;

use super::division::{Claim, divide};

/// The number of a client or a permit; never 0.
pub type Number = u64;
/// A thread; 0: none.
pub type Thread = usize;

/// The function that a client is called by.
pub type Callback = extern "C" fn(Number, *mut c_void, u32) -> i32;

/// The state of a permit, as the interface numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Its client has no work.
    Inactive = 1,
    /// Its client pauses, and keeps its minimum.
    Idle = 3,
    /// Its client works.
    Active = 4,
}

/// The workers that a permit is requested for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// At least.
    pub min: u32,
    /// At most; at least `min`.
    pub max: u32,
    /// Higher ones come first.
    pub priority: i32,
}

/// The state of a permit, as its client reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Workers that it may have.
    pub grant: u32,
    /// Its state.
    pub state: State,
    /// The client's function is about to be called for it.
    pub is_due: bool,
}

/// A client's function, to be called.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The permit that it is about.
    pub permit: Number,
    /// The function.
    pub callback: Callback,
    /// Its argument.
    pub argument: usize,
}

#[derive(Debug)]
struct Permit {
    number: Number,
    client: Number,
    argument: usize,
    state: State,
    wanted: Wanted,
    claim: Claim,
    /// The grant before the last division.
    grant_before: u32,
    /// P2.
    is_due: bool,
    /// The thread that its client's function runs on.
    runs_on: Thread,
}

impl AsMut<Claim> for Permit {
    fn as_mut(&mut self) -> &mut Claim {
        &mut self.claim
    }
}

/// All clients and permits of a process.
#[derive(Debug, Default)]
pub struct Permits {
    clients: Vec<(Number, Callback)>,
    permits: Vec<Permit>,
}

impl Permits {
    /// No client, no permit.
    pub const fn new() -> Self {
        Self { clients: Vec::new(), permits: Vec::new() }
    }

    /// Adds a client of this number. Returns whether there was memory for it.
    pub fn connect(&mut self, client: Number, callback: Callback) -> bool {
        let has_room = self.clients.try_reserve(1).is_ok();
        if has_room {
            self.clients.push((client, callback));
        }
        has_room
    }

    /// Removes a client and its permits, or a permit. Returns whether the number was known.
    pub fn remove(&mut self, number: Number, workers: u32) -> bool {
        let before = self.clients.len() + self.permits.len();
        self.clients.retain(|client| client.0 != number);
        self.permits.retain(|permit| permit.client != number && permit.number != number);
        self.divide_for(None, workers);
        self.clients.len() + self.permits.len() != before
    }

    /// Whether a client of this number is connected.
    pub fn knows_client(&self, client: Number) -> bool {
        self.clients.iter().any(|known| known.0 == client)
    }

    /// Adds a permit of this number. Returns whether its client is known and there was memory.
    pub fn add(&mut self, permit: Number, client: Number) -> bool {
        if !self.knows_client(client) || self.permits.try_reserve(1).is_err() {
            return false;
        }
        self.permits.push(Permit {
            number: permit,
            client,
            argument: 0,
            state: State::Inactive,
            wanted: Wanted::default(),
            claim: Claim::default(),
            grant_before: 0,
            is_due: false,
            runs_on: 0,
        });
        true
    }

    /// Sets what a permit is requested for. Returns whether it belongs to this client.
    pub fn request(
        &mut self,
        (client, permit): (Number, Number),
        wanted: Wanted,
        argument: usize,
        state: State,
        workers: u32,
    ) -> bool {
        let Some(known) = self.find(permit).filter(|known| known.client == client) else {
            return false;
        };
        (known.wanted, known.argument) = (wanted, argument);
        self.set_state(permit, state, workers)
    }

    /// Sets a permit's state. Returns whether the permit is known.
    pub fn set_state(&mut self, permit: Number, state: State, workers: u32) -> bool {
        let Some(known) = self.find(permit) else { return false };
        let Wanted { min, max, priority } = known.wanted;
        let (min, max) = match state {
            State::Inactive => (0, 0),
            State::Idle => (min, min),
            State::Active => (min, max),
        };
        known.state = state;
        known.claim = Claim { min, max, priority, ..known.claim };
        self.divide_for(Some(permit), workers);
        true
    }

    /// Divides again, because the number of workers may have changed.
    pub fn divide(&mut self, workers: u32) {
        self.divide_for(None, workers);
    }

    /// The state of a permit, as its client reads it; `None` if it is unknown.
    pub fn data(&self, permit: Number) -> Option<Data> {
        let known = self.permits.iter().find(|known| known.number == permit)?;
        Some(Data { grant: known.claim.grant, state: known.state, is_due: known.is_due })
    }

    /// The next call that is due, if there is one. It counts as running on `thread` until
    /// [`call_ended`](Self::call_ended).
    pub fn next_call(&mut self, thread: Thread) -> Option<Call> {
        let permit = self.permits.iter_mut().find(|permit| permit.is_due && permit.runs_on == 0)?;
        let callback = self.clients.iter().find(|client| client.0 == permit.client)?.1;
        (permit.is_due, permit.runs_on) = (false, thread);
        Some(Call { permit: permit.number, callback, argument: permit.argument })
    }

    /// The call for this permit has ended. The permit may be gone.
    pub fn call_ended(&mut self, permit: Number) {
        if let Some(permit) = self.find(permit) {
            permit.runs_on = 0;
        }
    }

    /// Whether a client's function runs on another thread than `thread` for a permit of this
    /// number, or of a client of this number.
    pub fn runs_elsewhere(&self, number: Number, thread: Thread) -> bool {
        let is_of = |permit: &&Permit| permit.number == number || permit.client == number;
        let runs = |permit: &Permit| permit.runs_on != 0 && permit.runs_on != thread;
        self.permits.iter().filter(is_of).any(runs)
    }

    fn find(&mut self, permit: Number) -> Option<&mut Permit> {
        self.permits.iter_mut().find(|known| known.number == permit)
    }

    /// P1 and P2. The permit `own` has changed by its own request: its client reads it at once.
    fn divide_for(&mut self, own: Option<Number>, workers: u32) {
        for permit in &mut self.permits {
            permit.grant_before = permit.claim.grant;
        }
        divide(&mut self.permits, workers);
        for permit in &mut self.permits {
            let has_changed = permit.claim.grant != permit.grant_before;
            permit.is_due = (permit.is_due || has_changed) && own != Some(permit.number);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: threads, which the tests of `interface` have.
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    extern "C" fn callback(_: Number, _: *mut c_void, _: u32) -> i32 {
        0
    }

    const CLIENTS: [Number; 2] = [1, 2];

    /// Two clients without permits.
    fn two_clients() -> Permits {
        let mut permits = Permits::new();
        assert!(CLIENTS.iter().all(|client| permits.connect(*client, callback)));
        permits
    }

    /// A new permit that is requested for up to `max` workers.
    fn requested(permits: &mut Permits, permit: Number, max: u32, workers: u32) {
        let wanted = Wanted { min: 0, max, priority: 0 };
        assert!(permits.add(permit, CLIENTS[0]));
        assert!(permits.request((CLIENTS[0], permit), wanted, 7, State::Active, workers));
    }

    fn grant(permits: &Permits, permit: Number) -> u32 {
        permits.data(permit).expect("a permit").grant
    }

    /// Catches: a requester that is called for its own request, and others that are not called.
    #[test]
    fn who_has_not_asked_is_called_and_who_has_asked_is_not() {
        let mut permits = two_clients();
        requested(&mut permits, 10, 4, 4);
        assert!(grant(&permits, 10) == 4 && permits.next_call(99).is_none());
        requested(&mut permits, 11, 4, 4);
        assert_eq!((grant(&permits, 10), grant(&permits, 11)), (2, 2));
        assert!(permits.data(10).unwrap().is_due && !permits.data(11).unwrap().is_due);
        let call = permits.next_call(99).expect("a call");
        assert_eq!((call.permit, call.argument), (10, 7));
        assert!(!permits.data(10).unwrap().is_due && permits.next_call(99).is_none());
    }

    /// Catches: a change that is lost because the client's function runs already, and a function
    /// that runs twice at a time.
    #[test]
    fn a_change_during_a_call_is_followed_by_another_call() {
        let mut permits = two_clients();
        requested(&mut permits, 10, 4, 4);
        permits.divide(3);
        assert_eq!(permits.next_call(99).map(|call| call.permit), Some(10));
        permits.divide(2);
        assert!(permits.next_call(98).is_none() && permits.runs_elsewhere(10, 98));
        assert!(permits.runs_elsewhere(CLIENTS[0], 98) && !permits.runs_elsewhere(10, 99));
        permits.call_ended(10);
        assert_eq!(permits.next_call(98).map(|call| call.permit), Some(10));
    }

    /// Catches: workers that stay with a permit that has no work.
    #[test]
    fn an_idle_permit_keeps_its_minimum_and_an_inactive_one_nothing() {
        let mut permits = two_clients();
        requested(&mut permits, 10, 4, 4);
        let wanted = Wanted { min: 1, max: 4, priority: 0 };
        assert!(permits.request((CLIENTS[0], 10), wanted, 7, State::Active, 4));
        for (state, expected) in [(State::Idle, 1), (State::Inactive, 0), (State::Active, 4)] {
            assert!(permits.set_state(10, state, 4));
            let data = permits.data(10).unwrap();
            assert_eq!((data.grant, data.state), (expected, state));
        }
        assert!(permits.set_state(10, State::Active, 0) && grant(&permits, 10) == 1);
    }

    /// Catches: a client that changes another client's permit, and numbers that stand for nothing.
    #[test]
    fn unknown_numbers_and_other_clients_permits_are_refused() {
        let mut permits = two_clients();
        requested(&mut permits, 10, 4, 4);
        let wanted = Wanted { min: 0, max: 1, priority: 0 };
        assert!(!permits.request((CLIENTS[1], 10), wanted, 0, State::Active, 4));
        assert!(!permits.request((CLIENTS[0], 11), wanted, 0, State::Active, 4));
        assert!(!permits.add(12, 3) && !permits.set_state(12, State::Idle, 4));
        assert!(!permits.remove(12, 4) && permits.data(12).is_none());
        assert_eq!(grant(&permits, 10), 4);
        assert!(permits.remove(CLIENTS[0], 4) && permits.data(10).is_none());
    }

    #[derive(Debug, Clone)]
    enum Step {
        Add(usize),
        Request(usize, u32, u32, i32),
        Set(usize, State),
        Remove(usize),
        Workers(u32),
        Begin(Thread),
        End(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let state = prop_oneof![Just(State::Inactive), Just(State::Idle), Just(State::Active)];
        prop_oneof![
            (0..2_usize).prop_map(Step::Add),
            (0..8_usize, 0..3_u32, 0..6_u32, 0..3_i32).prop_map(|(permit, min, more, priority)| {
                Step::Request(permit, min, min + more, priority)
            }),
            (0..8_usize, state).prop_map(|(permit, state)| Step::Set(permit, state)),
            (0..8_usize).prop_map(Step::Remove),
            (0..12_u32).prop_map(Step::Workers),
            (1..4_usize).prop_map(Step::Begin),
            (0..3_usize).prop_map(Step::End),
        ]
    }

    /// The knowledge of clients.
    #[derive(Default)]
    struct Model {
        /// By permit, its client and the grant that the client has read last.
        told: HashMap<Number, (Number, u32)>,
        running: Vec<Number>,
        workers: u32,
    }

    impl Model {
        /// A permit that exists, or a number that stands for none.
        fn pick(&self, index: usize) -> Number {
            let mut all: Vec<Number> = self.told.keys().copied().collect();
            all.sort_unstable();
            all.get(index).copied().unwrap_or(1000)
        }

        /// The client of `permit` reads it.
        fn read(&mut self, permits: &Permits, permit: Number) {
            if let Some(told) = self.told.get_mut(&permit) {
                told.1 = grant(permits, permit);
            }
        }

        fn perform(&mut self, permits: &mut Permits, step: &Step, next: Number) {
            match *step {
                Step::Add(client) => {
                    assert!(permits.add(next, CLIENTS[client]));
                    self.told.insert(next, (CLIENTS[client], 0));
                }
                Step::Request(index, min, max, priority) => {
                    let permit = self.pick(index);
                    let client = self.told.get(&permit).map_or(1, |told| told.0);
                    let wanted = Wanted { min, max, priority };
                    let is_known =
                        permits.request((client, permit), wanted, 0, State::Active, self.workers);
                    assert_eq!(is_known, self.told.contains_key(&permit));
                    self.read(permits, permit);
                }
                Step::Set(index, state) => {
                    let permit = self.pick(index);
                    permits.set_state(permit, state, self.workers);
                    self.read(permits, permit);
                }
                Step::Remove(index) => {
                    let permit = self.pick(index);
                    permits.remove(permit, self.workers);
                    self.told.remove(&permit);
                }
                Step::Workers(workers) => {
                    self.workers = workers;
                    permits.divide(workers);
                }
                Step::Begin(thread) => self.begin(permits, thread),
                Step::End(index) if index < self.running.len() => {
                    permits.call_ended(self.running.swap_remove(index));
                }
                Step::End(_) => {}
            }
        }

        /// Begins a call that is due.
        fn begin(&mut self, permits: &mut Permits, thread: Thread) {
            let Some(call) = permits.next_call(thread) else { return };
            assert!(!self.running.contains(&call.permit), "P3");
            self.running.push(call.permit);
            self.read(permits, call.permit);
        }

        /// P1, and P2 for permits that are not due.
        fn check(&self, permits: &Permits) {
            let mut claims: Vec<Claim> =
                permits.permits.iter().map(|permit| permit.claim).collect();
            divide(&mut claims, self.workers);
            assert!(claims.iter().zip(&permits.permits).all(|(new, old)| *new == old.claim));
            for (permit, (_, told)) in &self.told {
                let data = permits.data(*permit).expect("a permit");
                assert!(data.is_due || data.grant == *told, "{permit}: {data:?}, told {told}");
            }
        }
    }

    proptest! {
        /// Catches: a client that is left with an old number of workers after any sequence of
        /// requests, changes of the share, and calls that overlap.
        #[test]
        fn whatever_happens_clients_know_their_grants_in_the_end(
            steps in proptest::collection::vec(step(), 0..60),
        ) {
            let (mut permits, mut model) = (two_clients(), Model::default());
            for (next, step) in (10..).zip(&steps) {
                model.perform(&mut permits, step, next);
                model.check(&permits);
            }
            while !model.running.is_empty() {
                model.perform(&mut permits, &Step::End(0), 0);
            }
            loop {
                model.begin(&mut permits, 1);
                let Some(permit) = model.running.pop() else { break };
                permits.call_ended(permit);
            }
            let told = |permit: &Number| model.told[permit].1;
            prop_assert!(model.told.keys().all(|permit| grant(&permits, *permit) == told(permit)));
        }
    }
}
