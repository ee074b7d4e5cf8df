//! The table by which programs share a machine, as bytes that nobody honest has written: read,
//! shared out and written again, it never panics, and never grants what is not there.
//!
//! `sinew-coord/src/oracle.rs` says what an image is and what is checked of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|image: &[u8]| sinew_coord::check_image(image));
