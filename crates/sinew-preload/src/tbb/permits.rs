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

/// What a client reads of a permit.
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

    /// What a client reads of a permit; `None` if it is unknown.
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
