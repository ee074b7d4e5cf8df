//! Whether an application's data will fit into memory, asked before any of it is made.

use crate::options::Error;

/// `Ok` if so many bytes can be reserved now, for inputs and answers together.
///
/// The pages are not touched, so a machine that promises more than it has says yes to a little too much.
pub(crate) fn room(app: &'static str, bytes: u64) -> Result<(), Error> {
    let mut probe: Vec<u8> = Vec::new();
    let fits = usize::try_from(bytes).is_ok_and(|all| probe.try_reserve_exact(all).is_ok());
    if fits { Ok(()) } else { Err(Error::Memory { app, bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: a machine that promises less than it has.
    #[test]
    fn a_megabyte_fits_and_half_the_address_space_does_not() {
        room("x", 1 << 20).unwrap();
        assert!(matches!(room("x", u64::MAX / 2), Err(Error::Memory { app: "x", .. })));
    }
}
