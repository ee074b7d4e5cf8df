//! Messages between the ranks of a bag: a byte that names the kind, and the contents.

use sinew_policy::lifelines::Sums;

use crate::wire::{self, Way};

#[derive(Debug, PartialEq)]
pub(super) enum Message<U> {
    /// Gives the receiver units to the sender? The sender may be a lifeline's user.
    Question { lifeline: bool },
    /// No.
    Refusal,
    /// Units: the answer to a question, or a push along a lifeline.
    Units { units: Vec<U>, pushed: bool },
    /// A wave goes down the tree.
    Wave,
    /// A wave comes back.
    Answer(Sums),
    /// All ranks are done.
    End,
    /// The sender and the ranks below it have run so many units.
    Progress(u64),
    /// No rank runs units from now on.
    Stop,
}

impl<U> Message<U> {
    pub(super) fn pack<W: Way<U>>(&self) -> Vec<u8> {
        match self {
            Self::Question { lifeline } => vec![u8::from(*lifeline)],
            Self::Refusal => vec![2],
            Self::Units { units, pushed } => {
                let mut bytes = W::pack(units);
                bytes.push(3 + u8::from(*pushed));
                bytes
            }
            Self::Wave => vec![5],
            Self::Answer(sums) => {
                let mut bytes = wire::pack(&(sums.sent, sums.received));
                bytes.push(6);
                bytes
            }
            Self::End => vec![7],
            Self::Progress(units) => {
                let mut bytes = wire::pack(units);
                bytes.push(8);
                bytes
            }
            Self::Stop => vec![9],
        }
    }

    /// The kind is the last byte, so that units are at the start, where their bytes are aligned.
    pub(super) fn unpack<W: Way<U>>(bytes: &[u8]) -> Option<Self> {
        let (kind, contents) = bytes.split_last()?;
        let message = match kind {
            0 | 1 => Self::Question { lifeline: *kind == 1 },
            2 => Self::Refusal,
            3 | 4 => Self::Units { units: W::unpack(contents)?, pushed: *kind == 4 },
            5 => Self::Wave,
            6 => {
                let (sent, received) = wire::unpack(contents)?;
                Self::Answer(Sums { sent, received })
            }
            7 => Self::End,
            8 => Self::Progress(wire::unpack(contents)?),
            9 => Self::Stop,
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
        let all = [
            Message::Question { lifeline: false },
            Message::Question { lifeline: true },
            Message::Refusal,
            Message::Units { units: vec![7, 8], pushed: false },
            Message::Units { units: vec![9], pushed: true },
            Message::Wave,
            Message::Answer(Sums { sent: 1 << 40, received: 3 }),
            Message::End,
            Message::Progress(1 << 40),
            Message::Stop,
        ];
        for message in all {
            assert_eq!(Message::unpack::<W>(&message.pack::<W>()), Some(message));
        }
    }

    #[test]
    fn every_message_arrives_as_it_was_sent() {
        there_and_back::<Plain>();
        there_and_back::<Serde>();
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        assert_eq!(Message::<u32>::unpack::<Plain>(&[]), None);
        assert_eq!(Message::<u32>::unpack::<Plain>(&[1, 2, 3]), None);
        assert_eq!(Message::<u32>::unpack::<Plain>(&[10]), None);
    }
}
