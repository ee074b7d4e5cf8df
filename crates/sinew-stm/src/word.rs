//! Values as words that may be read while they are written.
//!
//! A transaction reads a value that another may be storing at that time, and uses it only after the
//! record beside it has been checked again. In Rust's memory model such a read must be atomic, and
//! because a value may contain padding, it must be a read of possibly uninitialised memory.
//! [`Word`] provides that: eight bytes that are loaded and stored atomically and without an
//! assumption about their content. [`Slot`] is a value laid over whole words.
//!
//! Under a model checker words are the checker's atomics, and types with padding cannot be used.

use std::mem::MaybeUninit;
use std::ptr;

/// Eight bytes of a value in transit.
pub(crate) type Bits = MaybeUninit<u64>;

pub(crate) use imp::{Slot, Word};

/// The number of words of a `T`.
pub(crate) const fn words_of<T>() -> usize {
    size_of::<T>().div_ceil(8)
}

/// A value of at most eight bytes as a word; the remaining bytes are zero.
#[inline(always)]
pub(crate) fn pack<T: Copy>(value: T) -> Bits {
    const { assert!(size_of::<T>() <= 8) };
    let mut bits = Bits::new(0);
    // SAFETY: both places are valid for the size of `T`, which is at most 8, and they do not
    // overlap. Bytes are copied as they are, padding included.
    unsafe {
        ptr::copy_nonoverlapping(
            (&raw const value).cast::<u8>(),
            bits.as_mut_ptr().cast(),
            size_of::<T>(),
        );
    };
    bits
}

/// The inverse of [`pack`].
#[inline(always)]
pub(crate) fn unpack<T: Copy>(bits: Bits) -> MaybeUninit<T> {
    const { assert!(size_of::<T>() <= 8) };
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: as in `pack`, in the other direction.
    unsafe {
        ptr::copy_nonoverlapping(
            bits.as_ptr().cast::<u8>(),
            value.as_mut_ptr().cast(),
            size_of::<T>(),
        );
    }
    value
}

/// A value in memory of whole words: `T`, aligned to at least eight bytes and padded to a multiple
/// of them.
#[repr(C, align(8))]
pub(crate) struct Padded<T>(pub(crate) MaybeUninit<T>);

impl<T: Copy> Padded<T> {
    #[inline(always)]
    pub(crate) fn uninit() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// The words of the value, padding included.
    #[inline(always)]
    pub(crate) fn bits(&self) -> &[Bits] {
        // SAFETY: the type is aligned to 8 and its size is a multiple of 8; `Bits` may be
        // uninitialised.
        unsafe { std::slice::from_raw_parts(ptr::from_ref(self).cast(), size_of::<Self>() / 8) }
    }

    /// The same, for writing.
    #[inline(always)]
    pub(crate) fn bits_mut(&mut self) -> &mut [Bits] {
        // SAFETY: as above. After any write the value remains a `MaybeUninit`, which guarantees
        // nothing.
        unsafe { std::slice::from_raw_parts_mut(ptr::from_mut(self).cast(), size_of::<Self>() / 8) }
    }
}

#[cfg(not(any(loom, shuttle)))]
mod imp {
    use super::{Bits, Padded};
    use atomic_maybe_uninit::AtomicMaybeUninit;
    use sinew_sync::atomic::Ordering;
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;

    /// Eight bytes that may be read while they are written.
    #[repr(transparent)]
    #[derive(Debug)]
    pub(crate) struct Word(AtomicMaybeUninit<u64>);

    impl Word {
        #[inline(always)]
        pub(crate) fn load(&self) -> Bits {
            // Acquire: R2.
            self.0.load(Ordering::Acquire)
        }

        #[inline(always)]
        pub(crate) fn store(&self, bits: Bits) {
            // Release: R2.
            self.0.store(bits, Ordering::Release);
        }
    }

    /// A value, laid over whole words.
    #[repr(transparent)]
    pub(crate) struct Slot<T>(UnsafeCell<Padded<T>>);

    impl<T: Copy> Slot<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(UnsafeCell::new(Padded(MaybeUninit::new(value))))
        }

        #[inline(always)]
        pub(crate) fn words(&self) -> &[Word] {
            // SAFETY: `Padded` has the alignment of a word (8; `Word` has that of `u64`, which is
            // no more) and a size of whole words. Shared access through `&self` goes through these
            // atomics only, and the `UnsafeCell` covers every byte.
            unsafe { std::slice::from_raw_parts(self.0.get().cast(), size_of::<Padded<T>>() / 8) }
        }

        pub(crate) fn into_inner(self) -> T {
            // SAFETY: a slot is made with a value, and only whole values of the same type are
            // stored over it.
            unsafe { self.0.into_inner().0.assume_init() }
        }
    }
}

#[cfg(any(loom, shuttle))]
mod imp {
    use super::{Bits, Padded};
    use sinew_sync::atomic::{AtomicU64, Ordering};
    use std::marker::PhantomData;
    use std::mem::MaybeUninit;

    /// Eight bytes as the checker's atomic.
    #[derive(Debug)]
    pub(crate) struct Word(AtomicU64);

    impl Word {
        pub(crate) fn new(bits: Bits) -> Self {
            // SAFETY: models use only values without padding, and the bytes after a value are zero.
            Self(AtomicU64::new(unsafe { bits.assume_init() }))
        }

        pub(crate) fn load(&self) -> Bits {
            Bits::new(self.0.load(Ordering::Acquire))
        }

        pub(crate) fn store(&self, bits: Bits) {
            // SAFETY: as above.
            self.0.store(unsafe { bits.assume_init() }, Ordering::Release);
        }
    }

    /// A value as the checker's words.
    pub(crate) struct Slot<T>(Box<[Word]>, PhantomData<T>);

    impl<T: Copy> Slot<T> {
        pub(crate) fn new(value: T) -> Self {
            let mut padded = Padded(MaybeUninit::<T>::zeroed());
            padded.0.write(value);
            Self(padded.bits().iter().map(|bits| Word::new(*bits)).collect(), PhantomData)
        }

        pub(crate) fn words(&self) -> &[Word] {
            &self.0
        }

        pub(crate) fn into_inner(self) -> T {
            let mut padded = Padded::<T>::uninit();
            for (bits, word) in padded.bits_mut().iter_mut().zip(&self.0) {
                *bits = word.load();
            }
            // SAFETY: the words are those of a value.
            unsafe { padded.0.assume_init() }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Slot, pack, unpack};

    /// Catches: bytes that are lost or moved.
    #[test]
    fn a_value_survives_the_way_through_a_word() {
        for value in [0_u64, 1, u64::MAX] {
            // SAFETY: packed one line above the claim.
            assert_eq!(unsafe { unpack::<u64>(pack(value)).assume_init() }, value);
        }
        // SAFETY: as above.
        assert_eq!(unsafe { unpack::<(u8, u16)>(pack((7_u8, 9_u16))).assume_init() }, (7, 9));
    }

    /// Catches: a slot that is smaller than its value, or not made of whole words.
    #[test]
    fn a_slot_has_the_words_that_its_value_needs() {
        assert_eq!(Slot::new(1_u8).words().len(), 1);
        assert_eq!(Slot::new([1_u8; 9]).words().len(), 2);
        assert_eq!(Slot::new(()).words().len(), 0);
        assert_eq!(Slot::new([3_u8; 17]).into_inner(), [3; 17]);
    }
}
