//! Decisions, and their reasons.

use std::fmt;

use crate::row::Name;
use crate::words::{Reader, Writer};

/// The reason for which shares were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A program joined.
    Arrived,
    /// A program left.
    Left,
    /// A program was found dead.
    Died,
    /// A program's demand changed.
    Demand,
    /// A program's weight was changed.
    Weight,
    /// The policy was changed.
    Policy,
    /// A script or a user requested something on a program's behalf.
    Asked,
    /// Throughput was measured.
    Measured,
    /// A program was found stopped; the others have its cores.
    Stopped,
    /// A stopped program continued.
    Continued,
    /// A program set a schedule or cores itself, or gave them up.
    OwnSettings,
    /// The table was damaged, and the readable part of it was restored.
    Repaired,
    /// A coordinator over machines assigned cores to the programs.
    Assigned,
}

impl Reason {
    const ALL: [Self; 13] = [
        Self::Arrived,
        Self::Left,
        Self::Died,
        Self::Demand,
        Self::Weight,
        Self::Policy,
        Self::Asked,
        Self::Measured,
        Self::Repaired,
        Self::Stopped,
        Self::Continued,
        Self::OwnSettings,
        Self::Assigned,
    ];

    /// The reason in one or two words, for a log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Left => "left",
            Self::Died => "died",
            Self::Demand => "demand changed",
            Self::Weight => "weight set",
            Self::Policy => "policy set",
            Self::Asked => "asked",
            Self::Measured => "measured",
            Self::Stopped => "stopped",
            Self::Continued => "continued",
            Self::OwnSettings => "chose",
            Self::Repaired => "repaired",
            Self::Assigned => "assigned",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A time at which shares were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The time, on the clock that all processes share, in nanoseconds.
    pub at_ns: u64,
    /// The process that computed the shares.
    pub by: u32,
    /// The reason.
    pub reason: Reason,
    /// The process number of the program that the reason is about, or 0.
    pub subject: u32,
    /// The name of that program.
    pub name: Name,
    /// Programs in the table afterwards.
    pub programs: u32,
    /// Programs whose share changed.
    pub changed: u32,
}

impl Decision {
    pub(crate) const WORDS: usize = 8;

    pub(crate) fn encode(&self, out: &mut Writer<'_>) {
        let reason = Reason::ALL.iter().position(|&reason| reason == self.reason).unwrap_or(0);
        out.put(self.at_ns);
        out.pair(self.by, self.subject);
        out.put(reason as u64);
        out.pair(self.programs, self.changed);
        self.name.encode(out);
    }

    pub(crate) fn decode(words: &mut Reader<'_>) -> Option<Self> {
        let at_ns = words.take()?;
        let (by, subject) = words.pair()?;
        let reason = *Reason::ALL.get(usize::try_from(words.take()?).ok()?)?;
        let (programs, changed) = words.pair()?;
        Some(Self { at_ns, by, reason, subject, name: Name::decode(words)?, programs, changed })
    }
}
