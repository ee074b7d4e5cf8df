//! Reads records, some of which may be wrong, and looks for some of them.
//!
//! Shows: `collect` into a `Result`, `partition`, `find_first` and `any`, which end early.

use sinew::prelude::*;
use std::num::ParseIntError;

#[derive(Debug, Clone, PartialEq)]
struct Record {
    name: String,
    size: u64,
}

fn parse(line: &str) -> Result<Record, ParseIntError> {
    let (name, size) = line.split_once('=').unwrap_or((line, ""));
    Ok(Record { name: name.to_owned(), size: size.parse()? })
}

fn main() {
    let good: Vec<String> = (0..50_000).map(|i| format!("file{i}={}", i * 37 % 1_000)).collect();
    let mut bad = good.clone();
    bad[30_000] = "file30000=large".to_owned();

    // All or nothing: the first error ends the chain.
    let records: Vec<Record> =
        good.par_iter().map(|line| parse(line)).collect::<Result<_, _>>().unwrap();
    let failed = bad.par_iter().map(|line| parse(line)).collect::<Result<Vec<_>, _>>();
    println!("{} records; the other list: {}", records.len(), failed.unwrap_err());

    // The good ones and the bad ones.
    let (read, wrong): (Vec<_>, Vec<_>) =
        bad.par_iter().map(|line| parse(line)).partition(Result::is_ok);
    assert_eq!((read.len(), wrong.len()), (49_999, 1));

    let first = records.par_iter().find_first(|record| record.size > 990);
    assert_eq!(first, records.iter().find(|record| record.size > 990));
    assert!(records.par_iter().any(|record| record.size == 999));
    let largest = records.par_iter().max_by_key(|record| record.size).unwrap();
    println!("first above 990: {first:?}, largest: {largest:?}");
}
