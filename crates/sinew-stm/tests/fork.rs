//! `fork(2)` while other threads commit: the child runs transactions, or ends with one line; it
//! never hangs, and never sees half of a commit. With `SINEW_DEEP=1`: 10,000 children.

#![cfg(unix)]

use sinew_stm::{
    Locking, TBox, THashMap, THeap, TList, TMap, TQueue, TVar, Transaction, Tx, TxResult,
    atomically,
};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a child ended, and its output.
#[derive(Debug)]
enum End {
    Passed,
    /// It needed a record that a lost thread had locked, and said so.
    SaidWhy,
    Wrong(String),
}

fn pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0, "{}", io::Error::last_os_error());
    ends
}

/// Forks; the child calls `f` and ends without unwinding. A child that hangs is killed.
fn fork(f: impl FnOnce()) -> End {
    /// Taken by one fork at a time, so that no other child has an end of the pipe.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let [from, to] = pipe();
    // SAFETY: the child calls only what this crate promises to work there.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: no destructors and no handlers run; the alarm ends a child that hangs.
        unsafe {
            libc::alarm(60);
            libc::dup2(to, 2);
            let passed = catch_unwind(AssertUnwindSafe(f)).is_ok();
            libc::_exit(if passed { 0 } else { 1 });
        }
    }
    let (mut status, mut said) = (0, String::new());
    // SAFETY: the descriptors are this process's, and so is the child.
    unsafe {
        libc::close(to);
        File::from_raw_fd(from).read_to_string(&mut said).expect("text");
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid, "{}", io::Error::last_os_error());
    }
    let aborted = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT;
    match (status, said.lines().count()) {
        (0, 0) => End::Passed,
        (_, 1) if aborted && said.starts_with("sinew: a forked child needs a variable") => {
            End::SaidWhy
        }
        _ => End::Wrong(format!("status {status}: {said}")),
    }
}

/// Pairs of variables that are always equal, and containers.
struct Shared {
    pairs: Vec<[TVar<u64>; 2]>,
    text: [TBox<String>; 2],
    map: TMap<u64, u64>,
    list: TList<u64, u64>,
    hash: THashMap<u64, u64>,
    heap: THeap<u64>,
    queue: TQueue<u64>,
}

impl Shared {
    fn new() -> Self {
        let pair = |_| [TVar::new(0), TVar::new(0)];
        Self {
            pairs: (0..16).map(pair).collect(),
            text: [TBox::default(), TBox::default()],
            map: TMap::new(),
            list: TList::new(),
            hash: THashMap::with_buckets(4),
            heap: THeap::new(),
            queue: TQueue::new(),
        }
    }

    fn change<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, random: u64) -> TxResult<()> {
        let (key, kind) = (random % 16, random / 16 % 8);
        for var in &self.pairs[key as usize] {
            var.modify(tx, |n| n + 1)?;
        }
        match kind {
            0 => self.text.iter().try_for_each(|text| text.set(tx, random.to_string())),
            1 => self
                .map
                .insert(tx, key, random)
                .and_then(|_| self.map.remove(tx, &(15 - key)))
                .map(drop),
            2 => self
                .list
                .insert(tx, key, random)
                .and_then(|_| self.list.remove(tx, &(15 - key)))
                .map(drop),
            3 => self
                .hash
                .insert(tx, key, random)
                .and_then(|_| self.hash.remove(tx, &(15 - key)))
                .map(drop),
            4 => self.heap.push(tx, random).and_then(|()| self.heap.pop(tx)).map(drop),
            5 => self.queue.push(tx, random).and_then(|()| self.queue.pop(tx)).map(drop),
            6 => tx.irrevocable(),
            _ => Ok(()),
        }
    }

    fn is_whole<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: usize) -> TxResult<()> {
        let [one, other] = &self.pairs[key];
        assert_eq!(one.get(tx)?, other.get(tx)?, "half of a commit");
        assert_eq!(self.text[0].get(tx)?, self.text[1].get(tx)?, "half of a commit");
        Ok(())
    }
}

/// Forks `children` times while other threads change the shared variables. Returns how many
/// children ended with a line.
fn forks_beside_commits(children: usize, child: impl Fn(&Shared)) -> usize {
    let (shared, over) = (Shared::new(), AtomicBool::new(false));
    std::thread::scope(|s| {
        for thread in 0..3 {
            let (shared, over) = (&shared, &over);
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(thread);
                while !over.load(Ordering::Relaxed) {
                    let random = rng.u64(..);
                    let locking = [Locking::Encounter, Locking::Commit][rng.usize(..2)];
                    Transaction::new().locking(locking).atomically(|tx| shared.change(tx, random));
                }
            });
        }
        let ends: Vec<_> = (0..children).map(|_| fork(|| child(&shared))).collect();
        over.store(true, Ordering::Relaxed);
        let wrong =
            ends.iter().filter_map(|end| if let End::Wrong(how) = end { Some(how) } else { None });
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "{} of {children} children: {}", wrong.len(), wrong[0]);
        ends.iter().filter(|end| matches!(end, End::SaidWhy)).count()
    })
}

fn children() -> usize {
    if std::env::var_os("SINEW_DEEP").is_some() { 10_000 } else { 300 }
}

/// Catches: locks, tokens, pins and numbers of threads that do not exist in the child, and
/// variables that such a thread left half written.
#[test]
fn children_go_on_with_what_was_shared_or_say_why_not() {
    let said_why = forks_beside_commits(children(), |shared| {
        for key in 0..shared.pairs.len() {
            atomically(|tx| shared.is_whole(tx, key));
        }
        // A thread of the child gets a number that no record names.
        let changes = || (0..200).for_each(|random| atomically(|tx| shared.change(tx, random)));
        std::thread::scope(|s| s.spawn(changes).join().expect("no panic"));
        changes();
        (0..shared.pairs.len()).for_each(|key| atomically(|tx| shared.is_whole(tx, key)));
    });
    println!("{said_why} of {} children said why they could not go on", children());
}

/// Catches: a child that cannot run transactions on variables and containers of its own, in any
/// state of its parent's threads.
#[test]
fn children_have_transactions_of_their_own() {
    let said_why = forks_beside_commits(children(), |_| {
        let own = Shared::new();
        (0..200).for_each(|random| atomically(|tx| own.change(tx, random)));
        (0..own.pairs.len()).for_each(|key| atomically(|tx| own.is_whole(tx, key)));
    });
    assert_eq!(said_why, 0);
}

/// Catches: a fork that disturbs the transaction around it, irrevocable or not, in either process.
#[test]
fn a_transaction_goes_on_in_both_processes() {
    for irrevocable in [false, true] {
        let (var, mut end) = (TVar::new(1), None);
        let parent = std::process::id();
        atomically(|tx| {
            var.set(tx, 2)?;
            if irrevocable {
                tx.irrevocable()?;
            }
            var.modify(tx, |n| n + 1)?;
            // SAFETY: as in `fork`.
            let pid = unsafe { libc::fork() };
            end = Some(pid);
            var.modify(tx, |n| n + 1)
        });
        let passed =
            var.load() == 4 && atomically(|tx| tx.irrevocable().and_then(|()| var.get(tx))) == 4;
        if std::process::id() != parent {
            // SAFETY: this is the child, which must not continue as a second harness.
            unsafe { libc::_exit(i32::from(!passed)) };
        }
        let mut status = 1;
        // SAFETY: the child is this process's.
        unsafe { libc::waitpid(end.expect("forked"), &raw mut status, 0) };
        assert!(passed && status == 0, "{passed} {status}");
    }
}
