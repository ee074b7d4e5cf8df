//! Invalid command lines: wrong words, numbers and files, and readers that have gone.
//!
//! Blind to: a full disk; the tests of `ResultFile` cover it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn sinew(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.current_dir(folder).args(words).stdin(Stdio::null());
    command
}

fn output(folder: &Path, words: &[&str]) -> Output {
    sinew(folder, words).output().expect("the command starts")
}

/// Standard output without a reader from the start, so every write fails.
fn unread(folder: &Path, words: &[&str]) -> Output {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    sinew(folder, words).stdout(writer).output().expect("the command starts")
}

/// A folder with files that a user may name by mistake.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).expect("room");
    write("empty", b"");
    write("binary", b"\xff\xfe");
    write("cut.json", b"{\"a\": ");
    write("bad.toml", b"not toml [");
    write("misspelt.toml", b"[[experiment]]\nname = \"wool-tabel1\"\n");
    write("bad.script", b"when nobody");
    fs::create_dir(folder.path().join("dir")).expect("room");
    std::os::unix::fs::symlink("loop", folder.path().join("loop")).expect("room");
    folder
}

/// Command lines, each with the text that its message must contain.
const REFUSED: &[(&[&str], &str)] = &[
    (&["rnu"], "did you mean `run`"),
    (&[""], "there is no command ``"),
    (&["run"], "NAME"),
    (&["run", ""], "there is no application ``"),
    (&["run", "fibb"], "did you mean `fib`"),
    (&["run", "fib", "--threads", "NaN"], "'NaN'"),
    (&["run", "fib", "--threads", ""], "''"),
    (&["run", "fib", "--threads", "-1"], "'-1'"),
    (&["run", "fib", "--threads", "99999999999999999999"], "'99999999999999999999'"),
    (&["run", "fib", "--threads", "1000000"], "1000000"),
    (&["run", "fib", "--size", ""], "``"),
    (&["run", "fib", "--size", "-1"], "`-1`"),
    (&["run", "fib", "--size", "999999999999"], "`999999999999`"),
    (&["run", "fib", "--repeat", "99999999999999999999999"], "'99999999999999999999999'"),
    (&["run", "wordcount", "--path", "missing"], "`missing`"),
    (&["run", "wordcount", "--path", "loop"], "`loop`"),
    (&["run", "fib", "--size", "tiny", "--trace", "dir"], "`dir`"),
    (&["run", "fib", "--size", "tiny", "--trace", "missing/x"], "`missing/x`"),
    (&["run", "fib", "--size", "tiny", "--trace", ""], "--trace"),
    (&["run", "fib", "--size", "tiny", "--record", "loop"], "`loop`"),
    (&["run", "fib", "--size", "tiny", "--trace", "x", "--record", "x"], "`x` is named by"),
    (&["run", "kmeans", "--tuner-path", "x"], "--tune"),
    (&["run", "fib", "--tuner-path", "x", "--tune", "auto"], "no worklist"),
    (&["run", "kmeans", "--tune", "9999 threads"], "9999"),
    (&["run", "kmeans", "--tune", "2 threads, steeling"], "`steeling`"),
    (&["run", "fib", "--mapping", "0,,1"], "'0,,1'"),
    (&["run", "fib", "--mapping", "compct"], "`compct`"),
    (&["run", "fib", "--wait", "leapfrogg"], "`leapfrogg`"),
    (&["run", "fib", "--victims", "set:NaN"], "set:NaN"),
    (&["run", "fib", "--schedule", "dynamic:-1"], "dynamic:-1"),
    (&["run", "fib", "--pages", "x"], "`x`"),
    (&["run", "fib", "--json=yes"], "'yes'"),
    (&["demo", "--size", "huge"], "'huge'"),
    (&["demo", "--size", "tiny", "--path", "missing"], "`missing`"),
    (&["draw"], "PICTURE"),
    (&["draw", "chunk"], "'chunk'"),
    (&["draw", "chunks", "--threads", "0"], "'0'"),
    (&["draw", "chunks", "--threads", "1000000"], "1000000"),
    (&["draw", "chunks", "--out", "missing/x"], "`missing/x`"),
    (&["draw", "timeline", "--out", "dir"], "`dir`"),
    (&["draw", "tuning", "--out", "loop"], "`loop`"),
    (&["list", "x"], "'x'"),
    (&["oracle", "kmeanz"], "did you mean `kmeans`"),
    (&["oracle", "fib"], "fib"),
    (&["oracle", "kmeans", "--quick", "--threads", "99999999999"], "99999999999"),
    (&["oracle", "kmeans", "--quick", "--out", "empty"], "`empty/kmeans`"),
    (&["reproduce", "wool-tabel1"], "did you mean `wool-table1`"),
    (&["reproduce", "--config", "missing.toml"], "`missing.toml`"),
    (&["reproduce", "--config", "bad.toml"], "`bad.toml`"),
    (&["reproduce", "--config", "misspelt.toml"], "`wool-tabel1`"),
    (&["reproduce", "--config", "dir"], "`dir`"),
    (&["reproduce", "--config", "binary"], "`binary`"),
    (&["reproduce", "--config", "empty"], "`empty`"),
    (&["reproduce", "wool-table1", "--threads", "1,x"], "'x'"),
    (&["reproduce", "wool-table1", "--threads", "999999999"], "999999999"),
    (&["reproduce", "wool-table1", "--seed", "-1"], "'-1'"),
    (&["reproduce", "wool-table1", "--size", "quick", "--out", "empty"], "`empty/wool-table1`"),
    (&["report", "missing"], "`missing`"),
    (&["report", "cut.json"], "`cut.json`"),
    (&["report", "loop"], "`loop`"),
    (&["report", "empty"], "`empty`"),
    (&["report", "cut.json", "--out", "dir"], "`dir`"),
    (&["sim"], "a program is needed"),
    (&["sim", "trees:3"], "`trees:3`"),
    (&["sim", "tree:41"], "`tree:41`"),
    (&["sim", "tree:NaN"], "`tree:NaN`"),
    (&["sim", "graph:missing"], "`missing`"),
    (&["sim", "graph:dir"], "`dir`"),
    (&["sim", "graph:binary"], "`binary`"),
    (&["sim", "tree:3", "--workers", "1,,2"], "''"),
    (&["sim", "tree:3", "--workers", "99999999"], "99999999"),
    (&["sim", "tree:3", "--seed", "-1"], "'-1'"),
    (&["sim", "tree:3", "--seed", "1e3"], "whole number"),
    (&["sim", "tree:3", "--costs", "bad.toml"], "bad.toml"),
    (&["sim", "tree:3", "--cost", "steel=3"], "`steel`"),
    (&["sim", "tree:3", "--cost", "steal=NaN"], "`NaN`"),
    (&["sim", "tree:3", "--machine", "core:4", "--cost", "factors=0"], "distance factor of 0"),
    (&["sim", "tree:3", "--csv", "dir"], "`dir`"),
    (&["sim", "tree:3", "--csv", "missing/x"], "`missing/x`"),
    (&["sim", "--calibrate", "--csv", "x"], "--csv"),
    (&["sim", "--calibrate", "missing/x"], "`missing/x`"),
    (&["sim", "programs", "--mix", "bad.script"], "bad.script"),
    (&["sim", "programs", "--mix", "cut.json"], "cut.json"),
    (&["sim", "programs", "--policy", "fair"], "`fair`"),
    (&["sim", "programs", "--policy", "energy"], "--watts 20,5"),
    (&["sim", "programs", "--watts", "5"], "'5'"),
    (&["sim", "worklist:units=NaN"], "`units=NaN`"),
    (&["sim", "domains:-1"], "`-1`"),
    (&["sim", "loop:9", "--schedule", "gided"], "`gided`"),
    (&["sim", "loop:9", "--schedule", "static", "--slow", "NaN"], "NaN"),
];

/// Catches: a wrong command line that runs, hangs, aborts, or is not explained in exactly one line
/// that names the wrong value.
#[test]
fn a_wrong_command_line_is_one_line_that_names_the_value() {
    let folder = folder();
    let before = fs::read_dir(folder.path()).expect("a folder").count();
    for (words, says) in REFUSED {
        let out = output(folder.path(), words);
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{words:?}: {error}");
        assert!(out.stdout.is_empty() && error.lines().count() == 1, "{words:?}: {error}");
        assert!(error.starts_with("sinew-lab: ") && error.contains(says), "{words:?}: {error}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), before, "nothing is made");
}

/// Catches: results of an earlier run that are lost although there are no new ones.
#[test]
fn a_file_of_results_keeps_what_it_held_until_there_are_new_ones() {
    let folder = folder();
    let file = folder.path().join("results");
    fs::write(&file, "earlier").expect("room");
    for words in [
        &["run", "fib", "--size", "wrong", "--trace", "results"][..],
        &["run", "fib", "--size", "wrong", "--record", "results"],
        &["run", "kmeans", "--size", "wrong", "--tune", "auto", "--tuner-path", "results"],
        &["sim", "graph:missing", "--csv", "results"],
        &["sim", "--calibrate", "results", "--cost", "steal=1"],
        &["report", "missing", "--out", "results"],
    ] {
        assert_eq!(output(folder.path(), words).status.code(), Some(2), "{words:?}");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "earlier", "{words:?}");
    }
    let done = output(folder.path(), &["run", "fib", "--size", "tiny", "--trace", "results"]);
    assert!(done.status.success());
    assert!(fs::read_to_string(&file).expect("a file").contains("traceEvents"));
    assert!(!folder.path().join(".results.partial").exists());
}

/// Catches: a file that is not written because standard output is closed.
#[test]
fn files_are_written_even_if_nobody_reads_the_rest() {
    let folder = folder();
    for (words, begins) in [
        (&["sim", "tree:3", "--csv", "file"][..], "workers,victims,"),
        (&["run", "fib", "--size", "tiny", "--trace", "file"], "{\"traceEvents\""),
        (&["run", "fib", "--size", "tiny", "--record", "file"], "sinew graph"),
    ] {
        let out = unread(folder.path(), words);
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success() && !error.contains("panicked"), "{words:?}: {error}");
        let text = fs::read_to_string(folder.path().join("file")).expect("a file");
        assert!(text.starts_with(begins), "{words:?}: {text}");
        fs::remove_file(folder.path().join("file")).expect("a file");
    }
}

/// Catches: experiments that do not run because the report of the first one was not read.
#[test]
fn experiments_go_on_if_nobody_reads() {
    let folder = folder();
    let config = "[defaults]\nsize = \"quick\"\nrepeat = 1\nthreads = [1]\n\
        [[experiment]]\nname = \"plastic-metrics\"\n[[experiment]]\nname = \"plastic-switching\"\n";
    fs::write(folder.path().join("two.toml"), config).expect("room");
    let out = unread(folder.path(), &["reproduce", "--config", "two.toml"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for name in ["plastic-metrics", "plastic-switching"] {
        let meta =
            fs::read_to_string(folder.path().join("reproduced").join(name).join("meta.json"));
        assert!(meta.is_ok_and(|meta| meta.contains("\"finished\": true")), "{name}");
    }
}
