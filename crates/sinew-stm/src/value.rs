//! Values of variables: as words, and as the closure sees them.

use crate::descriptor::Descriptor;
use crate::log::Target;
use crate::record::Record;
use crate::tx_error::TxResult;
use crate::word::{Bits, Padded, Word, words_of};
use std::mem::MaybeUninit;

/// The value of a variable.
///
/// # Safety
///
/// Record and words belong together, live until the attempt is over, and hold a `T` from
/// [`Slot::new`](crate::word::Slot::new).
#[inline(always)]
pub(crate) unsafe fn get<T: Copy>(
    d: &mut Descriptor,
    record: &Record,
    words: &[Word],
) -> TxResult<T> {
    // SAFETY: the caller's promise. The returned value was stored as a `T`: it was read under a
    // record that was free and unchanged before and after, or by its owner.
    unsafe {
        if words_of::<T>() == 1 {
            return Ok(first_of(d.read_word(record, words.get_unchecked(0))?));
        }
        let mut value = Padded::<T>::uninit();
        d.read_words(record, words, value.bits_mut())?;
        Ok(value.0.assume_init())
    }
}

/// The value of a variable whose record guards another one that this attempt has read. A value in
/// one word gets no entry in the read set.
///
/// The record is free and not younger than the snapshot here, and it is in the read set, which has
/// been valid whenever the snapshot was extended. So both variables were read of one version (I8).
///
/// # Safety
///
/// As for [`get`].
#[inline(always)]
pub(crate) unsafe fn get_again<T: Copy>(
    d: &mut Descriptor,
    record: &Record,
    words: &[Word],
) -> TxResult<T> {
    if words_of::<T>() != 1 {
        // SAFETY: the caller's promise.
        return unsafe { get(d, record, words) };
    }
    // SAFETY: the caller's promise; the value as in `get`.
    unsafe { Ok(first_of(d.read_word_again(record, words.get_unchecked(0))?)) }
}

/// The value in one word.
///
/// # Safety
///
/// The bits hold a `T` of at most eight bytes.
#[inline(always)]
pub(crate) unsafe fn first_of<T: Copy>(bits: Bits) -> T {
    // SAFETY: the caller's promise.
    unsafe { *bits.as_ptr().cast::<T>() }
}

/// Writes a variable.
///
/// # Safety
///
/// As for [`get`].
#[inline(always)]
pub(crate) unsafe fn set<T: Copy>(
    d: &mut Descriptor,
    record: &Record,
    words: &[Word],
    value: T,
) -> TxResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if words_of::<T>() == 1 {
            let mut padded = Padded(MaybeUninit::<T>::zeroed());
            padded.0.write(value);
            return d.write(record, Target::word(words.get_unchecked(0)), padded.bits()[0]);
        }
        let place = d.append(&Padded(MaybeUninit::new(value)));
        d.enter_words(record, words, place)
    }
}

/// Changes a variable: `f` gets its value.
///
/// A value of several words is copied from memory to the buffer of the write set and changed there.
/// It is entered after `f`: a panic of `f` leaves the variable as it was.
///
/// # Safety
///
/// As for [`get`].
#[inline(always)]
pub(crate) unsafe fn update<T: Copy, R>(
    d: &mut Descriptor,
    record: &Record,
    words: &[Word],
    f: impl FnOnce(&mut T) -> R,
) -> TxResult<R> {
    // SAFETY: the caller's promise.
    unsafe {
        if words_of::<T>() <= 1 || align_of::<T>() > align_of::<Bits>() {
            let mut value = get(d, record, words)?;
            let result = f(&mut value);
            set(d, record, words, value)?;
            return Ok(result);
        }
        let place = d.append_words::<T>(record, words)?;
        let appended = Appended { buffer: &mut d.buffer, place };
        // The words are those of a `T` that was read as in `get`, and aligned as they are.
        let result = f(&mut *appended.buffer.as_mut_ptr().add(place).cast::<T>());
        std::mem::forget(appended);
        d.enter_words(record, words, place)?;
        Ok(result)
    }
}

/// A value at the end of the buffer, which this removes unless it is forgotten.
struct Appended<'a> {
    buffer: &'a mut Vec<Bits>,
    place: usize,
}

impl Drop for Appended<'_> {
    fn drop(&mut self) {
        self.buffer.truncate(self.place);
    }
}
