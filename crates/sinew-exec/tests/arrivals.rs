//! Many commands at a time: each runs as if it were alone, and leaves nothing behind.
//!
//! Blind to: their duration; `bench -- arrivals` measures that.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::until;

/// As many as arrive in a busy second.
const COMMANDS: usize = 64;

fn start(number: usize, place: &Path) -> Child {
    let mut command = Command::new(common::EXEC);
    let shell = format!("echo {number}; exit {number}");
    command.args(["table", "sh", "-c", &shell]).env("SINEW_TABLE_DIR", place);
    command.env_remove("SINEW_EXEC").env_remove("LD_PRELOAD");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the script's program")
}

/// Processes whose environment names the table.
fn left_behind(place: &Path) -> Vec<String> {
    let variable = format!("SINEW_TABLE_DIR={}", place.display());
    let names = |environment: Vec<u8>| {
        environment.split(|&byte| byte == 0).any(|word| word == variable.as_bytes())
    };
    let all = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    all.filter(|path| fs::read(path.join("environ")).is_ok_and(names))
        .map(|path| path.display().to_string())
        .collect()
}

/// Catches: a command that is lost, or ends with another status, when many start and end at once; a
/// row, a share agent or a watchdog that stays.
#[test]
fn commands_that_arrive_together_all_run_and_leave_no_row_and_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    let children: Vec<Child> = (0..COMMANDS).map(|number| start(number, &place)).collect();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), i32::try_from(number).ok(), "{number}: {said}");
        assert_eq!(output.stdout, format!("{number}\n").into_bytes());
        assert_eq!(said, "", "{number} has had a share");
    }
    until("no share agent and no watchdog", || left_behind(&place).is_empty());
    // The last command has removed the table.
    assert_eq!(fs::read_dir(&place).map_or(0, Iterator::count), 0, "no row");
}
