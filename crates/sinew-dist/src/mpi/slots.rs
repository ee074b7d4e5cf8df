//! Reasons for which a job starts no ranks. Libraries end the job instead of returning an error.
//!
//! MPICH before 4.2 cannot start processes over UCX, which Debian 12 has.
//!
//! Open MPI up to version 4 ends a job that starts more processes than `mpirun` has slots, or
//! leaves its ranks waiting. So a rank counts the slots before. `mpirun` tells its processes their
//! number and, if its options or variables allow more, that too.
//!
//! # Not handled
//!
//! Permission that only a parameter file of Open MPI gives, which processes do not see: it counts
//! as none. Processes that take several slots each: fewer fit than the count says. Open MPI 5 does
//! not tell processes whether more are allowed; a job without slots ends.

/// Why the library with this description starts no processes.
pub(super) fn lack(library: &str) -> Option<String> {
    let value = |name: &str| {
        let mut lines = library.lines();
        Some(lines.find_map(|line| line.strip_prefix(name))?.trim().to_owned())
    };
    let (version, device) = (value("MPICH Version:")?, value("MPICH Device:")?);
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    let is_old = (parts.next()?, parts.next()?) < (4, 2);
    (is_old && device == "ch4:ucx").then(|| {
        format!(
            "MPICH {version} with {device} starts no processes; use MPICH 4.2, one with ch4:ofi, \
             or Open MPI"
        )
    })
}

/// Set by Open MPI up to version 4. Later ones do not say whether more may start.
const ORTE: &str = "OMPI_MCA_orte_launch";

/// The slots for all processes of the job.
const SLOTS: &str = "OMPI_UNIVERSE_SIZE";

/// Whether `mpirun` starts more processes than it has slots.
const MORE: &str = "OMPI_MCA_rmaps_base_oversubscribe";

/// Where `mpirun` starts processes, and, in a modifier, the same.
const POLICIES: [&str; 2] =
    ["OMPI_MCA_rmaps_base_mapping_policy", "OMPI_MCA_rmaps_base_schedule_policy"];

/// The most ranks that the job of this process may have, if there is a known limit.
pub(super) fn slots() -> Option<u32> {
    from(|name| std::env::var(name).ok())
}

fn from(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    variable(ORTE)?;
    let lower = |name: &str| variable(name).unwrap_or_default().trim().to_lowercase();
    let allows = |policy: String| policy.split([':', ',']).any(|word| word == "oversubscribe");
    let no = ["", "0", "n", "no", "f", "false"].contains(&lower(MORE).as_str());
    if !no || POLICIES.map(lower).into_iter().any(allows) {
        return None;
    }
    variable(SLOTS)?.trim().parse().ok()
}

/// Why a job of `ranks` ranks cannot have `more`, if it can have at most so many.
pub(super) fn refusal(ranks: u32, more: u32, slots: u32) -> Option<String> {
    // Some mappings start more ranks than there are slots.
    if ranks > slots || more <= slots - ranks {
        return None;
    }
    let free = slots - ranks;
    Some(format!(
        "{more} more were asked for, and {free} of the {slots} slots of mpirun are free; start it \
         with `--oversubscribe`, or with more slots: `--host NAME:SLOTS`, or a hostfile"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Option<u32> {
        let all = [&[(ORTE, "1"), (SLOTS, "8")], set].concat();
        from(|name| {
            let found = all.iter().rev().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    /// Catches: a job that does not grow although `mpirun` would start the ranks.
    #[test]
    fn what_lets_mpirun_start_more_ranks_lifts_the_limit() {
        assert_eq!(with(&[]), Some(8));
        assert_eq!(with(&[(SLOTS, "?")]), None);
        for (value, limit) in [
            ("1", None),
            ("yes", None),
            ("TRUE", None),
            ("2", None),
            ("0", Some(8)),
            ("no", Some(8)),
        ] {
            assert_eq!(with(&[(MORE, value)]), limit, "{value}");
        }
        for (value, limit) in [
            (":OVERSUBSCRIBE", None),
            ("node:pe=2,oversubscribe", None),
            ("node:NOOVERSUBSCRIBE", Some(8)),
            ("core", Some(8)),
        ] {
            assert_eq!(POLICIES.map(|name| with(&[(name, value)])), [limit; 2], "{value}");
        }
        assert_eq!(from(|name| (name == SLOTS).then(|| "8".to_owned())), None, "another MPI");
    }

    /// Catches: a library that ends the job, and one that is refused although it starts processes.
    #[test]
    fn old_mpich_over_ucx_starts_no_processes() {
        for (version, device, starts) in [
            ("4.0.2", "ch4:ucx", false),
            ("4.1", "ch4:ucx", false),
            ("4.2.0", "ch4:ucx", true),
            ("4.3.0b1", "ch4:ucx", true),
            ("5.0", "ch4:ucx", true),
            ("4.0.2", "ch4:ofi", true),
            ("3.4", "ch3:nemesis", true),
        ] {
            let library = format!("MPICH Version:\t{version}\nMPICH Device:\t{device}\n");
            assert_eq!(lack(&library).is_none(), starts, "{version} {device}");
        }
        assert_eq!(lack("Open MPI v4.1.4, package: Debian OpenMPI"), None);
    }

    #[test]
    fn only_ranks_without_a_slot_are_refused() {
        for (ranks, more, slots, refused) in
            [(1, 1, 2, false), (1, 2, 2, true), (2, 1, 2, true), (4, 1, 2, false), (2, 0, 2, false)]
        {
            let why = refusal(ranks, more, slots);
            assert_eq!(why.is_some(), refused, "{ranks} {more} {slots}: {why:?}");
        }
        let why = refusal(3, 4, 5).unwrap();
        assert!(why.starts_with("4 more were asked for, and 2 of the 5 slots"), "{why}");
    }
}
