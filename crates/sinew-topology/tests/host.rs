//! The machine that runs the test: checks that hold on any machine, and real threads that are
//! pinned.
//!
//! Blind to: wrong values that are consistent.

use std::thread;

use sinew_topology::{
    CpuAssignment, CpuSet, Level, Limits, Machine, Mapping, PinError, ThreadRef, current_cpu,
    move_current_thread, override_binding, pin_current_thread, record_mask, recorded_mask,
};

/// One of the CPUs that this process may use, as a set.
fn one_of(allowed: &CpuSet) -> CpuSet {
    allowed.iter().take(1).collect()
}

/// Whether threads can be pinned here; prints a line if not.
fn can_pin() -> bool {
    match pin_current_thread(Limits::read().allowed()) {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

#[test]
fn the_host_is_a_sound_tree_that_holds_what_we_may_use() {
    let machine = Machine::host();
    machine.check().unwrap();
    let limits = Limits::read();
    assert!((1..=machine.count(Level::Pu)).contains(&limits.effective_threads()));
    assert_eq!(machine.cpus().intersection(limits.allowed()), *limits.allowed());
    let cpu_assignment = CpuAssignment::new(
        machine,
        limits.allowed(),
        &Mapping::Compact,
        limits.effective_threads(),
    )
    .unwrap();
    assert!(cpu_assignment.cpus().iter().flatten().all(|&cpu| limits.allowed().contains(cpu)));
}

#[test]
fn the_host_has_as_many_pus_as_the_kernel_counts() {
    let Ok(stat) = std::fs::read_to_string("/proc/stat") else {
        println!("skipped: /proc/stat does not exist");
        return;
    };
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    assert_eq!(Machine::host().count(Level::Pu), stat.lines().filter(is_cpu).count());
}

#[test]
fn the_host_agrees_with_hwloc() {
    let level = |name: &str| {
        let output = std::process::Command::new("hwloc-calc")
            .args(["--number-of", name, "all"])
            .output()
            .ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<usize>().ok()
    };
    for (name, ours) in [("package", Level::Package), ("core", Level::Core), ("pu", Level::Pu)] {
        match level(name) {
            Some(theirs) => assert_eq!(Machine::host().count(ours), theirs, "{name}"),
            None => println!("skipped: hwloc-calc prints nothing for {name}"),
        }
    }
}

#[test]
fn a_pinned_thread_runs_on_its_cpus_until_it_is_unpinned() {
    if !can_pin() {
        return;
    }
    thread::spawn(|| {
        let before = Limits::read();
        for cpu in before.allowed().iter() {
            let pinned = pin_current_thread(&[cpu].into_iter().collect()).unwrap();
            assert_eq!(current_cpu(), Some(cpu));
            drop(pinned);
        }
        assert_eq!(Limits::read().affinity(), before.affinity());
        // The saved mask is gone as well: this is the kernel's value, on a thread that inherits the
        // mask.
        let inherited = thread::spawn(|| Limits::read().affinity().clone()).join().unwrap();
        assert_eq!(&inherited, before.affinity());
    })
    .join()
    .unwrap();
}

#[test]
fn a_pinned_thread_still_knows_what_the_process_may_use() {
    if !can_pin() {
        return;
    }
    thread::spawn(|| {
        let before = Limits::read();
        let outer = pin_current_thread(&one_of(before.allowed())).unwrap();
        let inner = pin_current_thread(&one_of(before.allowed())).unwrap();
        assert_eq!(Limits::read().affinity(), before.affinity());
        drop(inner);
        assert_eq!(Limits::read().affinity(), before.affinity());
        drop(outer);
        assert_eq!(Limits::read().affinity(), before.affinity());
    })
    .join()
    .unwrap();
}

#[test]
fn a_pin_can_be_moved_and_is_undone_as_a_whole() {
    if !can_pin() {
        return;
    }
    thread::spawn(|| {
        let before = Limits::read();
        let mut pinned = pin_current_thread(&one_of(before.allowed())).unwrap();
        for cpu in before.allowed().iter() {
            pinned.move_to(&[cpu].into_iter().collect()).unwrap();
            assert_eq!(current_cpu(), Some(cpu));
        }
        drop(pinned);
        let inherited = thread::spawn(|| Limits::read().affinity().clone()).join().unwrap();
        assert_eq!(&inherited, before.affinity());
    })
    .join()
    .unwrap();
}

/// The calling thread's mask.
fn mask() -> CpuSet {
    ThreadRef::current().and_then(ThreadRef::affinity).unwrap()
}

/// Removes the lowest CPU from the calling thread's mask, as other code does.
fn bind_away() -> CpuSet {
    let before = mask();
    assert!(ThreadRef::current().unwrap().exclude_cpu(before.lowest().unwrap(), &before));
    mask()
}

/// Catches: a binding that a pin, a move or the end of a pin overwrites, also after the thread has
/// got its first mask back.
#[test]
fn a_thread_that_other_code_has_bound_is_left_alone_for_good() {
    if !can_pin() || mask().len() < 2 {
        println!("skipped: a binding needs two CPUs");
        return;
    }
    let is_bound = |at: &CpuSet| matches!(pin_current_thread(at), Err(PinError::Bound));
    let whole = mask();
    thread::scope(|s| {
        s.spawn(|| {
            record_mask();
            let bound = bind_away();
            assert!(is_bound(&one_of(&whole)) && mask() == bound);
            move_current_thread(&one_of(&whole), &whole);
            ThreadRef::current().unwrap().restore_affinity(whole.lowest().unwrap(), &whole);
            assert!(is_bound(&one_of(&whole)) && mask() == whole);
        });
        s.spawn(|| {
            let mut outer = pin_current_thread(&whole).unwrap();
            let inner = pin_current_thread(&whole).unwrap();
            let bound = bind_away();
            drop(inner);
            assert!(matches!(outer.move_to(&one_of(&whole)), Err(PinError::Bound)));
            drop(outer);
            assert_eq!(mask(), bound);
            assert_eq!(Limits::read().affinity(), &bound);
        });
        s.spawn(|| {
            let bound = bind_away();
            move_current_thread(&one_of(&whole), &whole);
            assert!(is_bound(&bound), "narrower than the others at the first look");
        });
        s.spawn(|| {
            move_current_thread(&one_of(&whole), &whole);
            assert_eq!(mask(), whole);
            let pinned = pin_current_thread(&one_of(&whole)).unwrap();
            drop(pinned);
            assert_eq!(mask(), whole);
        });
    });
}

/// Catches: a newer request that a binding outlasts, a binding that is lost when the request ends,
/// and a second binding to the CPUs of the first that is overwritten.
#[test]
fn an_overridden_binding_is_back_after_the_pin_and_counts_again() {
    if !can_pin() || mask().len() < 2 {
        println!("skipped: a binding needs two CPUs");
        return;
    }
    let is_bound = |at: &CpuSet| matches!(pin_current_thread(at), Err(PinError::Bound));
    let (whole, first) = (mask(), one_of(&mask()));
    thread::scope(|s| {
        for is_noticed in [true, false] {
            let (whole, first) = (&whole, &first);
            s.spawn(move || {
                record_mask();
                assert!(!override_binding(), "there is none");
                let binding = bind_away();
                assert!(!is_noticed || is_bound(first));
                assert!(override_binding() && mask() == binding);
                let mut pinned = pin_current_thread(first).unwrap();
                assert_eq!((mask(), recorded_mask()), (first.clone(), Some(first.clone())));
                pinned.move_to(whole).unwrap();
                drop(pinned);
                assert_eq!((mask(), recorded_mask()), (binding, None));
                assert!(is_bound(first));

                // The same CPUs again, while a newer pin is in force.
                assert!(override_binding());
                let mut pinned = pin_current_thread(whole).unwrap();
                let binding = bind_away();
                assert!(matches!(pinned.move_to(first), Err(PinError::Bound)));
                drop(pinned);
                assert_eq!(mask(), binding);
            });
        }
    });
}

#[test]
fn a_pin_to_no_existing_cpu_is_refused_and_leaves_the_thread_alone() {
    if !can_pin() {
        return;
    }
    thread::spawn(|| {
        let before = Limits::read();
        for nowhere in [CpuSet::new(), [100_000].into_iter().collect()] {
            let error = pin_current_thread(&nowhere).unwrap_err();
            assert!(
                matches!(&error, PinError::Refused { cpus, .. } if *cpus == nowhere),
                "{error}"
            );
            assert!(!error.to_string().contains('\n'));
        }
        let inherited = thread::spawn(|| Limits::read().affinity().clone()).join().unwrap();
        assert_eq!(&inherited, before.affinity());
    })
    .join()
    .unwrap();
}
