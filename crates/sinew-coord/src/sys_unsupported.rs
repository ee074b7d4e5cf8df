//! `sys` on systems other than Linux. Nothing can be opened, so the other functions are never
//! called.

use std::fs::File;
use std::io::{self, ErrorKind};

use sinew_sync::statics::AtomicU64;

fn unsupported<T>() -> io::Result<T> {
    Err(ErrorKind::Unsupported.into())
}

pub(crate) fn reserve(_file: &File, _bytes: u64) -> io::Result<bool> {
    unsupported()
}

pub(crate) fn exists(_pid: u32) -> bool {
    false
}

pub(crate) fn user() -> u32 {
    0
}

pub(crate) fn real_time_limit() -> Option<u64> {
    None
}

/// A mapping, which cannot exist here.
#[derive(Debug)]
pub(crate) enum Mapping {}

impl Mapping {
    pub(crate) fn new(_file: File, _words: usize) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        match *self {}
    }

    pub(crate) fn file(&self) -> &File {
        match *self {}
    }

    pub(crate) fn is_whole(&self) -> bool {
        match *self {}
    }

    pub(crate) fn populate(&self) -> io::Result<()> {
        match *self {}
    }
}

pub(crate) fn wait(_word: &AtomicU64, _seen: u32, _ms: u64) {}

pub(crate) fn wake(_word: &AtomicU64) {}

/// A process to wait for, which cannot exist here.
#[derive(Debug)]
pub(crate) enum PidFd {}

impl PidFd {
    pub(crate) fn open(_pid: u32) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn has_ended(&self) -> bool {
        match *self {}
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "nothing happens")]
pub(crate) enum Ready {
    Ended(usize),
    Interrupted,
}

pub(crate) fn first_ready(
    _processes: &[&PidFd],
    _interrupt: Option<&EventFd>,
    _ms: i32,
) -> Option<Ready> {
    None
}

/// An eventfd, which cannot exist here.
#[derive(Debug)]
pub(crate) enum EventFd {}

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn signal(&self) {
        match *self {}
    }

    pub(crate) fn clear(&self) {
        match *self {}
    }
}

pub(crate) fn now_ns() -> u64 {
    sinew_sync::clock::now_ns()
}

pub(crate) fn at_exit(_handler: extern "C" fn()) {}

pub(crate) fn generation() -> u32 {
    0
}
