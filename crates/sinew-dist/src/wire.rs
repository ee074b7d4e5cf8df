//! Values as bytes, in one of two ways. The bounds of a call say which.
//!
//! | way | bound | cost |
//! |---|---|---|
//! | [`Plain`] | [`bytemuck::Pod`] | the bytes of the values, one copy at each end |
//! | [`Serde`] | serde's traits | postcard: one pass over each value at each end |
//!
//! Ranks of one job run the same program on machines with the same order of bytes.

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Values of plain data: numbers, arrays of numbers, structures of them without gaps.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

/// Values that serde can write and read.
#[derive(Debug, Clone, Copy)]
pub struct Serde;

/// A way in which values of type `T` become bytes.
pub trait Way<T> {
    /// The bytes of `values`.
    fn pack(values: &[T]) -> Vec<u8>;

    /// The values of `bytes`; none if they are not values of this type.
    fn unpack(bytes: &[u8]) -> Option<Vec<T>>;
}

impl<T: Pod> Way<T> for Plain {
    fn pack(values: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    fn unpack(bytes: &[u8]) -> Option<Vec<T>> {
        let size = size_of::<T>();
        let whole = size > 0 && bytes.len().is_multiple_of(size);
        whole.then(|| bytemuck::allocation::pod_collect_to_vec(bytes))
    }
}

impl<T: Serialize + DeserializeOwned> Way<T> for Serde {
    fn pack(values: &[T]) -> Vec<u8> {
        pack(&values)
    }

    fn unpack(bytes: &[u8]) -> Option<Vec<T>> {
        unpack(bytes)
    }
}

/// The bytes of one value.
///
/// # Panics
///
/// If the value's `Serialize` fails.
pub(crate) fn pack<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value)
        .unwrap_or_else(|error| panic!("a value cannot be written for another rank: {error}"))
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_return_what_was_packed() {
        let values = [1.5, -0.0, f64::INFINITY];
        assert_eq!(Plain::unpack(&Plain::pack(&values)), Some(values.to_vec()));
        assert_eq!(Serde::unpack(&Serde::pack(&values)), Some(values.to_vec()));
        let words = ["a".to_owned(), String::new()];
        assert_eq!(Serde::unpack(&Serde::pack(&words)), Some(words.to_vec()));
        assert_eq!(<Plain as Way<u8>>::unpack(&[]), Some(vec![]));
    }

    #[test]
    fn bytes_of_another_length_are_no_plain_values() {
        assert_eq!(<Plain as Way<u32>>::unpack(&[1, 2, 3]), None);
        assert_eq!(<Serde as Way<String>>::unpack(&[1, 200]), None);
    }

    #[test]
    fn plain_values_take_their_own_bytes_and_no_more() {
        assert_eq!(Plain::pack(&[0_f64; 100]).len(), 800);
    }
}
