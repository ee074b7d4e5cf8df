#![allow(unsafe_code)]
//! The system calls: affinity of threads. The only file of this crate with `unsafe`.
//!
//! Elsewhere than on Linux every function says [`ErrorKind::Unsupported`](std::io::ErrorKind::Unsupported).

pub(crate) use imp::{affinity_of, current_cpu, current_thread, set_affinity_of};

/// The calling thread, to the calls that take a thread.
pub(crate) const CALLING_THREAD: i32 = 0;

#[cfg(target_os = "linux")]
mod imp {
    use std::ffi::c_ulong;
    use std::io;

    use crate::cpuset::{CpuSet, MAX_CPUS};

    const BITS: usize = c_ulong::BITS as usize;
    /// The CPUs a thread may run on.
    pub(crate) fn affinity_of(thread: i32) -> io::Result<CpuSet> {
        // The kernel refuses a mask shorter than its own, whose length it does not tell.
        let mut words = vec![0; 1024 / BITS];
        loop {
            match get_affinity(thread, &mut words) {
                Ok(()) => return Ok(from_words(&words)),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words.len() * BITS < MAX_CPUS => {
                    words = vec![0; 2 * words.len()];
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn get_affinity(thread: i32, words: &mut [c_ulong]) -> io::Result<()> {
        let bytes = size_of_val(words);
        // SAFETY: the kernel writes at most `bytes` bytes, and `words` is that long, writable, aligned for unsigned longs, which
        // is what a mask consists of, and any bit pattern is a value.
        let result = unsafe { libc::sched_getaffinity(thread, bytes, words.as_mut_ptr().cast()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Restricts a thread to `cpus`.
    pub(crate) fn set_affinity_of(thread: i32, cpus: &CpuSet) -> io::Result<()> {
        let words = to_words(cpus);
        // SAFETY: the kernel reads at most `size_of_val` bytes of `words`, all initialised.
        let result =
            unsafe { libc::sched_setaffinity(thread, size_of_val(words.as_slice()), words.as_ptr().cast()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The number by which the other calls know the calling thread.
    pub(crate) fn current_thread() -> io::Result<i32> {
        // SAFETY: takes no argument and touches no memory of ours.
        Ok(unsafe { libc::gettid() })
    }

    /// The CPU the calling thread runs on at this moment.
    pub(crate) fn current_cpu() -> io::Result<usize> {
        // SAFETY: takes no argument and touches no memory of ours.
        let cpu = unsafe { libc::sched_getcpu() };
        usize::try_from(cpu).map_err(|_| io::Error::last_os_error())
    }

    fn from_words(words: &[c_ulong]) -> CpuSet {
        let bit = |cpu: &usize| words[cpu / BITS] >> (cpu % BITS) & 1 == 1;
        (0..words.len() * BITS).filter(bit).collect()
    }

    fn to_words(cpus: &CpuSet) -> Vec<c_ulong> {
        let mut words = vec![0; 1024 / BITS];
        for cpu in cpus.iter() {
            words.resize(words.len().max(cpu / BITS + 1), 0);
            words[cpu / BITS] |= 1 << (cpu % BITS);
        }
        words
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_set_survives_the_way_into_words_and_back() {
            for list in ["0", "63-65", "1023", "0-3,5000"] {
                let set: CpuSet = list.parse().unwrap();
                assert_eq!(from_words(&to_words(&set)), set);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use crate::cpuset::CpuSet;

    pub(crate) fn affinity_of(_: i32) -> io::Result<CpuSet> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn current_thread() -> io::Result<i32> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn set_affinity_of(_: i32, _: &CpuSet) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn current_cpu() -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
