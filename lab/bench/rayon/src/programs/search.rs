//! A word in a text.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

const WORD: &str = "parallelism";

/// Lines of random letters; one of them, past three quarters of the text, holds [`WORD`].
fn text(scale: Scale) -> String {
    let mut random = fastrand::Rng::with_seed(13);
    let lines = scale.pick(40_000, 500);
    let line = |index: usize| {
        let mut line: String = (0..50).map(|_| random.lowercase()).collect();
        if index == lines * 4 / 5 {
            line.replace_range(20..20 + WORD.len(), WORD);
        }
        line.push('\n');
        line
    };
    (0..lines).map(line).collect()
}

pub(super) fn first(scale: Scale) -> Box<dyn Work> {
    work(
        text(scale),
        |text| text.find(WORD),
        |text| {
            text.as_bytes()
                .par_windows(WORD.len())
                .position_first(|window| window == WORD.as_bytes())
        },
    )
}

pub(super) fn any(scale: Scale) -> Box<dyn Work> {
    work(
        text(scale),
        |text| text.lines().find(|line| line.contains(WORD)).map(str::to_owned),
        |text| text.par_lines().find_any(|line| line.contains(WORD)).map(str::to_owned),
    )
}

pub(super) fn lines(scale: Scale) -> Box<dyn Work> {
    work(
        text(scale),
        |text| text.lines().filter(|line| line.contains("par")).count(),
        |text| text.par_lines().filter(|line| line.contains("par")).count(),
    )
}
