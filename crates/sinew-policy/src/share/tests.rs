//! The share policies on machines that are not there.
//!
//! What these would miss: what a share does to a program's speed.
