//! Settings by which users fix the number or the places of threads. Pure: names and values come in.
//!
//! `sinew exec` checks them for the command. This library checks them again inside of each process,
//! since a script may set them meanwhile.

/// The variable that lists the thread counts that `sinew exec` has set: `NAME=VALUE`, separated by
/// blanks. A count that a script sets later is not in the list.
///
/// The list is a variable of its own because some programs that read a count accept digits only.
pub const OURS: &str = "SINEW_EXEC_COUNTS";

/// The subject of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The number of threads.
    Threads,
    /// The places of threads.
    Binding,
    /// A launcher has placed the process as one of several.
    Rank,
}

/// Every variable that is checked, with its subject.
pub const VARIABLES: [(&str, Topic); 19] = [
    ("OMP_NUM_THREADS", Topic::Threads),
    ("OMP_DYNAMIC", Topic::Threads),
    ("OMP_THREAD_LIMIT", Topic::Threads),
    ("OMP_NUM_TEAMS", Topic::Threads),
    ("KMP_ALL_THREADS", Topic::Threads),
    ("KMP_DEVICE_THREAD_LIMIT", Topic::Threads),
    ("OMP_PROC_BIND", Topic::Binding),
    ("OMP_PLACES", Topic::Binding),
    ("GOMP_CPU_AFFINITY", Topic::Binding),
    ("KMP_AFFINITY", Topic::Binding),
    ("KMP_HW_SUBSET", Topic::Binding),
    ("OMPI_COMM_WORLD_RANK", Topic::Rank),
    ("PMIX_RANK", Topic::Rank),
    ("PMI_RANK", Topic::Rank),
    ("MPI_LOCALRANKID", Topic::Rank),
    ("MV2_COMM_WORLD_RANK", Topic::Rank),
    ("SLURM_PROCID", Topic::Rank),
    ("PALS_RANKID", Topic::Rank),
    ("JSM_NAMESPACE_RANK", Topic::Rank),
];

/// Whether `value` of the variable `name`, whose subject is `topic`, is a request that must be
/// respected.
pub fn is_user_request(name: &str, topic: Topic, value: &[u8]) -> bool {
    let value = trimmed(value);
    match (name, topic) {
        // Teams that may vary are the opposite of a request.
        ("OMP_DYNAMIC", _) => value.eq_ignore_ascii_case(b"false") || value == b"0",
        (_, Topic::Threads) => !value.is_empty(),
        // The values that switch binding off.
        (_, Topic::Binding) => !none_of(value),
        (_, Topic::Rank) => true,
    }
}

/// Whether `sinew exec` set the variable `name` to `value`, according to the list [`OURS`].
///
/// If a script sets exactly the value in the list, it counts as set by `sinew exec`.
pub fn is_ours(ours: &[u8], name: &str, value: &[u8]) -> bool {
    let is_it = |setting: &[u8]| {
        let rest = setting.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        rest == Some(value)
    };
    ours.split(|&byte| byte == b' ').any(is_it)
}

fn none_of(value: &[u8]) -> bool {
    let off: [&[u8]; 4] = [b"", b"false", b"none", b"disabled"];
    off.iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn trimmed(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

#[cfg(test)]
mod tests {
    //! Blind to: variables that are not in the list.
    use super::*;

    fn respected(name: &str, value: &str) -> bool {
        let (_, topic) =
            VARIABLES.iter().find(|(known, _)| *known == name).expect("a known variable");
        is_user_request(name, *topic, value.as_bytes())
    }

    /// Blind to: values that a runtime understands and this code does not.
    #[test]
    fn requests_are_told_from_their_contrary() {
        for (name, value) in [
            ("OMP_NUM_THREADS", "4"),
            ("OMP_DYNAMIC", "FALSE"),
            ("OMP_PROC_BIND", "close"),
            ("OMP_PLACES", "cores"),
            ("GOMP_CPU_AFFINITY", "0-3"),
            ("KMP_AFFINITY", "granularity=fine,compact"),
            ("PMI_RANK", "0"),
        ] {
            assert!(respected(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("OMP_DYNAMIC", "true"),
            ("OMP_PROC_BIND", "false"),
            ("KMP_AFFINITY", "disabled"),
            ("OMP_NUM_THREADS", ""),
        ] {
            assert!(!respected(name, value), "{name}={value}");
        }
    }

    /// Catches: a script's count that counts as one of `sinew exec`, and the reverse.
    #[test]
    fn the_list_tells_our_counts_from_a_users() {
        let ours = b"OMP_NUM_THREADS=12 SINEW_THREADS=6";
        assert!(is_ours(ours, "OMP_NUM_THREADS", b"12") && is_ours(ours, "SINEW_THREADS", b"6"));
        for (name, value) in [
            ("OMP_NUM_THREADS", "1"),
            ("OMP_NUM_THREADS", "6"),
            ("OMP_NUM_THREADS", " 12"),
            ("OMP_NUM_THREADS", "12 SINEW_THREADS=6"),
            ("NUM_THREADS", "12"),
            ("OMP_NUM", "12"),
        ] {
            assert!(!is_ours(ours, name, value.as_bytes()), "{name}={value}");
        }
        assert!(!is_ours(b"", "OMP_NUM_THREADS", b"12"));
    }
}
