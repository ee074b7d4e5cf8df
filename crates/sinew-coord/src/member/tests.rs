//! Blind to: several processes; `tests/` checks those.
use sinew_cpus::CpuSet;
use sinew_policy::chunk::Schedule;
use sinew_policy::share::Layout;

use super::state::{MemberState, RowLocation};
use super::*;
use crate::decision::Reason;
use crate::table::Change;
use crate::table_state::TableState;
use crate::words::MAX_PROGRAMS;

/// Catches: a demand that changes between a neighbour's arrival and the listener's look, and is
/// never published; and one that is published at every look.
#[test]
fn a_demand_that_changes_before_a_neighbour_is_seen_is_told_when_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(4)).unwrap();
    let offer = || Offer::on("test", CpuSet::first(4), 4);
    let threads = || table.read().iter().map(|row| row.grant.threads).collect::<Vec<_>>();
    let told = || table.log().iter().filter(|decision| decision.reason == Reason::Demand).count();
    // It has no listener thread.
    let silent = MemberState::new(&table, offer()).unwrap();
    silent.take_row().unwrap();
    silent.follow_row();
    let other = Member::join(&table, offer()).unwrap();
    silent.set_demand(1);
    assert_eq!((threads(), told()), (vec![2, 2], 0));
    for _ in 0..3 {
        silent.follow_row();
        assert_eq!((threads(), told()), (vec![1, 3], 1));
    }
    drop(other);
    silent.leave();
}

/// Catches: a last program that wakes listeners of empty slots, and an unreadable file that is
/// abandoned without waking all listeners.
#[test]
fn only_rows_that_programs_have_are_woken_where_the_table_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(4)).unwrap();
    let offer = || Offer::on("test", CpuSet::first(4), 4);
    let members = [(); 2].map(|()| MemberState::new(&table, offer()).unwrap());
    members.iter().for_each(|member| member.take_row().unwrap());
    let mapping = table.mapping();
    let woken = || {
        let is_woken =
            |slot: &u32| live_word(&mapping, *slot, LiveWord::Futex).load(Ordering::Relaxed) > 0;
        (0..MAX_PROGRAMS as u32).filter(is_woken).count()
    };
    crate::copies::wake_all(&mapping);
    assert_eq!(woken(), 2);
    members.iter().for_each(MemberState::leave);
    assert!(!table.is_in_force());
    assert_eq!(woken(), 2, "only two slots have rows");
    // A version that no copy has.
    mapping.words()[crate::copies::VERSION_AT].fetch_add(2, Ordering::Relaxed);
    crate::copies::wake_all(&mapping);
    assert_eq!(woken(), MAX_PROGRAMS);
}

/// Catches: after a lost table, a member that takes the row of a faster member of its process for
/// its own.
#[test]
fn two_members_of_a_process_come_back_to_two_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(4)).unwrap();
    let offer = || Offer::on("test", CpuSet::first(4), 4);
    // They have no listener threads.
    let members = [(); 2].map(|()| MemberState::new(&table, offer()).unwrap());
    members.iter().for_each(|member| member.take_row().unwrap());
    crate::copies::publish(&table.mapping(), &TableState::default());
    assert!(!members[1].follow_row());
    members[1].rejoin();
    assert!(members[1].follow_row() && !members[0].follow_row(), "slot 0 is the other member's");
    members[0].rejoin();
    assert!(members.iter().all(MemberState::follow_row));
    assert_eq!(table.read().len(), 2);
    members[1].rejoin();
    assert_eq!(table.read().len(), 2, "an existing row is not added again");
    members[1].leave();
    assert!(members[0].follow_row() && !members[1].follow_row());
    members[0].leave();
}

/// Catches: a last loop that a row inherits from an earlier program, that is lost with the row, or
/// that is reported although no program writes such a word.
#[test]
fn a_row_tells_of_the_last_loop_of_its_own_program() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(4)).unwrap();
    let offer = || Offer::on("test", CpuSet::first(4), 4);
    let told = || table.read().iter().map(|row| row.last_loop).collect::<Vec<_>>();
    let last = LastLoop { schedule: Schedule::Dynamic { chunk: 7 }, named: true };
    let before = Member::join(&table, offer()).unwrap();
    before.set_last_loop(Some(last));
    assert_eq!((told(), table.read()[0].own_schedule()), (vec![Some(last)], Some(last.schedule)));
    let RowLocation { mapping, slot } = before.shared.location();
    live_word(&mapping, slot, LiveWord::LastLoop).store(11, Ordering::Relaxed);
    assert_eq!(told(), [None]);
    before.set_last_loop(Some(last));
    let (keeps, left) = (Member::join(&table, offer()).unwrap(), before);
    drop(left);
    let member = Member::join(&table, offer()).unwrap();
    assert_eq!((member.shared.location().slot, told()), (slot, vec![None, None]));
    let open = LastLoop { named: false, ..last };
    member.set_last_loop(Some(open));
    assert_eq!((told(), table.read()[0].own_schedule()), (vec![Some(open), None], None));
    // The row is lost, and its member adds it again.
    let _ = table.change(Reason::Left, |state, _| {
        state.remove(slot, member.shared.program);
        Ok(Change { subject: None, wakes_all: true })
    });
    while !told().contains(&Some(open)) {
        thread::yield_now();
    }
    drop(keeps);
}

/// Catches: a lone program that keeps less than it could use after another process has overwritten
/// the demand in its live line.
#[test]
fn a_demand_that_is_written_over_is_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(4)).unwrap();
    let offer = || Offer::on("test", CpuSet::first(4), 4);
    let silent = MemberState::new(&table, offer()).unwrap();
    silent.take_row().unwrap();
    silent.follow_row();
    let other = Member::join(&table, offer()).unwrap();
    let RowLocation { mapping, slot } = silent.location();
    live_word(&mapping, slot, LiveWord::Demand).store(1, Ordering::Relaxed);
    drop(other);
    let threads = || table.read().iter().map(|row| row.grant.threads).collect::<Vec<_>>();
    assert_eq!(threads(), [1]);
    silent.follow_row();
    assert_eq!(threads(), [4]);
    silent.leave();
}
