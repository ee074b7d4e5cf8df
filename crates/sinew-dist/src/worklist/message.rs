//! Messages between the ranks of a worklist: the contents, and a byte that names their kind.

use sinew_policy::lifelines::Sums;

use crate::wire::{self, Way};

#[derive(Debug, PartialEq)]
pub(super) enum Message<U> {
    /// Units whose home is the receiver.
    Units(Vec<U>),
    /// A wave goes down the tree.
    Wave,
    /// A wave comes back.
    Answer(Sums),
    /// No rank has a unit that can run.
    End,
}

/// The bytes of a message with these units.
pub(super) fn pack_units<U, W: Way<U>>(units: &[U]) -> Vec<u8> {
    let mut bytes = W::pack(units);
    bytes.push(0);
    bytes
}

pub(super) fn pack_wave() -> Vec<u8> {
    vec![1]
}

pub(super) fn pack_answer(sums: Sums) -> Vec<u8> {
    let mut bytes = wire::pack(&(sums.sent, sums.received));
    bytes.push(2);
    bytes
}

pub(super) fn pack_end() -> Vec<u8> {
    vec![3]
}

impl<U> Message<U> {
    /// The kind is the last byte, so that units are at the start, where their bytes are aligned.
    pub(super) fn unpack<W: Way<U>>(bytes: &[u8]) -> Option<Self> {
        let (kind, contents) = bytes.split_last()?;
        let message = match kind {
            0 => Self::Units(W::unpack(contents)?),
            1 => Self::Wave,
            2 => {
                let (sent, received) = wire::unpack(contents)?;
                Self::Answer(Sums { sent, received })
            }
            3 => Self::End,
            _ => return None,
        };
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Plain, Serde};

    fn there_and_back<W: Way<u32>>() {
        let sums = Sums { sent: 1 << 40, received: 3 };
        for (bytes, message) in [
            (pack_units::<u32, W>(&[7, 8]), Message::Units(vec![7, 8])),
            (pack_wave(), Message::Wave),
            (pack_answer(sums), Message::Answer(sums)),
            (pack_end(), Message::End),
        ] {
            assert_eq!(Message::unpack::<W>(&bytes), Some(message));
        }
    }

    #[test]
    fn every_message_arrives_as_it_was_sent() {
        there_and_back::<Plain>();
        there_and_back::<Serde>();
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        for bytes in [&[][..], &[1, 2, 0], &[9]] {
            assert_eq!(Message::<u32>::unpack::<Plain>(bytes), None);
        }
    }
}
