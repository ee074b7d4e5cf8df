//! The table by which programs share a machine, as bytes that nobody honest has written: read,
//! shared out and written again, it never panics, and never grants what is not there.
//!
//! What an image is, and what is held against it, is told in `sinew-coord/src/judge.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|image: &[u8]| sinew_coord::check_image(image));
