//! Pages of the machine that runs the test, as far as its number of nodes allows.
//!
//! Blind to: pages on a wrong node, on a machine of one node; the guest machine with four nodes
//! covers those.

use sinew_topology::{
    Memory, Placement, PlacementError, memory_nodes, page_nodes, place_pages_of_current_thread,
};

/// Every placement that this machine has.
fn placements() -> Vec<Placement> {
    let mut all = vec![Placement::FirstTouch];
    if cfg!(target_os = "linux") {
        let nodes = memory_nodes();
        all.extend(nodes.iter().map(Placement::Bind));
        all.extend([Placement::BindLocal, Placement::Cyclic, Placement::OneNode]);
    }
    all
}

/// Catches: a placement that gives no memory, memory that is not zero, or a page on a node that
/// it may not be on.
#[test]
fn memory_of_every_placement_is_zeroed_and_lies_on_its_nodes() {
    for placement in placements() {
        let pages = 5;
        let memory = match Memory::new(pages * Memory::page_bytes(), placement) {
            Ok(memory) => memory,
            Err(error @ PlacementError::Refused { .. }) => {
                println!("skipped: {error}");
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        // SAFETY: the memory exists, is initialised, and no other code uses it.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(memory.start().as_ptr(), memory.bytes()) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        bytes.fill(1);
        match page_nodes(bytes) {
            Ok(found) => {
                assert!(found.len() == pages && found.iter().all(|node| allowed(placement, *node)));
            }
            Err(error) => println!("skipped: {error}"),
        }
    }
}

fn allowed(placement: Placement, node: Option<usize>) -> bool {
    match placement {
        Placement::Bind(wanted) => node == Some(wanted),
        Placement::OneNode => node == memory_nodes().lowest(),
        _ => node.is_some_and(|node| memory_nodes().contains(node)),
    }
}

/// Catches: a node that is refused only after an allocation.
#[test]
fn a_node_that_does_not_exist_is_refused_before_anything_is_allocated() {
    let nowhere = Placement::Bind(999_999);
    let impossible = usize::MAX / 2;
    for error in [nowhere.check().unwrap_err(), Memory::new(impossible, nowhere).unwrap_err()] {
        let message = error.to_string();
        assert!(message.contains("`bind:999999`") && !message.contains('\n'), "{message}");
    }
    assert!(place_pages_of_current_thread(nowhere).is_err());
}

/// Catches: a failed allocation that aborts.
#[test]
fn more_memory_than_there_is_is_an_error_that_names_the_bytes() {
    for bytes in [usize::MAX, usize::MAX / 2 + 1] {
        let error = Memory::new(bytes, Placement::FirstTouch).unwrap_err();
        assert!(error.to_string().contains(&bytes.to_string()), "{error}");
    }
}

/// Catches: pages that belong to a range in part, counted twice or not at all.
#[test]
fn every_page_that_a_slice_touches_has_an_entry() {
    let page = Memory::page_bytes();
    let bytes = vec![1_u8; 4 * page];
    let lead = bytes.as_ptr().align_offset(page);
    for (range, pages) in [
        (lead..lead + 1, 1),
        (lead..lead + page, 1),
        (lead..lead + page + 1, 2),
        (lead + page - 1..lead + page + 1, 2),
    ] {
        match page_nodes(&bytes[range]) {
            Ok(found) => assert_eq!(found.len(), pages),
            Err(error) => println!("skipped: {error}"),
        }
    }
    assert!(
        page_nodes::<u8>(&[]).is_ok_and(|found| found.is_empty()) || cfg!(not(target_os = "linux"))
    );
}

/// Catches: an untouched page for which a node is returned.
#[test]
fn an_untouched_page_has_no_node() {
    let memory = Memory::new(2 * Memory::page_bytes(), Placement::FirstTouch).unwrap();
    // SAFETY: the memory exists and is initialised; it is not read here.
    let bytes = unsafe { std::slice::from_raw_parts(memory.start().as_ptr(), memory.bytes()) };
    match page_nodes(bytes) {
        // A kernel that does not report nodes makes the only node the result for all pages.
        Ok(found) => assert!(found == [None, None] || memory_nodes().len() == 1, "{found:?}"),
        Err(error) => println!("skipped: {error}"),
    }
}

/// Catches: a thread that keeps its placement after the drop, if then no allocation succeeds. The
/// guest machine checks the nodes.
#[test]
fn a_thread_has_a_placement_for_a_time() {
    for placement in placements() {
        match place_pages_of_current_thread(placement) {
            Ok(_placed) => {
                assert!(vec![1_u8; 3 * Memory::page_bytes()].iter().all(|&byte| byte == 1));
            }
            Err(error) => println!("skipped: {error}"),
        }
    }
}
