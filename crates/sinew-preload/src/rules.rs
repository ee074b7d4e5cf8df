//! When a team may be lowered, and to which size. Pure: the facts come in, a number goes out.
//!
//! A program is right under any team size if it asks for the size inside of each region and nowhere
//! else, or lets work-sharing constructs divide the work. Only such programs are lowered. Any sign
//! of another kind of program forbids lowering for good:
//!
//! - it asked its runtime or the C library for the maximum of threads or the number of processors,
//!   and may have divided its work by that. (Of 1000 elements divided by a maximum of two, one
//!   thread would compute 500, and the program would exit with 0.)
//! - it set the number of threads, by a call, a clause or the environment, or it set that teams do
//!   not vary;
//! - it keeps data per thread from one region to the next, which OpenMP promises only to teams that
//!   keep their size;
//! - it uses teams, or binds its threads.
//!
//! Only regions at level 0 are lowered. A region that was lowered to a single thread is not
//! *active* any more in OpenMP's sense. A region nested in it would get the team that the outer one
//! did not get; [`nested`] keeps it as it would have been.

/// The number of threads of a region without a clause.
pub const UNSAID: u32 = 0;

/// An action of a program that forbids lowering from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Objection {
    /// It asked how many threads a region would have, or how many processors there are.
    AskedMaximum = 1,
    /// It set the number of threads.
    OwnNumber = 1 << 1,
    /// It set that teams do not vary.
    FixedTeams = 1 << 2,
    /// It uses teams.
    Teams = 1 << 3,
    /// It keeps data per thread.
    ThreadPrivate = 1 << 4,
    /// It binds threads to places.
    Binds = 1 << 5,
    /// The user's environment sets threads or binding.
    Environment = 1 << 6,
    /// `--malleable` was not given.
    NotAllowed = 1 << 7,
}

impl Objection {
    /// All of them, the most telling first.
    pub const ALL: [Self; 8] = [
        Self::NotAllowed,
        Self::Environment,
        Self::OwnNumber,
        Self::AskedMaximum,
        Self::FixedTeams,
        Self::Teams,
        Self::ThreadPrivate,
        Self::Binds,
    ];

    /// The end of the message "teams are left alone: …".
    pub const fn reason(self) -> &'static str {
        match self {
            Self::AskedMaximum => {
                "the program asks how many threads or processors there are, and may count on it"
            }
            Self::OwnNumber => "the program says how many threads it wants",
            Self::FixedTeams => "the program wants teams that do not vary",
            Self::Teams => "the program uses teams",
            Self::ThreadPrivate => "the program keeps data per thread",
            Self::Binds => "the program binds its threads",
            Self::Environment => "the environment sets threads or binding",
            Self::NotAllowed => "--malleable was not given",
        }
    }
}

/// The threads to ask for in a region at level 0.
///
/// `said` is its clause, `maximum` the team without a clause, `share` the program's share (0: any
/// number), and `objections` the bits of [`Objection`]. Returns `said` itself if the team keeps its
/// size.
pub const fn outermost(said: u32, maximum: u32, share: u32, objections: u32) -> u32 {
    let lower = said == UNSAID && objections == 0 && share != 0 && share < maximum;
    if lower { share } else { said }
}

/// The threads to ask for in a region nested in another.
///
/// `outer_is_one`: the outer region was lowered to one thread. `active`: the regions around with
/// more than one thread, as the runtime counts them; `most`: the most that may be active. Without
/// lowering, one more region would be active.
pub const fn nested(said: u32, outer_is_one: bool, active: u32, most: u32) -> u32 {
    if outer_is_one && active + 1 >= most { 1 } else { said }
}

/// Whether a region's `team` has to run on fewer processors than it has threads, and is as large as
/// the machine was at the start (`all`).
pub const fn crowds(team: u32, share: u32, all: u32) -> bool {
    share != 0 && share < team && team >= all
}

/// Libraries of languages and runtimes. Their data per thread is their own, and they keep none for
/// the program from one region to the next.
const OWN_DATA: [&[u8]; 13] = [
    b"libc",
    b"libpthread",
    b"libresolv",
    b"ld-linux-x86-64",
    b"ld-linux-aarch64",
    b"libstdc++",
    b"libc++",
    b"libc++abi",
    b"libgfortran",
    b"libgomp",
    b"libomp",
    b"libiomp5",
    b"libnuma",
];

/// Whether the data per thread in the library `file` does not matter to a program's regions.
///
/// Packages bring along copies with a hexadecimal number between name and ending:
/// `libgomp-a34b3233.so.1`.
pub fn keeps_no_users_data(file: &[u8]) -> bool {
    let is = |stem: &&[u8]| {
        let Some(rest) = file.strip_prefix(*stem) else { return false };
        let number =
            rest.iter().take_while(|byte| **byte == b'-' || byte.is_ascii_hexdigit()).count();
        (number == 0 || rest[0] == b'-') && rest[number..].starts_with(b".so")
    };
    OWN_DATA.iter().any(is)
}

#[cfg(test)]
mod tests {
    //! Blind to: facts that are gathered wrongly; `sinew-exec/tests` runs programs for that.
    use super::*;

    /// Blind to: a maximum that the runtime itself reports wrongly.
    #[test]
    fn a_team_is_lowered_to_the_share_and_never_raised() {
        assert_eq!(outermost(UNSAID, 8, 3, 0), 3);
        for share in [8, 9, 0] {
            assert_eq!(outermost(UNSAID, 8, share, 0), UNSAID);
        }
    }

    /// Catches: clauses that are lowered.
    #[test]
    fn a_clause_is_kept() {
        for said in 1..6 {
            assert_eq!(outermost(said, 4, 1, 0), said);
        }
    }

    /// Catches: objections that have no effect.
    #[test]
    fn every_objection_forbids_lowering() {
        let mut seen = 0;
        for objection in Objection::ALL {
            assert_eq!(outermost(UNSAID, 4, 1, objection as u32), UNSAID);
            assert_eq!(seen & objection as u32, 0, "each has a bit of its own");
            seen |= objection as u32;
        }
    }

    /// Blind to: teams that the user made larger than the machine, which crowd at any time.
    #[test]
    fn a_team_as_large_as_the_machine_crowds_in_a_smaller_share() {
        assert!(crowds(4, 3, 4) && crowds(5, 1, 4));
        assert!(!crowds(4, 4, 4) && !crowds(4, 0, 4), "there is room");
        assert!(!crowds(3, 2, 4), "smaller than the machine");
        assert!(!crowds(1, 1, 4), "lowered to its share");
    }

    /// Blind to: a program that names a library of its own as one of these.
    #[test]
    fn libraries_of_languages_and_runtimes_are_told_from_a_programs() {
        for file in [
            "libc.so.6",
            "libgomp.so.1",
            "libgomp-a34b3233.so.1.0.0",
            "libomp.so",
            "libstdc++.so.6",
        ] {
            assert!(keeps_no_users_data(file.as_bytes()), "{file}");
        }
        for file in [
            "",
            "program",
            "libcount.so",
            "libc-count.so",
            "libomp2.so",
            "libgomp",
            "libc++x.so",
            "libcafe.so",
        ] {
            assert!(!keeps_no_users_data(file.as_bytes()), "{file}");
        }
    }

    /// Blind to: an outer region that is serial for another reason.
    #[test]
    fn a_region_within_a_lowered_one_is_as_serial_as_it_would_have_been() {
        assert_eq!(
            nested(UNSAID, true, 0, 1),
            1,
            "one level may be active, and the outer one would have been"
        );
        assert_eq!(nested(4, true, 0, 1), 1, "with a clause, too");
        assert_eq!(nested(4, true, 0, 2), 4, "two levels may be active");
        assert_eq!(nested(UNSAID, false, 0, 1), UNSAID);
    }
}
