//! Values of several subcommands, each with the message for an invalid one.

/// Parses a weight.
pub(crate) fn weight(text: &str) -> Result<f64, &'static str> {
    let weight = text.parse().ok().filter(|weight| (0.01..=100.0).contains(weight));
    weight.ok_or("give a number from 0.01 to 100")
}

/// Parses a number of cores.
pub(crate) fn cores(text: &str) -> Result<usize, String> {
    let most = sinew_coord::MAX_CORES;
    let cores = text.parse().ok().filter(|cores| (1..=most).contains(cores));
    cores.ok_or_else(|| format!("give a number of cores from 1 to {most}"))
}

/// Parses milliseconds, up to a minute.
pub(crate) fn milliseconds(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(ms) if (1..=60_000).contains(&ms) => Ok(ms),
        _ => Err("give a whole number of milliseconds from 1 to 60000"),
    }
}
