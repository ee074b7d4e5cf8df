//! The manager against forged pages: each test has a process of its own, since a process has one
//! page and one manager.
//!
//! Blind to: TBB itself, which `cargo xtask tbb` runs, and the side of `sinew exec`, which
//! `sinew-exec/tests/tbb.rs` has.

use core::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use super::interface::{Permit, Request, exported::*};
use super::permits::Number;
use crate::layout::{self, BYTES, FLAGS, FOLLOWS, JOB_THREADS, MAGIC, START_CPUS};
use crate::{share, system};

/// Names the test that this process runs alone.
const ALONE: &str = "SINEW_TEST_ALONE";

/// Runs `body` in a process of its own. `name` is the test's.
fn alone(name: &str, body: impl FnOnce()) {
    if std::env::var(ALONE).is_ok_and(|alone| alone == name) {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("the test itself"));
    command.args([&format!("tbb::tests::{name}"), "--exact", "--nocapture"]).env(ALONE, name);
    let output = command.output().expect("the test itself");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

/// The files that `sinew exec` would hold.
struct Forged {
    page: File,
    _pipe: (std::io::PipeReader, std::io::PipeWriter),
}

impl Forged {
    /// A page with these words at these bytes, in this process's environment.
    fn new(words: &[(usize, u32)]) -> Self {
        let mut page = tempfile::tempfile().expect("a temporary file");
        page.write_all(&[0; BYTES]).unwrap();
        let pipe = std::io::pipe().unwrap();
        let place = format!("{} {} {}", std::process::id(), page.as_raw_fd(), pipe.1.as_raw_fd());
        // SAFETY: the process runs one test, whose other threads have not begun.
        unsafe { std::env::set_var(layout::VARIABLE, place) };
        let forged = Self { page, _pipe: pipe };
        words.iter().for_each(|(at, word)| forged.write(*at, *word));
        forged
    }

    /// The page of a command that has 8 processors and `threads` threads.
    fn of_command(threads: u32) -> Self {
        Self::new(&[(0, MAGIC), (FLAGS, FOLLOWS), (START_CPUS, 8), (JOB_THREADS, threads)])
    }

    fn write(&self, at: usize, word: u32) {
        use std::os::unix::fs::FileExt;
        self.page.write_all_at(&word.to_ne_bytes(), at as u64).unwrap();
    }

    /// Writes the number of threads of this process, which has the first slot, and wakes.
    fn set_threads(&self, threads: u32) {
        self.write(layout::threads_at(0), threads);
        system::wake_shared(share::own_word().expect("this process has joined"));
    }
}

/// How often a client was called, and the permit that it was called for last.
static CALLS: AtomicU32 = AtomicU32::new(0);
static CALLED_FOR: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(permit: Number, argument: *mut c_void, flags: u32) -> i32 {
    assert_eq!((argument as usize, flags), (7, 1));
    CALLED_FOR.store(permit, SeqCst);
    CALLS.fetch_add(1, SeqCst);
    0
}

fn connected(callback: super::permits::Callback) -> Number {
    let mut client = 0;
    assert_eq!(tcmConnect(Some(callback), &raw mut client), 0);
    client
}

fn wanted(min: i32, max: i32) -> Request {
    Request::new(min, max, 0)
}

/// Requests a permit, a new one for 0. Returns it.
fn requested(client: Number, mut permit: Number, wanted: Request) -> Number {
    let handle = &raw mut permit;
    assert_eq!(tcmRequestPermit(client, wanted, 7 as *mut c_void, handle, null_mut()), 0);
    permit
}

/// Workers, state and flags of a permit.
fn read(permit: Number) -> (u32, u8, u32) {
    let mut workers = 77;
    let mut data = Permit::for_one(&raw mut workers);
    assert_eq!(tcmGetPermitData(permit, &raw mut data), 0);
    (workers, data.state, data.flags)
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 60, "never: {what}");
        std::thread::yield_now();
    }
}

/// Catches: a wrong number after any of the calls that TBB makes, and a call too many.
#[test]
fn the_calls_of_tbb_get_the_share_less_one_and_a_call_when_it_changes() {
    alone("the_calls_of_tbb_get_the_share_less_one_and_a_call_when_it_changes", || {
        let page = Forged::of_command(4);
        let client = connected(count);
        let permit = requested(client, 0, Request::new(0, 0, 8));
        assert_eq!(read(permit), (0, 1, 0));
        assert_eq!((requested(client, permit, wanted(0, 7)), read(permit)), (permit, (3, 4, 0)));
        assert_eq!((tcmRegisterThread(permit), tcmUnregisterThread()), (0, 0));
        assert_eq!(CALLS.load(SeqCst), 0);
        for (threads, workers) in [(2, 1), (1, 0), (0, 7), (5, 4)] {
            let before = CALLS.load(SeqCst);
            page.set_threads(threads);
            until("a call", || CALLS.load(SeqCst) > before);
            assert_eq!((CALLED_FOR.load(SeqCst), read(permit)), (permit, (workers, 4, 0)));
        }
        requested(client, permit, wanted(1, 1));
        page.set_threads(1);
        let other = requested(client, 0, wanted(0, 7));
        assert_eq!((read(permit).0, read(other).0), (1, 0));
        assert_eq!((tcmDeactivatePermit(permit), read(permit).0), (0, 0));
        assert_eq!((tcmReleasePermit(permit), tcmReleasePermit(other)), (0, 0));
        assert_eq!(tcmReleasePermit(permit), 0x7800_0004);
        assert_eq!((tcmDisconnect(client), tcmDisconnect(client)), (0, 0x7800_0004));
        let again = connected(count);
        assert!(again > other, "a number stands for one client or permit, ever");
    });
}

/// Catches: a manager without a share, which would tell TBB numbers of nobody's.
#[test]
fn there_is_no_manager_without_a_page_or_with_another_files() {
    alone("there_is_no_manager_without_a_page_or_with_another_files", || {
        let refused = || {
            let mut client = 0;
            let result = tcmConnect(Some(count), &raw mut client);
            (result, client) == (0x7fff_fffe, 0)
        };
        assert!(refused(), "no page");
        for words in [
            &[][..],
            &[(0, MAGIC + 1), (FLAGS, FOLLOWS)],
            &[(0, MAGIC), (FLAGS, layout::MALLEABLE), (JOB_THREADS, 2)],
        ] {
            let _page = Forged::new(words);
            assert!(refused(), "{words:?}");
            // SAFETY: no other thread reads the environment.
            unsafe { std::env::set_var(layout::VARIABLE, "1 2 x") };
            assert!(refused(), "no numbers");
            share::forget_page();
        }
    });
}

/// Catches: a null pointer that is followed, and nonsense that is granted.
#[test]
fn bad_arguments_get_an_error() {
    const INVALID: i32 = 0x7800_0004;
    alone("bad_arguments_get_an_error", || {
        let _page = Forged::of_command(4);
        let mut number = 0;
        assert_eq!(tcmConnect(None, &raw mut number), INVALID);
        assert_eq!(tcmConnect(Some(count), null_mut()), INVALID);
        let client = connected(count);
        let request = |client, wanted, handle| {
            tcmRequestPermit(client, wanted, null_mut(), handle, null_mut())
        };
        assert_eq!(request(client, wanted(0, 1), null_mut()), INVALID);
        for bad in [wanted(2, 1), wanted(-2, 1), wanted(0, -2), Request::new(0, 1, 2)] {
            assert_eq!(request(client, bad, &raw mut number), INVALID, "{bad:?}");
        }
        assert_eq!(request(client + 1000, wanted(0, 1), &raw mut number), INVALID);
        number = 1 << 40;
        assert_eq!(request(client, wanted(0, 1), &raw mut number), INVALID);
        let calls = [tcmReleasePermit, tcmIdlePermit, tcmActivatePermit, tcmDeactivatePermit];
        assert!(calls.iter().all(|call| call(number) == INVALID && call(0) == INVALID));
        assert_eq!(tcmGetPermitData(client, null_mut()), 0x7fff_fffe);
        let permit = requested(client, 0, wanted(-1, -1));
        assert_eq!(read(permit).0, 3);
        let mut empty = Permit::for_one(null_mut());
        assert_eq!((tcmGetPermitData(permit, &raw mut empty), empty.state), (0, 4));
        let mut text = [b'x'; 24];
        assert_eq!(tcmGetVersionInfo(text.as_mut_ptr().cast(), 10), 0);
        assert_eq!((&text[..10], text[10]), (&b"TCM: NAME\0"[..], b'x'));
        assert_eq!(tcmGetVersionInfo(null_mut(), 10), INVALID);
    });
}

/// The next action of the client below, when it is called.
static NEXT: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

extern "C" fn do_next(_: Number, _: *mut c_void, _: u32) -> i32 {
    let next = NEXT.lock().unwrap().take();
    if let Some(next) = next {
        next();
        CALLS.fetch_add(1, SeqCst);
    }
    0
}

/// Catches: a lock that is held while a client runs, and a release that waits for itself.
#[test]
fn a_client_may_use_the_library_while_it_is_called() {
    alone("a_client_may_use_the_library_while_it_is_called", || {
        let page = Forged::of_command(8);
        let client = connected(do_next);
        let permit = requested(client, 0, wanted(0, 7));
        let during = |threads: u32, next: Box<dyn FnOnce() + Send>| {
            let before = CALLS.load(SeqCst);
            *NEXT.lock().unwrap() = Some(next);
            page.set_threads(threads);
            until("a call", || CALLS.load(SeqCst) > before);
        };
        during(4, Box::new(move || assert_eq!(read(permit).0, 3)));
        during(6, Box::new(move || _ = requested(client, permit, wanted(0, 2))));
        assert_eq!(read(permit).0, 2);
        during(
            2,
            Box::new(move || {
                let other = requested(client, 0, wanted(0, 7));
                assert_eq!((read(other).0, tcmReleasePermit(other)), (0, 0));
            }),
        );
        during(8, Box::new(move || assert_eq!(tcmReleasePermit(permit), 0)));
        let permit = requested(client, 0, wanted(0, 7));
        during(4, Box::new(move || assert_eq!(tcmDisconnect(client), 0)));
        assert_eq!(tcmReleasePermit(permit), 0x7800_0004);
        let client = connected(do_next);
        assert_eq!(read(requested(client, 0, wanted(0, 7))).0, 3);
    });
}

/// Catches: a permit whose client is still called, or is called again, after its release.
#[test]
fn a_release_waits_for_a_call_on_another_thread() {
    static MAY_END: AtomicBool = AtomicBool::new(false);
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    alone("a_release_waits_for_a_call_on_another_thread", || {
        let page = Forged::of_command(8);
        let client = connected(do_next);
        let permit = requested(client, 0, wanted(0, 7));
        let begun = std::sync::mpsc::channel();
        *NEXT.lock().unwrap() = Some(Box::new(move || {
            begun.0.send(()).unwrap();
            until("the end", || MAY_END.load(SeqCst));
            HAS_ENDED.store(true, SeqCst);
        }));
        page.set_threads(4);
        begun.1.recv().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let release = std::thread::spawn(move || {
            tell.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
            (tcmReleasePermit(permit), HAS_ENDED.load(SeqCst))
        });
        let state = std::path::Path::new("/proc").join(told.recv().unwrap()).join("stat");
        let sleeps = || std::fs::read_to_string(&state).is_ok_and(|stat| stat.contains(") S "));
        until("the release waits", || sleeps() || release.is_finished());
        MAY_END.store(true, SeqCst);
        assert_eq!(release.join().unwrap(), (0, true));
    });
}

/// The permits of the threads below, and what each client function has read last.
static READ: [(AtomicU64, AtomicU32); 4] = [const { (AtomicU64::new(0), AtomicU32::new(0)) }; 4];

extern "C" fn read_again(permit: Number, argument: *mut c_void, _: u32) -> i32 {
    READ[argument as usize].1.store(read(permit).0, SeqCst);
    0
}

/// Catches: a client that is left with an old number, or threads that wait for each other, while
/// requests, changes of the page and calls happen at the same time.
#[test]
fn threads_that_request_while_the_share_changes_know_their_workers_in_the_end() {
    alone("threads_that_request_while_the_share_changes_know_their_workers_in_the_end", || {
        let page = Forged::of_command(8);
        let client = connected(read_again);
        let ask = |index: usize, permit: Number, max: i32| {
            let mut permit = permit;
            let argument = index as *mut c_void;
            let handle = &raw mut permit;
            let result = tcmRequestPermit(client, wanted(0, max), argument, handle, null_mut());
            assert_eq!(result, 0);
            permit
        };
        std::thread::scope(|scope| {
            for (index, place) in READ.iter().enumerate() {
                scope.spawn(move || {
                    for round in 0..300 {
                        let permit = ask(index, 0, 7);
                        ask(index, permit, 1 + round % 5);
                        assert!(read(permit).0 <= 7);
                        tcmDeactivatePermit(permit);
                        assert_eq!(tcmReleasePermit(permit), 0);
                    }
                    place.0.store(ask(index, 0, 7), SeqCst);
                });
            }
            for round in 0..2000 {
                page.set_threads(1 + round % 9);
            }
        });
        // A last change, after which the calls alone tell the clients.
        page.set_threads(1);
        let all = || READ.iter().map(|(permit, _)| read(permit.load(SeqCst)).0);
        until("the share is taken", || all().sum::<u32>() == 0);
        page.set_threads(9);
        until("the workers are divided", || all().eq([2; 4]));
        let told = || READ.iter().map(|(_, told)| told.load(SeqCst));
        until("the clients know it", || told().eq([2; 4]));
        assert_eq!(tcmDisconnect(client), 0);
    });
}

/// Catches: a child that waits for a lock or thread of its parent, or is told that it has workers.
#[test]
fn a_forked_child_has_no_workers_of_its_parents_and_may_connect_anew() {
    alone("a_forked_child_has_no_workers_of_its_parents_and_may_connect_anew", || {
        let page = Forged::of_command(4);
        let client = connected(count);
        let permit = requested(client, 0, wanted(1, 7));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // So that a fork finds the permits locked now and then.
                while !stop.load(SeqCst) {
                    requested(client, permit, wanted(1, 7));
                }
            });
            let all_are_right = (0..200).all(|_| {
                let status = system::in_child(|| {
                    let is_inert = || {
                        requested(client, permit, wanted(1, 7)) == permit
                            && read(permit) == (0, 1, 0)
                            && read(requested(client, 0, wanted(1, 7))) == (0, 1, 0)
                            && tcmDeactivatePermit(permit) == 0
                    };
                    let is_right = is_inert() && {
                        let own = connected(count);
                        read(requested(own, 0, wanted(0, 7))).0 == 3 && is_inert()
                    };
                    is_right && tcmReleasePermit(permit) == 0 && tcmDisconnect(client) == 0
                });
                // The child has taken a slot, which only `sinew exec` would free.
                page.write(layout::pid_at(1), 0);
                status == 0
            });
            stop.store(true, SeqCst);
            assert!(all_are_right);
        });
        assert_eq!(read(permit).0, 3, "the parent goes on");
    });
}

/// Catches: any number on the page that brings the manager down.
#[test]
fn any_word_on_the_page_is_divided() {
    alone("any_word_on_the_page_is_divided", || {
        let page = Forged::of_command(4);
        let client = connected(count);
        let permit = requested(client, 0, wanted(0, i32::MAX));
        for threads in [u32::MAX, 1, i32::MAX as u32 + 1, 2, 0, 3] {
            page.set_threads(threads);
            let expected = threads.wrapping_sub(1).min(i32::MAX as u32);
            until("the new share", || read(permit).0 == expected);
        }
    });
}
