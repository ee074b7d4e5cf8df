//! The memories of the domains, which tasks share.
//!
//! A memory gives its bandwidth to the tasks that work on its data, in proportion to what they ask
//! for. A task near its data asks for one reader's share, a task far from it for less. While all
//! together ask for no more than the memory has, each works as if it were alone.
//!
//! # Invariants
//!
//! - B1: at any time the speeds of the tasks on a memory add up to `readers` at most.
//!
//! # Cost
//!
//! The begin and the end of a task visit all tasks on the same memory.

use crate::queue::{Queue, Time};

/// A task at work.
#[derive(Debug, Clone, Copy)]
struct Reader {
    worker: usize,
    /// Its speed alone; 1 near its data.
    alone: f64,
    /// The rest of its work, and its speed since this time.
    left: f64,
    speed: f64,
    since: Time,
}

/// All memories.
#[derive(Debug)]
pub(super) struct Memories {
    readers: f64,
    memories: Vec<Vec<Reader>>,
}

impl Memories {
    /// A memory for each domain, which serves so many tasks at full speed; `None` for any number.
    pub(super) fn new(domains: usize, readers: Option<f64>) -> Self {
        Self { readers: readers.unwrap_or(f64::INFINITY), memories: vec![Vec::new(); domains] }
    }

    /// `worker` begins work on the data of a domain that takes it `work` at speed 1, and sets its
    /// event to the end.
    pub(super) fn begin(
        &mut self,
        worker: usize,
        domain: usize,
        work: Time,
        alone: f64,
        queue: &mut Queue,
    ) {
        let (left, since) = (work as f64, queue.now());
        let reader = Reader { worker, alone, left, speed: 0.0, since };
        self.memories[domain].push(reader);
        self.share(domain, queue);
    }

    /// `worker` has ended its work on the data of this domain.
    pub(super) fn end(&mut self, worker: usize, domain: usize, queue: &mut Queue) {
        self.memories[domain].retain(|reader| reader.worker != worker);
        self.share(domain, queue);
    }

    /// Divides a memory among its readers and moves their ends.
    fn share(&mut self, domain: usize, queue: &mut Queue) {
        let readers = &mut self.memories[domain];
        let demand: f64 = readers.iter().map(|reader| reader.alone).sum();
        let slowness = (demand / self.readers).max(1.0);
        let now = queue.now();
        for reader in readers {
            let speed = reader.alone / slowness;
            if speed == reader.speed {
                continue;
            }
            reader.left -= (now - reader.since) as f64 * reader.speed;
            (reader.speed, reader.since) = (speed, now);
            queue.set(reader.worker, now + (reader.left.max(0.0) / speed).ceil() as Time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times at which tasks of this work on one memory end that begin at once, alone at these
    /// speeds.
    fn ends<const N: usize>(readers: Option<f64>, tasks: [(Time, f64); N]) -> [Time; N] {
        let (mut queue, mut memories) = (Queue::new(N), Memories::new(1, readers));
        for (worker, (work, alone)) in tasks.into_iter().enumerate() {
            memories.begin(worker, 0, work, alone, &mut queue);
        }
        let mut ends = [0; N];
        while let Some(worker) = queue.next() {
            ends[worker] = queue.now();
            queue.clear(worker);
            memories.end(worker, 0, &mut queue);
        }
        ends
    }

    /// Catches: a bandwidth that is not shared, or that is shared below its limit.
    #[test]
    fn two_readers_of_a_memory_that_serves_one_take_twice_the_time() {
        assert_eq!(ends(Some(1.0), [(100, 1.0)]), [100]);
        assert_eq!(ends(Some(1.0), [(100, 1.0); 2]), [200; 2]);
        assert_eq!(ends(Some(2.0), [(100, 1.0); 2]), [100; 2]);
        assert_eq!(ends(Some(2.0), [(100, 1.0); 8]), [400; 8]);
        assert_eq!(ends(None, [(100, 1.0); 8]), [100; 8]);
    }

    /// Catches: a reader that keeps its share after others have ended, and a far task that gets as
    /// much as a near one.
    #[test]
    fn a_memory_is_divided_anew_when_a_task_ends() {
        // Two in 100, of which the short one ends; the other has 50 left.
        assert_eq!(ends(Some(1.0), [(50, 1.0), (100, 1.0)]), [100, 150]);
        assert_eq!(ends(Some(2.0), [(100, 0.5)]), [200]);
        // Together they ask for 1.5 times what there is.
        assert_eq!(ends(Some(1.0), [(100, 1.0), (50, 0.5)]), [150, 150]);
    }
}
