//! The library that is loaded into programs, from the build script.

/// The library's bytes; empty if it could not be built.
const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));
/// The reason why it could not be built.
const WHY: &str = include_str!(concat!(env!("OUT_DIR"), "/preload.why"));

/// The library, or the reason why this build has none.
pub(crate) fn built_in() -> Result<&'static [u8], &'static str> {
    if BYTES.is_empty() { Err(WHY) } else { Ok(BYTES) }
}
