//! A program that does nothing but take part: what tests start, stop and kill.
//!
//! `member FOLDER NAME CPUS WHAT`, where WHAT is `stay` (until standard input ends), `churn` (joins and leaves until it is killed), or `fork` (forks and lives on as both).
//! It prints its share whenever it changes, one line each: `EPOCH THREADS CORES NEIGHBOURS`.

use std::io::{Read, Write};

use sinew_coord::{CoreSet, Member, Offer, Table};
use sinew_policy::share::Layout;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, cpus, what] = words.as_slice() else {
        eprintln!("usage: member FOLDER NAME CPUS stay|churn");
        std::process::exit(2);
    };
    let cpus: usize = cpus.parse().expect("a number of CPUs");
    let table = Table::open_on(folder.as_ref(), Layout::flat(cpus)).expect("a table");
    let offer = Offer::on(name, CoreSet::first(cpus), cpus as u32);
    match what.as_str() {
        "churn" => churn(&table, &offer),
        _ => stay(&table, offer),
    }
}

fn stay(table: &Table, offer: Offer) {
    let member = Member::join(table, offer).expect("a row");
    member.on_change(|share| {
        // Written at once: nobody flushes for who is killed.
        let line = format!("{} {} {} {}\n", share.epoch, share.threads, share.cores, share.neighbours);
        let _ = std::io::stdout().write_all(line.as_bytes());
        let _ = std::io::stdout().flush();
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
