//! Workers, seats, task stacks, join, scope and chunk sources of Sinew.

#[allow(dead_code)]
mod stack;
pub mod source;
