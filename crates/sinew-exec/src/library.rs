//! The library that is loaded into programs, as the build script made it.

/// Its bytes; none where it could not be built.
const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));
/// Why there are none.
const WHY: &str = include_str!(concat!(env!("OUT_DIR"), "/preload.why"));

/// The library, or why there is none in this build.
pub(crate) fn built_in() -> Result<&'static [u8], &'static str> {
    if BYTES.is_empty() { Err(WHY) } else { Ok(BYTES) }
}
