//! A command that has the whole machine is left as it is, and masks are noted before the first of
//! them is set.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Child, Stdio};

use common::compile::{build, builds_openmp};
use common::{Script, mask_of, masks_of, two_cpus, until, words};
use sinew_preload::layout;
use sinew_topology::CpuSet;

/// One short region after the other, until it is ended.
const ENDLESS: &str = "int main(void) { for (;;) {
#pragma omp parallel
__asm__ volatile(\"\");
} }";

/// The page of a command, and the notes after it.
fn page_of(child: &Child) -> Option<File> {
    let environment = fs::read(format!("/proc/{}/environ", child.id())).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    let address = variables.find_map(|variable| variable.strip_prefix(b"SINEW_EXEC="))?;
    let [watchdog, page, _] = layout::parse(address)?;
    File::open(format!("/proc/{watchdog}/fd/{page}")).ok()
}

fn word(page: &File, at: usize) -> u32 {
    let mut word = [0; 4];
    page.read_exact_at(&mut word, at as u64).unwrap();
    u32::from_ne_bytes(word)
}

/// The masks that the watchdog would find.
fn noted(page: &File) -> Vec<String> {
    let mut text = [0; 256];
    page.read_exact_at(&mut text, layout::BYTES as u64).unwrap();
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

/// Catches: threads of a lone program that are put on a processor each and released again, and
/// masks that are set by turns and are not noted.
#[test]
fn a_team_that_has_the_whole_machine_is_not_touched() {
    if two_cpus().is_none() {
        return;
    }
    if !builds_openmp("gcc") {
        println!("skipped: gcc cannot build OpenMP programs here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = build("gcc", folder.path(), ENDLESS, "endless", &[]).expect("a program");
    let script = Script::new();
    let mut command = script.command(&words(&[]), &[program.as_os_str()]);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let all = mask_of(std::process::id()).unwrap();
    let count = |mask: &str| mask.parse::<CpuSet>().map_or(0, |cpus| cpus.len());
    let mut grants = script.writer_from(&format!("{all} {}", count(&all)));
    until("a page", || page_of(&child).is_some());
    let page = page_of(&child).unwrap();
    let told = || word(&page, layout::threads_at(0)) as usize;
    until("a team that is told its number", || told() == count(&all));
    assert!(noted(&page).is_empty(), "{:?}", noted(&page));
    assert!(masks_of(child.id()).iter().all(|mask| *mask == all));
    // More programs than processors, each with one thread on all: they take turns.
    writeln!(grants, "{all} 1 0/{}", count(&all) + 1).unwrap();
    let masks = || masks_of(child.id());
    until("a processor at a time", || masks().iter().all(|mask| count(mask) == 1));
    let noted = noted(&page);
    assert!(masks().iter().all(|mask| noted.contains(mask)), "{noted:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}
