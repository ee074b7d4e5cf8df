//! Tests that need no C compiler. Programs in C and C++ (`tests`) test the functions.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr::{null, null_mut};

use sinew_sync::atomic::{AtomicUsize, Ordering};

use crate::callback::RangeFn;
use crate::handle::{Kind, Table};
use crate::numbers::{Numbers, Rule};
use crate::options::{self, LoopOptions, PoolOptions, Reduction};
use crate::pool::CountersOut;
use crate::status::Status;

const HEADER: &str = include_str!("../include/sinew.h");
const SYMBOLS: &str = include_str!("../symbols.txt");
const LAYOUT: &str = include_str!("../tests/layout.inc");
const SOURCES: [&str; 7] = [
    include_str!("status.rs"),
    include_str!("options.rs"),
    include_str!("pool.rs"),
    include_str!("control.rs"),
    concat!(include_str!("ranges.rs"), include_str!("reduce.rs")),
    include_str!("tasks.rs"),
    include_str!("numba.rs"),
];

/// Catches: a function that the header or the list of exported names lacks, or has too many.
#[test]
fn the_header_the_list_and_the_library_have_the_same_functions() {
    let listed: Vec<&str> = SYMBOLS.lines().collect();
    let begin = "extern \"C\" fn ";
    let lines = SOURCES.iter().flat_map(|text| text.lines());
    let mut defined: Vec<&str> =
        lines.filter_map(|line| line.strip_prefix(begin)?.split('(').next()).collect();
    defined.sort_unstable();
    assert_eq!(defined, listed);
    // numba declares its own.
    let ours: Vec<_> = listed.iter().filter(|name| !name.starts_with("sinew_numba_")).collect();
    let declared = |name: &&str| HEADER.contains(&format!("{name}("));
    assert!(ours.iter().copied().all(declared));
    let lines = HEADER.lines().filter(|line| line.starts_with(|c: char| c.is_alphabetic()));
    let functions = lines.filter(|line| line.contains("sinew_") && line.contains('('));
    let functions = functions.filter(|line| !line.starts_with("typedef"));
    assert_eq!(functions.count(), ours.len());
}

/// Catches: a field that was moved in Rust alone. `tests/layout.c` compares the header.
#[test]
#[cfg(target_pointer_width = "64")]
fn structures_have_the_layout_of_the_list() {
    let sizes = [
        ("sinew_pool_options", size_of::<PoolOptions>()),
        ("sinew_loop_options", size_of::<LoopOptions>()),
        ("sinew_reduction", size_of::<Reduction>()),
        ("sinew_counters", size_of::<CountersOut>()),
        ("sinew_status", size_of::<Status>()),
    ];
    for (name, size) in sizes {
        assert!(LAYOUT.contains(&format!("SIZE({name}, {size})\n")), "{name}");
    }
    macro_rules! at {
        ($name:literal, $type:ty: $($field:ident),*) => {
            $({
                let at = offset_of!($type, $field);
                let line = format!("LAYOUT({}, {}, {at})\n", $name, stringify!($field));
                assert!(LAYOUT.contains(&line), "{line}");
            })*
        };
    }
    at!("sinew_pool_options", PoolOptions: struct_size, threads, spare, wait, reserved);
    at!("sinew_loop_options", LoopOptions: struct_size, schedule, threads, chunk, control, memory);
    at!("sinew_reduction", Reduction: struct_size, value_size, identity, range, combine, drop);
    assert_eq!(offset_of!(CountersOut, values), 8);
}

/// Catches: a later value that the handle of a removed one finds.
#[test]
fn the_handle_of_a_removed_value_is_never_valid_again() {
    static TABLE: Table<usize, 4> = Table::new(Kind::Control);
    let first = TABLE.insert(1).expect("the table is empty");
    assert_eq!(TABLE.remove(first), Ok(1));
    let mut handles = Vec::new();
    for value in 0..4 {
        handles.push(TABLE.insert(value).expect("there is room"));
        assert_eq!(TABLE.get(first).err(), Some(Status::Handle));
        assert_eq!(TABLE.remove(first), Err(Status::Handle));
    }
    assert_eq!(TABLE.insert(4), Err(Status::System));
    let used = TABLE.get(handles[2]).expect("it is there");
    assert_eq!(TABLE.remove(handles[2]), Err(Status::Busy));
    assert_eq!(*used, 2);
    drop(used);
    assert_eq!(TABLE.remove(handles[2]), Ok(2));
    assert!(handles.iter().all(|handle| handle.addr() % 2 == 1));
}

/// Catches: a value that two threads remove.
#[test]
fn one_of_several_threads_removes_a_value() {
    static TABLE: Table<usize, 2> = Table::new(Kind::Scope);
    for round in 0..200 {
        let handle = TABLE.insert(round).expect("there is room").addr();
        let removed = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let handle = std::ptr::without_provenance_mut::<c_void>(handle);
                    while TABLE.peek(handle).is_ok() {
                        let one = usize::from(TABLE.remove(handle) == Ok(round));
                        removed.fetch_add(one, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(removed.into_inner(), 1);
    }
}

/// Catches: a number that is not returned, or one beyond the first word that is taken twice.
#[test]
fn numbers_are_dense_and_return_when_they_are_dropped() {
    let numbers = Numbers::new(usize::MAX, 131, Rule::Late);
    let taken: Vec<_> = (0..130).map(|_| numbers.take()).collect();
    let values: Vec<_> = taken.iter().map(|number| number.value).collect();
    assert_eq!(values, Vec::from_iter(1..131));
    for (at, number) in taken.into_iter().enumerate() {
        drop(number);
        assert_eq!(numbers.take().value, 1, "{at}");
    }
}

/// Catches: a block of a recursion that waits for a number which a block below it has.
#[test]
fn a_nested_participant_waits_for_no_number() {
    let numbers = Numbers::new(usize::MAX, 3, Rule::Nested);
    let taken = (numbers.take_if_free(), numbers.take_if_free());
    assert_eq!((taken.0.is_some(), taken.1.is_some()), (true, true));
    assert!(numbers.take_if_free().is_none());
    drop(taken);
    assert_eq!(numbers.take_if_free().map(|number| number.value), Some(1));
}

/// Catches: a value that is removed while the thread is inside that has inserted it.
#[test]
fn a_value_is_busy_while_its_inserter_is_inside() {
    static TABLE: Table<usize, 2> = Table::new(Kind::Pool);
    sinew_sync::fence::register();
    let handle = TABLE.insert(1).expect("the table is empty");
    let entries = (TABLE.enter(handle), TABLE.enter(handle));
    let address = handle.addr();
    let other = move || TABLE.remove(std::ptr::without_provenance_mut(address));
    let elsewhere = || std::thread::spawn(other).join().expect("it does not panic");
    assert!(entries.0.is_ok() && entries.1.is_ok());
    assert_eq!((TABLE.remove(handle), elsewhere()), (Err(Status::Busy), Err(Status::Busy)));
    drop(entries.0);
    assert_eq!(elsewhere(), Err(Status::Busy));
    drop(entries.1);
    assert_eq!(elsewhere(), Ok(1));
    assert_eq!(TABLE.enter(handle).err(), Some(Status::Handle));
}

/// Catches: two threads, one of which enters a value while the other one removes it.
#[test]
fn a_value_is_either_entered_or_removed() {
    static TABLE: Table<Box<usize>, 2> = Table::new(Kind::Pool);
    sinew_sync::fence::register();
    for round in 0..300 {
        let handle = TABLE.insert(Box::new(round)).expect("there is room");
        let address = handle.addr();
        let other = std::thread::spawn(move || {
            let handle = std::ptr::without_provenance_mut(address);
            while TABLE.remove(handle) == Err(Status::Busy) {}
        });
        while let Ok(_entry) = TABLE.enter(handle) {
            assert_eq!(TABLE.peek(handle).map(|value| **value), Ok(round));
        }
        other.join().expect("it does not panic");
    }
}

// SAFETY: the context is that of the call below.
unsafe extern "C-unwind" fn mark(
    context: *mut c_void,
    begin: usize,
    end: usize,
    worker: c_uint,
) -> c_int {
    // SAFETY: the context of the calls below.
    let marks = unsafe { &*context.cast::<[AtomicUsize; 100]>() };
    for mark in &marks[begin..end] {
        mark.fetch_add(1 + worker as usize * 1000, Ordering::Relaxed);
    }
    0
}

// SAFETY: as in the header, which C compilers read.
unsafe extern "C" {
    fn sinew_for(
        pool: *mut c_void,
        n: usize,
        options: *const c_void,
        context: *mut c_void,
        function: RangeFn,
    ) -> c_int;
    fn sinew_pool_create(options: *const c_void, pool: *mut *mut c_void) -> c_int;
    fn sinew_pool_destroy(pool: *mut c_void) -> c_int;
}

/// Catches: an index that is visited twice or never, and a number beyond the loop's threads.
#[test]
fn a_loop_visits_each_index_once_with_numbers_below_its_threads() {
    let options = PoolOptions { threads: 3, ..options::read(null()).expect("defaults are valid") };
    let loop_options = LoopOptions {
        threads: 2,
        schedule: 2,
        chunk: 1,
        ..options::read(null()).expect("defaults are valid")
    };
    let marks: [AtomicUsize; 100] = std::array::from_fn(|_| AtomicUsize::new(0));
    let mut pool = null_mut();
    // SAFETY: as the header demands.
    unsafe {
        assert_eq!(sinew_pool_create((&raw const options).cast(), &raw mut pool), 0);
        let context = (&raw const marks).cast_mut().cast();
        let options = (&raw const loop_options).cast();
        assert_eq!(sinew_for(pool, 100, options, context, mark), 0);
        assert_eq!(sinew_pool_destroy(pool), 0);
        assert_eq!(sinew_pool_destroy(pool), Status::Handle as c_int);
    }
    let right = |mark: AtomicUsize| [1, 1001].contains(&mark.into_inner());
    assert!(marks.into_iter().all(right));
}
