//! The table that all programs of a user share, as a source of shares.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sinew_coord::{Error, Member, Offer, Table};

use crate::share_source::{Crowd, Grant, Job, Listener, ShareSource};

/// A row for a command.
#[derive(Debug)]
struct Row {
    /// `None` after the membership has ended.
    member: Mutex<Option<Member>>,
}

/// Gives `job` a row in the table that this user's programs share.
///
/// # Errors
///
/// One line: no table can be opened, or it is full.
pub fn join_table(job: &Job) -> Result<Arc<dyn ShareSource>, String> {
    let row = join(job).map_err(|error| error.to_string())?;
    Ok(Arc::new(row))
}

fn join(job: &Job) -> Result<Row, Error> {
    let table = Table::open_default()?;
    let offer =
        Offer::on(&job.name, job.cpus.clone(), count(job.threads)).weight(job.share_request.weight);
    // A command that stays on all its cores requests all of them, so that other programs can keep
    // away.
    let min = if job.follows { job.share_request.min } else { job.threads };
    let offer = offer.min(count(min)).on_behalf_of(job.program);
    Ok(Row { member: Mutex::new(Some(Member::join(&table, offer)?)) })
}

fn count(threads: usize) -> u32 {
    u32::try_from(threads).unwrap_or(u32::MAX)
}

impl Row {
    fn member(&self) -> MutexGuard<'_, Option<Member>> {
        self.member.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShareSource for Row {
    fn on_change(&self, listener: Listener) -> io::Result<()> {
        if let Some(member) = &*self.member() {
            member.on_change(move |share| {
                listener(Grant { cpus: share.cores.clone(), threads: share.threads as usize });
            });
        }
        Ok(())
    }

    fn neighbours(&self) -> usize {
        self.member().as_ref().map_or(0, |member| member.share().neighbours)
    }

    fn crowd(&self) -> Option<Crowd> {
        let member = self.member();
        let member = member.as_ref()?;
        let own = member.share();
        let rows = member.table().read();
        let mut crowd = rows.iter().filter(|row| {
            let has_the_same = row.grant.threads == own.threads && row.grant.cores == own.cores;
            has_the_same && row.demand > 0 && !row.stopped
        });
        let is_crowded = own.threads == 1 && own.cores.len() > 1;
        let count = crowd.clone().count();
        let index = crowd.position(|row| row.program == member.program())?;
        is_crowded.then_some(Crowd { index, count })
    }

    fn set_demand(&self, threads: usize) {
        if let Some(member) = &*self.member() {
            member.set_demand(count(threads));
        }
    }

    fn leave(&self) {
        self.member().take();
    }
}
