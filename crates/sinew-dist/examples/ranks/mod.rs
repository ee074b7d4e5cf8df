//! Shared by the examples: ranks by `mpirun`, or as threads with `--threads N`.

use sinew_dist::World;
use sinew_dist::threads::Ranks;

/// The number of ranks that are threads, if there is one, and the other argument.
pub(crate) fn arguments(default: &str) -> (Option<u32>, String) {
    let (mut threads, mut other) = (None, default.to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--threads" {
            let number = arguments.next().and_then(|text| text.parse().ok()).filter(|n| *n > 0);
            threads = number.or_else(|| usage("a number after --threads"));
        } else {
            other = argument;
        }
    }
    (threads, other)
}

/// Ends the program: it was called wrongly.
pub(crate) fn usage<T>(wanted: &str) -> T {
    eprintln!("this example takes {wanted}");
    std::process::exit(2)
}

/// Runs `program` once a rank.
pub(crate) fn run(threads: Option<u32>, program: impl Fn(&World) + Sync) {
    let ended = match threads {
        Some(ranks) => Ranks::new(ranks).run(program).map(drop).map_err(|lost| lost.to_string()),
        None => sinew_dist::init().map(|world| program(&world)).map_err(|error| error.to_string()),
    };
    if let Err(why) = ended {
        eprintln!("{why}");
        std::process::exit(1);
    }
}
