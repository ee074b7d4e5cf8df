//! Calls into pools from outside: rings of pools that call each other, calls that come while every
//! worker has work, and calls that are cancelled or expire before they begin; their priorities.

mod cancelled;
mod deadlines;
mod priorities;
mod rings;
mod served;
mod support;
