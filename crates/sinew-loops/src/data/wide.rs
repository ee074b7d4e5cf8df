//! Code compiled for the widest vector units of the processor.
//!
//! A program for any x86-64 uses vectors of two doubles. Loops that are not limited by memory are
//! faster with wider vectors, and only the running program can detect which the processor has.

/// Calls `f`, compiled for AVX-512, AVX2, or the baseline of the target, whichever is the widest
/// that this processor has. The results are the same, bit for bit.
///
/// This includes functions that are inlined into `f`, and no others.
///
/// ```
/// let mut sums = vec![1.0; 1000];
/// sinew_loops::data::wide(|| sums.iter_mut().for_each(|sum| *sum += 0.5));
/// assert!(sums.iter().all(|sum| *sum == 1.5));
/// ```
///
/// # Cost
///
/// A few loads of the detected features.
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
