//! The shares of the table that all programs of a user have in common.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sinew_coord::{CoreSet, Error, Member, Offer, Share, Table, Who};
use sinew_topology::CpuSet;

use crate::shares::{Grant, Job, Shares};

/// A row for a command.
#[derive(Debug)]
struct Row {
    news: Mutex<Receiver<Share>>,
    /// `None` after it has been given back.
    member: Mutex<Option<Member>>,
}

/// Gives `job` a row in the table that this user's programs share, with `weight`.
///
/// # Errors
///
/// One line: there is no table to be had, or no room in it.
pub fn join_table(job: &Job, weight: f64) -> Result<Arc<dyn Shares>, String> {
    let row = join(job, weight).map_err(|error| error.to_string())?;
    Ok(Arc::new(row))
}

fn join(job: &Job, weight: f64) -> Result<Row, Error> {
    let table = Table::open_default()?;
    let program = Who::of(job.pid).ok_or(Error::Gone)?;
    let mut offer =
        Offer::on(&job.name, cores(&job.cpus), count(job.threads)).weight(weight).on_behalf_of(program);
    if !job.follows {
        // It stays where it is: the others are told, and can keep away.
        offer = offer.min(count(job.threads));
    }
    let member = Member::join(&table, offer)?;
    let (tell, news) = mpsc::channel();
    // The receiver is gone only when nothing is asked any more.
    member.on_change(move |share| {
        let _ = tell.send(share);
    });
    Ok(Row { news: Mutex::new(news), member: Mutex::new(Some(member)) })
}

fn cores(cpus: &CpuSet) -> CoreSet {
    let mut cores = CoreSet::EMPTY;
    cpus.iter().filter(|&cpu| cpu < sinew_policy::share::MAX_CORES).for_each(|cpu| cores.insert(cpu));
    cores
}

fn count(threads: usize) -> u32 {
    u32::try_from(threads).unwrap_or(u32::MAX)
}

impl Shares for Row {
    fn next(&self, patience: Duration) -> Option<Grant> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        let first = news.recv_timeout(patience).ok()?;
        // Only the last one counts.
        let share = news.try_iter().last().unwrap_or(first);
        Some(Grant { cpus: share.cores.iter().collect(), threads: share.threads as usize })
    }

    fn leave(&self) {
        self.member.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
