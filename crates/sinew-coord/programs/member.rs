//! A program that only takes part in the table; tests start, stop and kill it.
//!
//! `member FOLDER NAME CPUS ACTION [FAIL_POINT]`. ACTION is one of:
//!
//! - `stay`: stays in the table until standard input ends;
//! - `churn`: joins and leaves until it is killed;
//! - `halt`: does nothing more;
//! - `fork`: forks a copy of itself;
//! - `spawn`: starts another program as its child.
//!
//! The last three happen when a change of the table by this program reaches FAIL_POINT, for example
//! `Writing`, and the program stays there. Without a FAIL_POINT they happen once it has joined.
//! Then it prints `done` and the child's number. Otherwise it prints its share whenever that
//! changes, one line each: `EPOCH THREADS CORES NEIGHBOURS`.

use std::io::{Read, Write};

use sinew_coord::{CpuSet, FailPoint, Member, Offer, Table, at_fail_point};
use sinew_policy::share::Layout;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, cpus, action, fail_point @ ..] = words.as_slice() else {
        eprintln!("usage: member FOLDER NAME CPUS stay|churn|halt|fork|spawn [FAIL_POINT]");
        std::process::exit(2);
    };
    let cpus: usize = cpus.parse().expect("a number of CPUs");
    let table = Table::open_on(folder.as_ref(), Layout::flat(cpus)).expect("a table");
    let offer = Offer::on(name, CpuSet::first(cpus), cpus as u32);
    match action.as_str() {
        "stay" => stay(&table, offer),
        "churn" => churn(&table, &offer),
        action => run_action(&table, offer, action_named(action), fail_point.first()),
    }
}

fn stay(table: &Table, offer: Offer) {
    let member = Member::join(table, offer).expect("a row");
    member.on_change(|share| {
        say(&format!("{} {} {} {}", share.epoch, share.threads, share.cores, share.neighbours));
    });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn churn(table: &Table, offer: &Offer) {
    println!("begun");
    loop {
        if let Ok(member) = Member::join(table, offer.clone()) {
            member.set_demand(1);
        }
    }
}

fn action_named(action: &str) -> fn() {
    match action {
        "halt" => || finish(std::process::id()),
        "fork" => || finish(fork()),
        "spawn" => || {
            let child = std::process::Command::new("sleep").arg("600").spawn();
            finish(child.expect("a child").id());
        },
        _ => panic!("{action} is no action"),
    }
}

/// Runs the action, at a fail point of the next change or now.
fn run_action(table: &Table, offer: Offer, action_named: fn(), fail_point: Option<&String>) {
    let member = Member::join(table, offer).expect("a row");
    let Some(name) = fail_point else { return action_named() };
    let point = FailPoint::ALL.into_iter().find(|point| format!("{point:?}") == *name);
    at_fail_point(point.expect("a fail point"), action_named);
    // With neighbours, this is a change of the table.
    member.set_demand(1);
    panic!("{name} was not reached");
}

fn finish(child: u32) {
    say(&format!("done {child}"));
    loop {
        std::thread::park();
    }
}

/// Prints and flushes at once: a killed process does not flush.
fn say(line: &str) {
    let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
    let _ = std::io::stdout().flush();
}

/// The child does nothing. This returns once the child runs, and so has closed what it must.
#[cfg(target_os = "linux")]
fn fork() -> u32 {
    let (mut runs, run) = std::io::pipe().expect("a pipe");
    // SAFETY: the child only calls what may be called between fork and exec, whatever other threads
    // hold.
    match unsafe { libc::fork() } {
        0 => loop {
            let _ = (&run).write(&[0]);
            // SAFETY: takes nothing, and waits for a signal.
            unsafe { libc::pause() };
        },
        child => {
            runs.read_exact(&mut [0]).expect("a child that runs");
            u32::try_from(child).expect("a child")
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn fork() -> u32 {
    panic!("only on Linux")
}
