//! `sinew-lab draw`: the pictures, and those that the guide of the library shows.
//!
//! Blind to: a picture that is hard to read.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The pictures, each with parts that it has to have.
const PICTURES: [(&str, &[&str]); 3] = [
    ("timeline", &["2 workers", "worker 0", "worker 1", "static", "1 thread", "time, ms"]),
    ("chunks", &["2 workers", "static, ", "dynamic:16, ", "stealing (default), ", "worker 0"]),
    ("tuning", &["2 workers", "threads", "units per µs", "start", "time, ms"]),
];

/// The most bytes of a picture: the guide contains all of them.
const MOST_BYTES: usize = 40_000;

fn sinew(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.env_remove("SINEW_MAPPING").args(words).output().expect("the command starts")
}

/// Asserts that the picture is small, well-formed, has these parts, and has no blank line, at
/// which an HTML block of Markdown ends.
fn check(picture: &str, parts: &[&str]) {
    assert!(picture.len() <= MOST_BYTES, "{} bytes", picture.len());
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    for part in parts {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert!(picture.lines().all(|line| !line.trim().is_empty()), "{picture}");
    assert!(is_well_formed(picture), "{picture}");
}

/// Whether every element ends, in the reverse order of the beginnings.
fn is_well_formed(picture: &str) -> bool {
    let mut open = Vec::new();
    for part in picture.split('<').skip(1) {
        let Some((tag, text)) = part.split_once('>') else { return false };
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap_or_default();
        let is_right = match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(_), _) => open.pop() == Some(name),
            (None, true) => true,
            (None, false) => {
                open.push(name);
                true
            }
        };
        if !is_right || text.contains('>') {
            return false;
        }
    }
    open.is_empty()
}

/// Catches: a picture that no viewer opens, or that is as large as a photograph.
#[test]
fn every_picture_is_small_and_well_formed() {
    for (name, parts) in PICTURES {
        let out = sinew(&["draw", name, "--threads", "2"]);
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success() && error.is_empty(), "{name}: {error}");
        check(&String::from_utf8(out.stdout).expect("text"), parts);
    }
}

/// Catches: a picture of the guide that is another one, was edited, or ends in the middle.
#[test]
fn the_guide_has_every_picture() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/sinew/src/guide/pictures");
    for (name, parts) in PICTURES {
        let picture = fs::read_to_string(folder.join(format!("{name}.svg")));
        check(&picture.expect("a picture"), parts);
    }
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), PICTURES.len());
}

/// Catches: a picture that is also printed, or a file without it.
#[test]
fn a_picture_goes_to_the_file_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("chunks.svg");
    let out = sinew(&["draw", "chunks", "--threads", "1", "--out", file.to_str().expect("text")]);
    assert!(out.status.success() && out.stdout.is_empty());
    check(&fs::read_to_string(file).expect("a picture"), &["1 worker", "static, "]);
}

/// Catches: a message without the names that exist.
#[test]
fn an_unknown_picture_is_one_line_with_all_names() {
    let out = sinew(&["draw", "time"]);
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!((out.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    for (name, _) in PICTURES {
        assert!(error.contains(name) && error.contains("'time'"), "{error}");
    }
}
