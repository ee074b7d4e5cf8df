//! The programs, how each is run, and on what.
//!
//! Chosen for how differently they use rayon: a recursion of `join` over one big file, parallel
//! iterators over many small ones, a sort, `par_bridge` behind a channel, pools of their own,
//! scopes. All build with a stable compiler and without packages of the system.

use super::inputs::Inputs;

/// Sizes of the pool: alone, as many as a small machine has cores, and more than that.
pub(super) const THREADS: [usize; 3] = [1, 2, 5];

/// Number of runs with each size: a result that depends on the schedule may be right once.
pub(super) const REPEATS: usize = 3;

/// The compared part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Every byte.
    Exact,
    /// The lines, sorted: the program prints them as they come.
    Lines,
}

/// One way to run a program.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) arguments: &'static [&'static str],
    pub(super) order: Order,
}

/// A published program.
#[derive(Debug)]
pub(super) struct Program {
    /// The package.
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) binary: &'static str,
    /// For `cargo build`.
    pub(super) features: &'static [&'static str],
    pub(super) inputs: Inputs,
    /// Started in a folder that holds the inputs and nothing else.
    pub(super) runs: &'static [Run],
}

const fn exact(arguments: &'static [&'static str]) -> Run {
    Run { arguments, order: Order::Exact }
}

const fn lines(arguments: &'static [&'static str]) -> Run {
    Run { arguments, order: Order::Lines }
}

pub(super) const PROGRAMS: [Program; 8] = [
    // Divides one big file by recursion.
    Program {
        name: "b3sum",
        version: "1.8.7",
        binary: "b3sum",
        features: &["--features", "pure"],
        inputs: Inputs::Blobs,
        runs: &[
            exact(&["0.bin", "1.bin", "1023.bin", "65537.bin", "1048583.bin", "16777259.bin"]),
            exact(&["--length", "131", "16777259.bin"]),
        ],
    },
    // Counts lines of code, a file a task.
    Program {
        name: "tokei",
        version: "15.0.0",
        binary: "tokei",
        features: &[],
        inputs: Inputs::Sources,
        runs: &[exact(&["--sort", "code", "."]), lines(&["--files", "."])],
    },
    // Tries ways to compress an image, several at once.
    Program {
        name: "oxipng",
        version: "10.2.1",
        binary: "oxipng",
        features: &[],
        inputs: Inputs::Images,
        runs: &[exact(&["--opt", "3", "--dir", "out", "grey.png", "ramp.png", "noise.png"])],
    },
    // Adds up a tree of files.
    Program {
        name: "du-dust",
        version: "1.2.7",
        binary: "dust",
        features: &[],
        inputs: Inputs::Sources,
        runs: &[exact(&[
            "--apparent-size",
            "--no-colors",
            "--terminal-width",
            "100",
            "--number-of-lines",
            "60",
            ".",
        ])],
    },
    // Replaces text in many files, in place.
    Program {
        name: "sd",
        version: "1.0.0",
        binary: "sd",
        features: &[],
        inputs: Inputs::Letters,
        runs: &[exact(&[
            "(\\w+)ar(\\d)",
            "$2-$1",
            "0.txt",
            "1.txt",
            "2.txt",
            "3.txt",
            "4.txt",
            "5.txt",
        ])],
    },
    // Finds equal files, with pools of its own.
    Program {
        name: "fclones",
        version: "0.35.0",
        binary: "fclones",
        features: &[],
        inputs: Inputs::Copies,
        runs: &[lines(&["group", "--format", "fdupes", "."])],
    },
    // Compares images at several scales.
    Program {
        name: "dssim",
        version: "3.5.1",
        binary: "dssim",
        features: &[],
        inputs: Inputs::Images,
        runs: &[exact(&["ramp.png", "noise.png", "grey.png"]), exact(&["ramp.png", "ramp.png"])],
    },
    // Sorts lines, the sort of rayon.
    Program {
        name: "uu_sort",
        version: "0.12.0",
        binary: "sort",
        features: &["--no-default-features"],
        inputs: Inputs::Letters,
        runs: &[
            exact(&["0.txt", "1.txt", "2.txt"]),
            exact(&["--numeric-sort", "--key", "2", "--stable", "3.txt"]),
            exact(&["--parallel", "5", "--unique", "--reverse", "4.txt", "5.txt"]),
        ],
    },
];

#[cfg(test)]
mod tests {
    //! Blind to: whether a program takes its arguments, which the command itself meets.
    use super::*;

    #[test]
    fn every_program_has_a_name_of_its_own_and_something_to_do() {
        let mut names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROGRAMS.len());
        assert!(PROGRAMS.iter().all(|program| !program.runs.is_empty()));
    }
}
