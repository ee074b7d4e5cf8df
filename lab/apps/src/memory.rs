//! Whether a problem fits into memory, asked before it is made.

use crate::options::Error;

/// Refuses what the system would refuse.
pub(crate) fn room(app: &'static str, bytes: u64) -> Result<(), Error> {
    let mut probe: Vec<u8> = Vec::new();
    let fits = usize::try_from(bytes).is_ok_and(|all| probe.try_reserve_exact(all).is_ok());
    if fits { Ok(()) } else { Err(Error::Memory { app, bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a probe that refuses everything, or nothing.
    #[test]
    fn a_little_fits_and_an_absurd_amount_does_not() {
        room("test", 1 << 20).unwrap();
        for bytes in [1 << 62, u64::MAX] {
            let message = room("test", bytes).unwrap_err().to_string();
            assert!(message.contains(&bytes.to_string()), "{message}");
        }
    }
}
