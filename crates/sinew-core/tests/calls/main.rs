//! Calls into pools from outside: rings of pools that call each other, calls that come while every
//! worker has work, and calls that are cancelled before they begin.

mod cancelled;
mod rings;
mod served;
mod support;
