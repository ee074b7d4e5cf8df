//! A pool of a command that `sinew exec` runs. The command has a row, and its processes are moved
//! to the cores of that row. A row of the pool would count the same program twice, so the pool has
//! none: it follows the command's share.

use std::sync::Weak;

use sinew_coord::Table;
use sinew_topology::Mapping;

use super::{AgentState, REPORT_ALONE_NS, Sharing};
use crate::state::pool_state::PoolState;

impl Sharing {
    /// Follows the share of the command that this process is a part of, as long as the command has
    /// a row. Keeps the settings that the pool's own row should have in `state`. Returns whether
    /// the pool has ended.
    ///
    /// # Blocking
    ///
    /// Until the command's row is gone, or the pool ends. Returns at once outside of a command.
    pub(super) fn follow_command(
        &self,
        table: &mut Table,
        pool: &Weak<PoolState>,
        state: &mut AgentState,
    ) -> bool {
        let mut last = None;
        while let Some(upgraded) = pool.upgrade().filter(|_| !self.is_ending()) {
            state.published = self.published(&upgraded);
            let share = table.share_of_command();
            if let Some(share) = share.as_ref().filter(|share| last.as_ref() != Some(*share)) {
                // `sinew exec` moves the threads, but none that a mapping has bound.
                upgraded.take_share(self, share, upgraded.pins.mapping() != Mapping::None);
            }
            let is_active = upgraded.is_active();
            drop(upgraded);
            match (&share, &last) {
                (None, None) => return false,
                (Some(_), _) if !is_active => self.sleep_unless_called(pool, state, || ()),
                // Without a share: `sinew exec` widens the masks now, and the pool's own row is to
                // have them as they will be.
                _ => {
                    self.agent.park_for(REPORT_ALONE_NS);
                }
            }
            last = share;
            // Another file may have replaced the table's, and the command's row is there now.
            if !table.is_in_force() {
                *table = self.table.open().unwrap_or_else(|_| table.clone());
            }
        }
        true
    }
}
