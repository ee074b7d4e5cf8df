//! Handlers and names of threads, panics of all of them, threads that the user starts, and what the
//! types are.

use std::cell::Cell;
use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::{io, thread};

use rayon_core::ext::ThreadPoolExt;
use rayon_core::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder, Yield,
};

use crate::support::{
    alone, assert_aborted, child, ends, fib, is_child, message_of, pool, use_much_stack,
};

/// A handler that sends the numbers it is called with.
fn telling() -> (impl Fn(usize) + Send + Sync + 'static, mpsc::Receiver<usize>) {
    let (send, sent) = mpsc::channel();
    let send = Mutex::new(send);
    (move |index| send.lock().unwrap().send(index).unwrap(), sent)
}

fn sorted(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// Catches: a handler that is called for a thread twice or not at all, or on another one, or
/// before its thread is part of the pool.
#[test]
fn handlers_are_called_once_on_each_thread() {
    ends(|| {
        for threads in 1..=3 {
            let ((start, started), (exit, exited)) = (telling(), telling());
            let here = |index| assert_eq!(rayon_core::current_thread_index(), Some(index));
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .start_handler(move |index| {
                    here(index);
                    start(index);
                })
                .exit_handler(move |index| {
                    here(index);
                    exit(index);
                })
                .build()
                .unwrap();
            assert_eq!(pool.install(|| fib(10)), 55);
            pool.shutdown();
            // Both channels are closed when the pool is gone.
            assert_eq!(sorted(started.iter()), Vec::from_iter(0..threads));
            assert_eq!(sorted(exited.iter()), Vec::from_iter(0..threads));
        }
    });
}

/// Catches: handlers of a thread that the pool did not start; a second pool of the same thread,
/// which upstream refuses.
#[test]
fn the_building_thread_may_be_number_0() {
    ends(|| {
        let ((start, started), (exit, exited)) = (telling(), telling());
        let build = || ThreadPoolBuilder::new().num_threads(3).use_current_thread();
        let pool = build().start_handler(start).exit_handler(exit).build().unwrap();
        let here = thread::current().id();
        assert_eq!(
            (rayon_core::current_thread_index(), pool.current_thread_index()),
            (Some(0), Some(0))
        );
        assert_eq!(pool.install(|| thread::current().id()), here);
        let all = Barrier::new(3);
        pool.scope(|s| (0..3).for_each(|_| s.spawn(|_| _ = all.wait())));
        for error in [build().build().unwrap_err(), pool.install(|| build().build().unwrap_err())] {
            assert_eq!(
                error.to_string(),
                "The current thread is already part of another thread pool."
            );
            assert!(error.source().is_none());
        }
        drop(pool);
        assert_eq!(sorted(started.iter().take(2)), [1, 2]);
        assert_eq!(sorted(exited.iter().take(2)), [1, 2]);
        assert!(exited.try_recv().is_err() && started.try_recv().is_err());
    });
}

/// Catches: a payload of a task or of a handler that is lost, or that stops the process although a
/// handler takes it.
#[test]
fn the_panic_handler_gets_every_payload() {
    ends(|| {
        let (send, payloads) = mpsc::channel();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(|_| panic!("start"))
            .exit_handler(|_| panic!("exit"))
            .panic_handler(move |payload| send.send(*payload.downcast::<&str>().unwrap()).unwrap())
            .build()
            .unwrap();
        pool.spawn(|| panic!("spawn"));
        pool.spawn_fifo(|| panic!("spawn_fifo"));
        pool.spawn_broadcast(|_| panic!("spawn_broadcast"));
        // These come back to their caller.
        assert_eq!(message_of(|| pool.install(|| panic!("install"))), "install");
        assert_eq!(message_of(|| pool.scope(|s| s.spawn(|_| panic!("scope")))), "scope");
        assert_eq!(pool.install(|| fib(10)), 55);
        pool.shutdown();
        let mut payloads = Vec::from_iter(payloads);
        payloads.sort_unstable();
        let twice = |name| [name, name];
        let detached = ["spawn"].into_iter().chain(twice("spawn_broadcast")).chain(["spawn_fifo"]);
        assert!(
            payloads
                .iter()
                .copied()
                .eq(twice("exit").into_iter().chain(detached).chain(twice("start")))
        );
    });
}

/// Catches: a panic without a handler that the process survives, or that ends it without a message.
#[test]
fn a_panic_that_nobody_takes_aborts_with_one_line() {
    let name = "handlers::a_panic_that_nobody_takes_aborts_with_one_line";
    if is_child() {
        let build = || ThreadPoolBuilder::new().num_threads(1);
        let pool = match std::env::var("WHERE").unwrap().as_str() {
            "start" => build().start_handler(|_| panic!("start")).build(),
            "exit" => build().exit_handler(|_| panic!("exit")).build(),
            "handler" => build().panic_handler(|_| panic!("handler")).build(),
            _ => build().build(),
        };
        let pool = pool.unwrap();
        if std::env::var("WHERE").unwrap() != "exit" {
            pool.spawn(|| panic!("task"));
        }
        return pool.shutdown();
    }
    for (place, part) in [
        ("start", "no panic handler"),
        ("exit", "no panic handler"),
        ("task", "no panic handler"),
        ("handler", "the panic handler panicked"),
    ] {
        assert_aborted(&child(name).env("WHERE", place).output().unwrap(), part);
    }
}

/// Catches: names in another order than the threads', a name for a thread that is to have none,
/// a stack of another size.
#[test]
fn threads_have_the_names_and_stacks_that_were_asked_for() {
    ends(|| {
        let names =
            |pool: &ThreadPool| pool.broadcast(|_| thread::current().name().map(str::to_owned));
        assert_eq!(names(&pool(2)), [None, None]);
        // Called once for each, in order: it may count.
        let mut letters = ["a", "b", "c"].into_iter();
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .thread_name(move |index| format!("{} {index}", letters.next().unwrap()))
            .stack_size(8 << 20)
            .build()
            .unwrap();
        assert_eq!(names(&pool), ["a 0", "b 1", "c 2"].map(|name| Some(name.to_owned())));
        pool.broadcast(|_| use_much_stack());
    });
}

/// Catches: what a handler cannot know about a thread, or a pool that does not wait for the
/// user's threads.
#[test]
fn a_spawn_handler_gets_number_name_and_stack_of_each_thread() {
    ends(|| {
        let mut seen = Vec::new();
        let mut handles = Vec::new();
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .thread_name(|index| format!("mine {index}"))
            .stack_size(1 << 20)
            .spawn_handler(|thread| {
                seen.push((thread.index(), thread.name().map(str::to_owned), thread.stack_size()));
                handles.push(thread::spawn(|| thread.run()));
                Ok(())
            })
            .build()
            .unwrap();
        assert_eq!(pool.install(|| fib(10)), 55);
        drop(pool);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        let wanted = (0..3).map(|index| (index, Some(format!("mine {index}")), Some(1 << 20)));
        assert_eq!(seen, Vec::from_iter(wanted));
        let error = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|_| Err(io::Error::other("no more")))
            .build()
            .unwrap_err();
        assert_eq!(
            (error.to_string(), error.source().unwrap().to_string()),
            ("no more".into(), "no more".into())
        );
    });
}

/// Catches: threads that outlive what they borrow, or that do not end when the body panics.
#[test]
fn scoped_threads_may_borrow_and_end_with_their_call() {
    thread_local! {
        static LOCAL: Cell<Option<&'static str>> = const { Cell::new(None) };
    }
    ends(|| {
        let (entered, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let wrapper = |thread: ThreadBuilder| {
            LOCAL.set(Some("wrapped"));
            entered.fetch_add(1, Ordering::SeqCst);
            thread.run();
            left.fetch_add(1, Ordering::SeqCst);
        };
        let build = || ThreadPoolBuilder::new().num_threads(3);
        let locals = build().build_scoped(wrapper, |pool| pool.broadcast(|_| LOCAL.get())).unwrap();
        assert_eq!(locals, [Some("wrapped"); 3]);
        assert_eq!((entered.load(Ordering::SeqCst), left.load(Ordering::SeqCst)), (3, 3));
        assert_eq!(
            message_of(|| build().build_scoped(wrapper, |_| -> () { panic!("body") })),
            "body"
        );
        assert_eq!((entered.load(Ordering::SeqCst), left.load(Ordering::SeqCst)), (6, 6));
    });
}

/// Catches: a pool that waits for the very thread that drops it, or ends under the tasks that
/// are left.
#[test]
fn a_pool_may_be_dropped_by_one_of_its_own_tasks() {
    ends(|| {
        for threads in 1..=3 {
            for _ in 0..20 {
                let (exit, exited) = telling();
                let builder = ThreadPoolBuilder::new().num_threads(threads).exit_handler(exit);
                let pool = builder.build().unwrap();
                let (give, take) = mpsc::channel::<ThreadPool>();
                let (done, ends) = mpsc::channel();
                pool.spawn(move || {
                    let pool = take.recv().unwrap();
                    for _ in 0..3 {
                        let done = done.clone();
                        pool.spawn(move || done.send(()).unwrap());
                    }
                    drop(pool);
                    // It goes on as long as this task does.
                    assert_eq!(fib(10), 55);
                    done.send(()).unwrap();
                });
                give.send(pool).unwrap();
                assert_eq!(ends.iter().count(), 4);
                assert_eq!(sorted(exited.iter()), Vec::from_iter(0..threads));
            }
        }
    });
}

/// Catches: a drop that waits for tasks.
#[test]
fn dropping_a_pool_does_not_wait() {
    ends(|| {
        let dropped = Arc::new(Barrier::new(2));
        let (exit, exited) = telling();
        let pool = ThreadPoolBuilder::new().num_threads(2).exit_handler(exit).build().unwrap();
        let until = Arc::clone(&dropped);
        pool.spawn(move || _ = until.wait());
        drop(pool);
        dropped.wait();
        assert_eq!(sorted(exited.iter()), [0, 1]);
    });
}

/// Catches: a second global pool, or the older way to describe it.
#[test]
#[expect(deprecated, reason = "upstream still has them")]
fn the_global_pool_is_built_once() {
    alone("handlers::the_global_pool_is_built_once", &[], || {
        use rayon_core::{Configuration, initialize};
        let own = ThreadPool::new(Configuration::new().num_threads(2)).unwrap();
        assert_eq!(own.current_num_threads(), 2);
        let named = Configuration::new().num_threads(3).thread_name(|index| format!("old {index}"));
        initialize(named.stack_size(1 << 20).breadth_first()).unwrap();
        assert_eq!(rayon_core::current_num_threads(), 3);
        let names = rayon_core::broadcast(|_| thread::current().name().unwrap().to_owned());
        assert_eq!(names, ["old 0", "old 1", "old 2"]);
        let again = "The global thread pool has already been initialized.";
        assert_eq!(initialize(Configuration::new()).unwrap_err().to_string(), again);
        let error = ThreadPoolBuilder::new().build_global().unwrap_err();
        assert!(error.to_string() == again && error.source().is_none());
        assert!(own.install(|| ThreadPoolBuilder::new().build_global()).is_err());
    });
}

/// Catches: a type that cannot be printed, or whose text names another.
#[test]
#[expect(deprecated, reason = "upstream still has it")]
fn every_type_can_be_printed() {
    let one = pool(1);
    let mut texts = HashSet::from([
        format!("{one:?}"),
        format!("{:?}", ThreadPoolBuilder::new()),
        format!("{:?}", ThreadPoolBuilder::new().spawn_handler(|_| Ok(())).num_threads(3)),
        format!("{:?}", rayon_core::Configuration::new()),
        format!("{:?}", one.broadcast(|part| format!("{part:?}"))[0]),
        one.scope(|s| format!("{s:?}")),
        one.scope_fifo(|s| format!("{s:?}")),
        one.install(|| rayon_core::join_context(|context| format!("{context:?}"), |_| ())).0,
        format!("{:?}", [Yield::Executed, Yield::Idle]),
    ]);
    let refuse = |thread: ThreadBuilder| Err(io::Error::other(format!("{thread:?}")));
    let error = ThreadPoolBuilder::new().num_threads(1).spawn_handler(refuse).build().unwrap_err();
    assert!(error.to_string().starts_with("ThreadBuilder"), "{error}");
    texts.insert(format!("{error:?}"));
    let begins =
        |name: &str| texts.iter().any(|text| text.trim_start_matches('"').starts_with(name));
    for name in [
        "ThreadPool {",
        "ThreadPoolBuilder {",
        "Configuration {",
        "BroadcastContext {",
        "Scope {",
        "ScopeFifo {",
        "FnContext {",
        "[Executed, Idle]",
        "ThreadPoolBuildError {",
    ] {
        assert!(begins(name), "{name} is not among {texts:?}");
    }
}

/// Refuses to compile where a type has the trait.
macro_rules! is_not {
    ($type:ty: $trait:ident) => {{
        trait Ambiguous<A> {
            fn unique() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        struct Has;
        impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
        <$type as Ambiguous<_>>::unique();
    }};
}

/// Catches: a type that may be shared or sent where upstream's may not, or the other way round:
/// programs that do not compile any more, or should not.
#[test]
fn types_may_be_sent_and_shared_as_upstreams() {
    fn send<T: Send>() {}
    fn both<T: Send + Sync>() {}
    both::<ThreadPool>();
    both::<Scope<'_>>();
    both::<ScopeFifo<'_>>();
    both::<ThreadPoolBuildError>();
    both::<Yield>();
    send::<ThreadBuilder>();
    is_not!(ThreadBuilder: Sync);
    is_not!(FnContext: Send);
    is_not!(FnContext: Sync);
    is_not!(BroadcastContext<'_>: Send);
    is_not!(BroadcastContext<'_>: Sync);
    is_not!(ThreadPoolBuilder: Send);
    is_not!(ThreadPoolBuilder: Sync);
}
