//! Panics that leave a call and are caught (W4).

use super::World;

/// The call that a panic has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeftCall {
    name: &'static str,
    number: u64,
}

/// Notes whether a panic leaves its scope.
pub(crate) struct Watch<'w> {
    world: &'w World,
    left: LeftCall,
    /// Whether the thread unwound already, so that this is a call of a destructor.
    unwound: bool,
}

impl World {
    /// Watches over messages that other ranks expect of this one.
    pub(crate) fn watch(&self, name: &'static str) -> Watch<'_> {
        let left = LeftCall { name, number: self.calls() };
        Watch { world: self, left, unwound: std::thread::panicking() }
    }

    /// Ends the job if a panic has left a call.
    pub(super) fn check_watched(&self) {
        if let Some(LeftCall { name, number }) = self.left_call.get() {
            let rank = self.rank();
            self.abort(&format!(
                "rank {rank} has caught a panic that left `{name}`, its call {number}"
            ));
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.unwound {
            self.world.left_call.set(Some(self.left));
        }
    }
}
