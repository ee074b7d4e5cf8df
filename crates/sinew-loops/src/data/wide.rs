//! Code compiled for the vector units of the machine at hand.
//!
//! A program for any x86-64 uses vectors of two doubles. Loops over data in the caches, or in
//! memory as fast as that of one core, are quicker with the widest vectors of the processor. Only
//! the running program knows which those are.

/// Calls `f`, compiled for the widest vectors that this processor has and the compiler knows of
/// here: AVX-512, AVX2, or what every processor of the kind has. The results are the same, bit for
/// bit: wider vectors do more of the same operations at once.
///
/// Functions that `f` calls must be inlined into it to be part of that.
///
/// ```
/// let mut sums = vec![1.0; 1000];
/// sinew_loops::data::wide(|| sums.iter_mut().for_each(|sum| *sum += 0.5));
/// assert!(sums.iter().all(|sum| *sum == 1.5));
/// ```
///
/// # Cost
///
/// A few loads of what was found out about the processor.
#[inline]
pub fn wide<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the processor has these.
            return unsafe { with_avx512(f) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { with_avx2(f) };
        }
    }
    f()
}

/// # Safety
///
/// The processor has these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq")]
unsafe fn with_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// # Safety
///
/// The processor has this feature.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}
