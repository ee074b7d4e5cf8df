//! The real binary, started like a user does: its output and its exit status.
//!
//! Blind to: drawing on a terminal; none is attached here.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn sinew(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.args(words).stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn good(words: &[&str]) -> String {
    let output = sinew(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Asserts exit status 2, no output and one line on standard error, which is returned.
fn bad(words: &[&str]) -> String {
    let output = sinew(words).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.starts_with("sinew: "), "{message}");
    message
}

#[test]
fn a_machine_can_be_shown_as_a_tree_and_as_json() {
    let tree = good(&["topo", "--synthetic", "package:2 l3:1 core:2 pu:2"]);
    assert!(tree.starts_with("machine: 2 packages") && tree.contains("PU 0-1"), "{tree}");
    let json: Value =
        serde_json::from_str(&good(&["topo", "--json", "--synthetic", "package:2 core:2"]))
            .unwrap();
    assert!(json.is_object());
    assert!(good(&["topo"]).starts_with("machine: "));
    assert!(serde_json::from_str::<Value>(&good(&["topo", "--json"])).unwrap().is_object());
}

#[test]
fn help_and_version_go_to_standard_output() {
    for words in [&["--help"][..], &["exec", "--help"], &["help", "topo"], &["--version"]] {
        assert!(good(words).contains("sinew"), "{words:?}");
    }
}

/// Catches: a coordinator that takes itself for one of several machines.
#[test]
fn a_coordinator_over_machines_names_the_missing_part() {
    let missing = if cfg!(feature = "mpi") { "mpirun -n MACHINES" } else { "feature `mpi`" };
    assert!(bad(&["coordinator", "--machines"]).contains(missing));
}

#[test]
fn a_misspelt_command_or_option_is_refused_in_one_line() {
    assert!(bad(&["exce"]).contains("did you mean `exec`?"));
    assert!(bad(&["topo", "x"]).contains("'x'"));
    let commands = "a command is needed: exec, top, coordinator, topo";
    assert!(bad(&[]).contains(commands), "{}", bad(&[]));
    let message = bad(&["topo", "--synthetic", "package:0"]);
    assert!(message.contains("package:0"), "{message}");
}

/// Catches: a script that the shell cannot read, or that completes nothing.
#[cfg(all(unix, feature = "completions"))]
#[test]
fn bash_completes_with_the_script() {
    let words = |line: &str| {
        let script = good(&["completions", "bash"]);
        let words: Vec<&str> = line.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let ask = format!(
            "{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={}\n_sinew sinew '{last}' '{before}'\n\
             echo \"${{COMPREPLY[@]}}\"",
            words.len() - 1
        );
        Command::new("bash").args(["--norc", "-c", &ask]).output().map(|output| {
            assert_eq!(text(&output.stderr), "", "{line}");
            text(&output.stdout)
        })
    };
    let Ok(commands) = words("sinew co") else {
        eprintln!("skipped: there is no bash");
        return;
    };
    assert_eq!(commands, "coordinator completions\n");
    assert_eq!(words("sinew exec --m").unwrap(), "--malleable --min --max\n");
    assert_eq!(words("sinew topo --syn").unwrap(), "--synthetic\n");
}

#[cfg(feature = "completions")]
#[test]
fn a_folder_for_pages_that_cannot_be_made_is_an_error() {
    let output = sinew(&["man", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml/x")]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("Cargo.toml/x"), "{}", text(&output.stderr));
}

/// The output of a command whose reader leaves after `lines` lines.
fn with_impatient_reader(words: &[&str], lines: usize) -> Output {
    let mut child = sinew(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..lines {
        reader.read_line(&mut String::new()).unwrap();
    }
    drop(reader);
    child.wait_with_output().unwrap()
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let large = "package:64 l3:8 core:64 pu:2";
    for words in [&["topo", "--json", "--synthetic", large][..], &["topo"], &["--help"]] {
        for lines in [0, 1] {
            let output = with_impatient_reader(words, lines);
            assert_eq!(output.status.code(), Some(0), "{words:?}");
            assert_eq!(text(&output.stderr), "", "{words:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sinew(&["topo"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("sinew: cannot write"), "{}", text(&output.stderr));
}
