#![allow(unsafe_code)]
//! The system calls: affinity of threads, and NUMA nodes of pages. The only file of this crate with
//! `unsafe`.
//!
//! On systems other than Linux every function but [`Area::new`] fails with
//! [`ErrorKind::Unsupported`](std::io::ErrorKind::Unsupported).

pub(crate) use imp::{
    Area, affinity_of, allowed_nodes, bind_pages, current_cpu, current_node, current_thread,
    nodes_of_pages, page_bytes, set_affinity_of, set_thread_policy, thread_policy, thread_usage,
};

#[cfg(feature = "cache-counters")]
pub(crate) use imp::open_counter;

/// The calling thread, for calls that take a thread.
pub(crate) const CALLING_THREAD: i32 = 0;

/// The nodes that the kernel may use for untouched pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The node of the touching CPU, and others when it is full.
    Default,
    /// These and no others.
    Bind(CpuSet),
    /// These in turn.
    Interleave(CpuSet),
    /// This one, and others when it is full.
    Prefer(CpuSet),
}

use sinew_cpus::CpuSet;

#[cfg(target_os = "linux")]
mod imp {
    use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr::{NonNull, null, null_mut};

    use super::Policy;
    use sinew_cpus::{CpuSet, MAX_CPUS};

    const BITS: usize = c_ulong::BITS as usize;

    /// The number of nodes in a mask; the kernel's own limit.
    const MAX_NODES: usize = 1024;
    /// Makes `get_mempolicy` return the nodes that the thread may use.
    const MEMS_ALLOWED: c_ulong = 1 << 2;

    /// The CPUs a thread may run on.
    pub(crate) fn affinity_of(thread: i32) -> io::Result<CpuSet> {
        // The kernel refuses a mask shorter than its own, and does not report the length.
        let mut words = vec![0; 1024 / BITS];
        loop {
            match get_affinity(thread, &mut words) {
                Ok(()) => return Ok(from_words(&words)),
                Err(error)
                    if error.raw_os_error() == Some(libc::EINVAL)
                        && words.len() * BITS < MAX_CPUS =>
                {
                    words = vec![0; 2 * words.len()];
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn get_affinity(thread: i32, words: &mut [c_ulong]) -> io::Result<()> {
        let bytes = size_of_val(words);
        // SAFETY: the kernel writes at most `bytes` bytes, and `words` is that long, writable,
        // aligned for unsigned longs, which is what a mask consists of, and any bit pattern is a
        // value.
        let result = unsafe { libc::sched_getaffinity(thread, bytes, words.as_mut_ptr().cast()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Restricts a thread to `cpus`.
    pub(crate) fn set_affinity_of(thread: i32, cpus: &CpuSet) -> io::Result<()> {
        let words = to_words(cpus);
        // SAFETY: the kernel reads at most `size_of_val` bytes of `words`, all initialised.
        let result = unsafe {
            libc::sched_setaffinity(thread, size_of_val(words.as_slice()), words.as_ptr().cast())
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The calling thread's number, for the other calls.
    pub(crate) fn current_thread() -> io::Result<i32> {
        // SAFETY: takes no argument and touches no memory of ours.
        Ok(unsafe { libc::gettid() })
    }

    /// The calling thread's present CPU.
    pub(crate) fn current_cpu() -> io::Result<usize> {
        // SAFETY: takes no argument and touches no memory of ours.
        let cpu = unsafe { libc::sched_getcpu() };
        usize::try_from(cpu).map_err(|_| io::Error::last_os_error())
    }

    /// The calling thread's nanoseconds on a processor, and its involuntary switches.
    pub(crate) fn thread_usage() -> io::Result<(u64, u64)> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel writes one `rusage` to where `usage` has room for it.
        let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it consists of integers, which were zero before the kernel wrote it.
        let usage = unsafe { usage.assume_init() };
        let ns = |time: libc::timeval| {
            time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000
        };
        Ok((ns(usage.ru_utime) + ns(usage.ru_stime), usage.ru_nivcsw.unsigned_abs()))
    }

    /// Whole pages of zeros; the kernel allocates each at its first touch.
    #[derive(Debug)]
    pub(crate) struct Area {
        start: NonNull<u8>,
        bytes: usize,
    }

    // SAFETY: it owns its memory as a boxed slice does.
    unsafe impl Send for Area {}
    // SAFETY: as above; shared access only reads.
    unsafe impl Sync for Area {}

    impl Area {
        /// An area of `bytes`, which is not 0.
        pub(crate) fn new(bytes: usize) -> io::Result<Self> {
            let (access, kind) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            );
            // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing
            // that exists.
            let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { start, bytes })
        }

        /// Advises large pages, if the system has them. They are placed as a whole.
        pub(crate) fn advise_large_pages(&self) {
            // SAFETY: the range is this area's; the advice changes no contents. A kernel without
            // large pages refuses, and nothing is lost.
            let _ = unsafe {
                libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_HUGEPAGE)
            };
        }

        /// Forbids large pages, which some systems make by default.
        pub(crate) fn refuse_large_pages(&self) {
            // SAFETY: as for `advise_large_pages`. A kernel without large pages refuses, and makes
            // none.
            let _ = unsafe {
                libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_NOHUGEPAGE)
            };
        }

        pub(crate) fn start(&self) -> NonNull<u8> {
            self.start
        }
    }

    impl Drop for Area {
        fn drop(&mut self) {
            // SAFETY: the mapping is this area's, and no reference into it exists any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }

    /// The size of a page.
    pub(crate) fn page_bytes() -> usize {
        // SAFETY: takes a number and touches no memory of ours.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).unwrap_or(4096)
    }

    /// Gives the pages of `[start, start + bytes)` a policy, in force at their first touch. `start`
    /// is a page boundary.
    pub(crate) fn bind_pages(start: *const u8, bytes: usize, policy: &Policy) -> io::Result<()> {
        let (mode, words) = mask_of(policy);
        let (mask, bits) = pointer_to(&words);
        // SAFETY: the kernel reads `bits - 1` bits at `mask`, which exist, and changes no
        // contents of any page.
        check(unsafe {
            libc::syscall(libc::SYS_mbind, start, bytes, mode, mask, bits, 0 as c_uint)
        })
    }

    /// Gives the calling thread a policy for all pages that it touches first and that have no
    /// policy of their own.
    pub(crate) fn set_thread_policy(policy: &Policy) -> io::Result<()> {
        let (mode, words) = mask_of(policy);
        let (mask, bits) = pointer_to(&words);
        // SAFETY: the kernel reads `bits - 1` bits at `mask`, which exist.
        check(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits) })
    }

    /// The calling thread's policy; an unknown one counts as the default.
    pub(crate) fn thread_policy() -> io::Result<Policy> {
        let (mode, nodes) = get_policy(0)?;
        Ok(match mode {
            libc::MPOL_BIND => Policy::Bind(nodes),
            libc::MPOL_INTERLEAVE => Policy::Interleave(nodes),
            _ => Policy::Default,
        })
    }

    /// The nodes on which the calling thread may have memory.
    pub(crate) fn allowed_nodes() -> io::Result<CpuSet> {
        get_policy(MEMS_ALLOWED).map(|(_, nodes)| nodes)
    }

    fn get_policy(flags: c_ulong) -> io::Result<(c_int, CpuSet)> {
        let mut mode: c_int = 0;
        let mut words: Vec<c_ulong> = vec![0; MAX_NODES / BITS];
        // SAFETY: the kernel writes an integer to `mode` and at most `MAX_NODES` bits to `words`;
        // both exist and are writable.
        check(unsafe {
            let (mode, words) = (&raw mut mode, words.as_mut_ptr());
            libc::syscall(
                libc::SYS_get_mempolicy,
                mode,
                words,
                MAX_NODES as c_ulong,
                null::<c_void>(),
                flags,
            )
        })?;
        Ok((mode, from_words(&words)))
    }

    /// For each address the node that holds its page, or a negative error number.
    pub(crate) fn nodes_of_pages(pages: &[*const u8]) -> io::Result<Vec<c_int>> {
        let mut status: Vec<c_int> = vec![-libc::ENOENT; pages.len()];
        // SAFETY: the kernel reads as many addresses and writes as many integers as there are;
        // without target nodes it moves nothing.
        check(unsafe {
            let (count, nodes) = (pages.len() as c_ulong, null::<c_int>());
            libc::syscall(
                libc::SYS_move_pages,
                0 as c_int,
                count,
                pages.as_ptr(),
                nodes,
                status.as_mut_ptr(),
                0 as c_int,
            )
        })?;
        Ok(status)
    }

    /// The node of the calling thread's present CPU.
    pub(crate) fn current_node() -> io::Result<usize> {
        let (mut cpu, mut node): (c_uint, c_uint) = (0, 0);
        // SAFETY: the kernel writes two integers, which exist.
        check(unsafe {
            libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, null::<c_void>())
        })?;
        Ok(node as usize)
    }

    /// The first version of the kernel's `perf_event_attr`, which all later kernels accept.
    #[cfg(feature = "cache-counters")]
    #[repr(C)]
    #[derive(Default)]
    struct CounterAttributes {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint_type: u32,
        breakpoint_address: u64,
    }

    /// Opens a counter of a hardware event (`PERF_COUNT_HW_...`) of the calling thread outside of
    /// the kernel, and, if `inherited`, of all threads that it starts from now on. A read returns
    /// the count, and how long the counter was enabled and how long it counted, in nanoseconds.
    #[cfg(feature = "cache-counters")]
    pub(crate) fn open_counter(event: u64, inherited: bool) -> io::Result<std::fs::File> {
        use std::os::fd::{FromRawFd, OwnedFd};
        /// Both times with each count.
        const TIMES: u64 = 0b11;
        const INHERIT: u64 = 1 << 1;
        const EXCLUDE_KERNEL: u64 = 1 << 5;
        const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
        /// Not kept by programs that this one becomes.
        const CLOSE_ON_EXEC: c_ulong = 1 << 3;
        let inherit = if inherited { INHERIT } else { 0 };
        let attributes = CounterAttributes {
            size: size_of::<CounterAttributes>() as u32,
            config: event,
            read_format: TIMES,
            flags: inherit | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..CounterAttributes::default()
        };
        let (any_cpu, no_group): (c_int, c_int) = (-1, -1);
        // SAFETY: the kernel reads `size` bytes of the attributes, which are so large and live
        // until the call returns.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                super::CALLING_THREAD,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        check(descriptor)?;
        // SAFETY: the kernel has just opened this descriptor for us, and nothing else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor as c_int) }.into())
    }

    fn check(result: c_long) -> io::Result<()> {
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn mask_of(policy: &Policy) -> (c_int, Vec<c_ulong>) {
        match policy {
            Policy::Default => (libc::MPOL_DEFAULT, Vec::new()),
            Policy::Bind(nodes) => (libc::MPOL_BIND, to_words(nodes)),
            Policy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, to_words(nodes)),
            Policy::Prefer(node) => (libc::MPOL_PREFERRED, to_words(node)),
        }
    }

    /// A mask as the kernel expects it: with its number of bits plus one.
    fn pointer_to(words: &[c_ulong]) -> (*const c_ulong, c_ulong) {
        if words.is_empty() {
            (null(), 0)
        } else {
            (words.as_ptr(), (words.len() * BITS + 1) as c_ulong)
        }
    }

    fn from_words(words: &[c_ulong]) -> CpuSet {
        // A mask has many words and few CPUs, and each pool that starts reads some masks.
        let used = words.iter().enumerate().filter(|(_, word)| **word != 0);
        let cpus = |(at, word): (usize, &c_ulong)| {
            let word = *word;
            (0..BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * BITS + bit)
        };
        used.flat_map(cpus).collect()
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

        /// Catches: a refused policy, and a touched page on another node. Blind to: a kernel that
        /// accepts a policy and does not follow it, on a machine of one node.
        #[test]
        fn the_kernel_takes_every_policy_for_an_area_and_says_where_touched_pages_are() {
            let Ok(allowed) = allowed_nodes() else {
                println!("skipped: the kernel or a filter refuses memory policies");
                return;
            };
            let one: CpuSet = allowed.iter().take(1).collect();
            let (bind, prefer) = (Policy::Bind(one.clone()), Policy::Prefer(one));
            for policy in [Policy::Default, bind, prefer, Policy::Interleave(allowed.clone())] {
                let area = Area::new(3 * page_bytes()).unwrap();
                let start = area.start().as_ptr();
                bind_pages(start, 3 * page_bytes(), &policy).unwrap();
                let pages =
                    [0, 1, 2].map(|page| start.wrapping_add(page * page_bytes()).cast_const());
                // SAFETY: within the area.
                unsafe { start.write_volatile(1) };
                let found = nodes_of_pages(&pages).unwrap();
                assert!(
                    usize::try_from(found[0]).is_ok_and(|node| allowed.contains(node)),
                    "{found:?}"
                );
                assert_eq!(found[1..], [-libc::ENOENT; 2]);
            }
        }

        /// Catches: a kernel that accepts a node that does not exist.
        #[test]
        fn the_kernel_refuses_a_node_that_does_not_exist() {
            if allowed_nodes().is_err() {
                println!("skipped: the kernel or a filter refuses memory policies");
                return;
            }
            let area = Area::new(1).unwrap();
            let nowhere = Policy::Bind(CpuSet::from_iter([1023]));
            assert!(bind_pages(area.start().as_ptr(), page_bytes(), &nowhere).is_err());
        }

        /// Catches: a policy that is not the one that was set.
        #[test]
        fn a_threads_policy_is_what_was_set() {
            let Ok(allowed) = allowed_nodes() else {
                println!("skipped: the kernel or a filter refuses memory policies");
                return;
            };
            for policy in
                [Policy::Bind(allowed.clone()), Policy::Interleave(allowed), Policy::Default]
            {
                set_thread_policy(&policy).unwrap();
                assert_eq!(thread_policy().unwrap(), policy);
            }
            assert!(current_node().is_ok());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;

    use super::Policy;
    use sinew_cpus::CpuSet;

    /// The page size of most systems.
    const PAGE: usize = 4096;

    /// Memory that starts at a page boundary and is zero at first.
    #[derive(Debug)]
    pub(crate) struct Area {
        start: NonNull<u8>,
        layout: Layout,
    }

    // SAFETY: it owns its memory as a boxed slice does.
    unsafe impl Send for Area {}
    // SAFETY: as above; shared access only reads.
    unsafe impl Sync for Area {}

    impl Area {
        /// An area of `bytes`, which is not 0.
        pub(crate) fn new(bytes: usize) -> io::Result<Self> {
            let layout = Layout::from_size_align(bytes, PAGE)
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            // SAFETY: the layout has a size that is not 0.
            let start = unsafe { alloc_zeroed(layout) };
            let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { start, layout })
        }

        pub(crate) fn advise_large_pages(&self) {}

        pub(crate) fn refuse_large_pages(&self) {}

        pub(crate) fn start(&self) -> NonNull<u8> {
            self.start
        }
    }

    impl Drop for Area {
        fn drop(&mut self) {
            // SAFETY: allocated with this layout, and no reference into it exists any more.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }

    pub(crate) fn page_bytes() -> usize {
        PAGE
    }

    pub(crate) fn bind_pages(_: *const u8, _: usize, _: &Policy) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn set_thread_policy(_: &Policy) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn thread_policy() -> io::Result<Policy> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn allowed_nodes() -> io::Result<CpuSet> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn nodes_of_pages(_: &[*const u8]) -> io::Result<Vec<i32>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn current_node() -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

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

    pub(crate) fn thread_usage() -> io::Result<(u64, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(feature = "cache-counters")]
    pub(crate) fn open_counter(_: u64, _: bool) -> io::Result<std::fs::File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
