//! The settings that are made for a command, left alone or refused, with reasons. Pure: facts come
//! in.
//!
//! **Affinity** is what splits the cores, and it changes while the command runs. A runtime must not
//! derive its number of threads from a mask that is narrow only at its start. So each runtime is
//! told the number that it would choose by itself. These numbers are no request for fewer threads.
//!
//! **Spinning** is cut short: a thread that spins for another one without a core keeps that one
//! from getting a core. GNU's runtime spins 300,000 times by default, up to 15 ms. 1,000 times,
//! some 25 µs, cost a lone program nothing. They bring three programs of short loops on two cores
//! from 10 to 32 times the ideal time to about 1.5. The library lets it spin a tenth of that while
//! teams are larger than the share, which makes it 1.2. LLVM's spins for 200 ms by default; 1 ms
//! here.
//!
//! **Settings of users** are left as they are. They are: a mask that is narrower than the machine
//! (taskset, numactl, a batch system), places and bindings in the environment, memory bound to
//! nodes, thread counts, and processes that an MPI launcher has placed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use sinew_preload::user_settings::{self, Topic};

use crate::program::Kind;

/// GNU's runtime: turns of a waiting loop before a thread sleeps.
///
/// A thread must spin for longer than it takes to wake another one. Else it sleeps in every region
/// and is woken late, so that the next one sleeps as well. On two cores of a virtual machine 300
/// turns cost loops of 17 to 70 µs a fifth; 400 to 2,000 cost nothing. If two threads share a core,
/// every turn is lost; the library shortens the spinning for that time.
const GNU_SPINS: &str = "1000";
/// LLVM's runtime: milliseconds before a thread sleeps.
const LLVM_SPIN_MS: &str = "1";

/// Commands that place processes themselves.
const LAUNCHERS: [&str; 8] =
    ["mpirun", "mpiexec", "orterun", "prterun", "srun", "aprun", "jsrun", "mpiexec.hydra"];
const BINDERS: [&str; 4] = ["taskset", "numactl", "hwloc-bind", "likwid-pin"];

/// Facts that are known before the command starts.
#[derive(Debug, Clone)]
pub(crate) struct Facts<'a> {
    /// CPUs in the mask.
    pub(crate) cpus: usize,
    /// Physical cores among them.
    pub(crate) cores: usize,
    /// Threads that a quota allows, at most `cpus`.
    pub(crate) threads: usize,
    /// The mask is narrower than the machine allows this user.
    pub(crate) narrowed: bool,
    /// A memory policy is in force.
    pub(crate) memory_bound: bool,
    /// The file's name.
    pub(crate) name: &'a OsStr,
    pub(crate) kind: Kind,
    pub(crate) malleable: bool,
    /// Cores that the user requests at least; 1 if the user has not set it.
    pub(crate) min: usize,
    /// Cores that the user allows at most.
    pub(crate) max: Option<usize>,
    /// `Ok` if the library was built, else the reason why not.
    pub(crate) library: Result<(), &'a str>,
}

/// The decisions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Variables, with values.
    pub(crate) set: Vec<(&'static str, String)>,
    /// Settings that are left alone, with reasons: a line each.
    pub(crate) left: Vec<String>,
    /// Requests of the user that cannot be met: a line each.
    pub(crate) refused: Vec<String>,
    /// The command runs within its share of the cores.
    pub(crate) narrow: bool,
    /// The library is loaded.
    pub(crate) preload: bool,
    /// The library may lower teams.
    pub(crate) lower: bool,
}

/// Looks up a variable of the environment.
type Lookup<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

impl Plan {
    /// A plan for a command with these facts, in the environment that `value` looks up.
    pub(crate) fn new(facts: &Facts<'_>, value: &Lookup<'_>) -> Self {
        let mut plan = Self::default();
        if let Some(why) = placed_by_launcher(facts, value) {
            plan.left.push(format!("everything: {why}"));
            plan.refuse_bounds(facts);
            return plan;
        }
        plan.affinity(facts, value);
        plan.refuse_bounds(facts);
        if plan.narrow {
            plan.counts(facts, value);
        }
        plan.spins(value);
        plan.library(facts, value);
        plan
    }

    /// Whether the plan sets this variable. It does so only if the user has not set its subject.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.set.iter().any(|(set, _)| *set == name)
    }

    /// Reports the bounds on its cores that the command cannot have.
    fn refuse_bounds(&mut self, facts: &Facts<'_>) {
        let (threads, min) = (facts.threads, Some(facts.min).filter(|&min| min > 1));
        if self.narrow {
            let refusal = |min: usize| {
                format!("--min {min} counts as {threads}: the command may use no more cores")
            };
            self.refused.extend(min.filter(|&min| min > threads).map(refusal));
            return;
        }
        let refusal = |option: &str, cores: usize| {
            format!("{option} {cores} has no effect: affinity is left alone")
        };
        self.refused.extend(min.map(|min| refusal("--min", min)));
        self.refused.extend(facts.max.map(|max| refusal("--max", max)));
    }

    fn affinity(&mut self, facts: &Facts<'_>, value: &Lookup<'_>) {
        let why = if facts.narrowed {
            Some(
                "the mask is narrower than the machine (taskset, numactl or a batch system)"
                    .to_owned(),
            )
        } else if facts.memory_bound {
            Some("memory is bound to nodes (numactl)".to_owned())
        } else if is_one_of(facts.name, &BINDERS) {
            Some(format!("{} binds what it runs", facts.name.display()))
        } else if facts.kind == Kind::StaticOpenMp {
            Some(
                "an OpenMP program that is linked statically would see its number of processors \
                 change"
                    .to_owned(),
            )
        } else {
            user_request_about(Topic::Binding, value).map(|name| format!("{name} is set"))
        };
        self.narrow = why.is_none();
        self.left.extend(why.map(|why| format!("affinity: {why}")));
    }

    /// Sets the thread counts that the runtimes would choose by themselves on as much of the
    /// machine as the command may have.
    fn counts(&mut self, facts: &Facts<'_>, value: &Lookup<'_>) {
        let most = |count: usize| count.min(facts.max.unwrap_or(usize::MAX)).to_string();
        // Both libraries follow OpenMP's count if their own is not set.
        let openmp: &[&str] = &["OMP_NUM_THREADS"];
        let settings: [(&'static str, String, &[&str]); 7] = [
            ("OMP_NUM_THREADS", most(facts.cpus), &[]),
            ("OPENBLAS_NUM_THREADS", most(facts.cpus), openmp),
            ("MKL_NUM_THREADS", most(facts.cores), openmp),
            ("RAYON_NUM_THREADS", most(facts.threads), &["RAYON_RS_NUM_CPUS"]),
            ("TOKIO_WORKER_THREADS", most(facts.threads), &[]),
            ("GOMAXPROCS", most(facts.threads), &[]),
            ("SINEW_THREADS", most(facts.threads), &[]),
        ];
        for (name, count, others) in settings {
            self.set_unless(name, count, others, value);
        }
        self.mark();
    }

    /// Lists the counts set so far. The library reads the list to tell them from a script's counts.
    /// The program's own pools read it to know that their count is no request, and follow the mask.
    fn mark(&mut self) {
        let counts: Vec<String> =
            self.set.iter().map(|(name, count)| format!("{name}={count}")).collect();
        if !counts.is_empty() {
            self.set.push((user_settings::OURS, counts.join(" ")));
        }
    }

    fn spins(&mut self, value: &Lookup<'_>) {
        self.set_unless("GOMP_SPINCOUNT", GNU_SPINS.to_owned(), &["OMP_WAIT_POLICY"], value);
        self.set_unless(
            "KMP_BLOCKTIME",
            LLVM_SPIN_MS.to_owned(),
            &["OMP_WAIT_POLICY", "KMP_LIBRARY"],
            value,
        );
    }

    /// Sets `name` unless the user has set it or one of `others`.
    fn set_unless(&mut self, name: &'static str, new: String, others: &[&str], value: &Lookup<'_>) {
        let theirs = |name: &&str| {
            value(name).is_some_and(|text| !text.is_empty() && !is_ours(name, &text, value))
        };
        match std::iter::once(&name).chain(others).find(|name| theirs(name)) {
            Some(&found) if found == name => self.left.push(format!("{name}: it is set")),
            Some(other) => self.left.push(format!("{name}: {other} is set")),
            None => self.set.push((name, new)),
        }
    }

    /// Decides whether the library is loaded, and what it may do. It is useful without
    /// `--malleable`, too: it keeps the number of processors as it was.
    fn library(&mut self, facts: &Facts<'_>, value: &Lookup<'_>) {
        let refusal = match facts.library {
            Err(why) => {
                Some(format!("this command was built without the library to preload: {why}"))
            }
            Ok(()) => facts.kind.refusal().map(str::to_owned),
        };
        self.preload = refusal.is_none() && (self.narrow || facts.malleable);
        if !facts.malleable {
            return;
        }
        if let Some(why) = refusal {
            self.refused.push(format!("--malleable has no effect: {why}"));
        } else if !self.narrow {
            self.left.push("teams: affinity is left alone".to_owned());
        } else if let Some(name) = user_request_about(Topic::Threads, value) {
            self.left.push(format!("teams: {name} is set"));
        } else {
            self.lower = true;
        }
    }
}

fn placed_by_launcher(facts: &Facts<'_>, value: &Lookup<'_>) -> Option<String> {
    if is_one_of(facts.name, &LAUNCHERS) {
        return Some(format!("{} places what it runs", facts.name.display()));
    }
    user_request_about(Topic::Rank, value)
        .map(|name| format!("an MPI launcher placed this process ({name} is set)"))
}

fn is_one_of(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name == *known)
}

/// The first variable about `topic` that holds a request of the user.
fn user_request_about(topic: Topic, value: &Lookup<'_>) -> Option<&'static str> {
    let is_user_request = |name: &str| {
        value(name).is_some_and(|text| {
            !is_ours(name, &text, value)
                && user_settings::is_user_request(name, topic, text.as_bytes())
        })
    };
    user_settings::VARIABLES
        .iter()
        .find(|(name, about)| *about == topic && is_user_request(name))
        .map(|(name, _)| *name)
}

/// Whether an outer `sinew exec` set the variable `name` to `text`.
fn is_ours(name: &str, text: &OsStr, value: &Lookup<'_>) -> bool {
    value(user_settings::OURS)
        .is_some_and(|ours| user_settings::is_ours(ours.as_bytes(), name, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    //! Blind to: facts that are found wrongly, and runtimes that read other variables.
    use super::*;

    fn facts() -> Facts<'static> {
        Facts {
            cpus: 8,
            cores: 4,
            threads: 6,
            narrowed: false,
            memory_bound: false,
            name: OsStr::new("prog"),
            kind: Kind::Dynamic,
            malleable: true,
            min: 1,
            max: None,
            library: Ok(()),
        }
    }

    fn plan(facts: &Facts<'_>, environment: &[(&str, &str)]) -> Plan {
        let value = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        Plan::new(facts, &value)
    }

    fn value_of<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
        plan.set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Blind to: defaults of runtimes that differ from these.
    #[test]
    fn counts_are_what_each_runtime_would_choose() {
        let plan = plan(&facts(), &[]);
        assert!(plan.narrow && plan.preload && plan.lower && plan.left.is_empty(), "{plan:?}");
        for (name, count) in [
            ("OMP_NUM_THREADS", "8"),
            ("OPENBLAS_NUM_THREADS", "8"),
            ("MKL_NUM_THREADS", "4"),
            ("RAYON_NUM_THREADS", "6"),
            ("GOMAXPROCS", "6"),
            ("SINEW_THREADS", "6"),
            ("GOMP_SPINCOUNT", "1000"),
        ] {
            assert_eq!(value_of(&plan, name), Some(count), "{name}");
        }
    }

    /// Catches: a command that makes more threads than it can ever have cores, and a limit that is
    /// ignored without a message.
    #[test]
    fn a_command_with_a_maximum_makes_no_more_threads_than_that() {
        let facts = Facts { max: Some(5), ..facts() };
        let limited = plan(&facts, &[]);
        assert_eq!(value_of(&limited, "OMP_NUM_THREADS"), Some("5"));
        assert_eq!(value_of(&limited, "MKL_NUM_THREADS"), Some("4"));
        for bound in
            [plan(&facts, &[("OMP_PROC_BIND", "close")]), plan(&facts, &[("PMIX_RANK", "2")])]
        {
            assert_eq!(bound.refused, ["--max 5 has no effect: affinity is left alone"]);
        }
    }

    /// Catches: a minimum that the machine cannot give, ignored without a message, and a warning
    /// about one that it can give.
    #[test]
    fn a_minimum_that_the_command_cannot_have_is_refused_by_name() {
        let asked = |min: usize, environment: &[(&str, &str)]| {
            plan(&Facts { min, ..facts() }, environment).refused
        };
        assert_eq!(asked(9, &[]), ["--min 9 counts as 6: the command may use no more cores"]);
        assert!(asked(6, &[]).is_empty() && asked(1, &[("OMP_PROC_BIND", "close")]).is_empty());
        for bound in [("OMP_PROC_BIND", "close"), ("PMIX_RANK", "2")] {
            assert_eq!(asked(2, &[bound]), ["--min 2 has no effect: affinity is left alone"]);
        }
    }

    /// Catches: a user's count that is overwritten, and one that is kept without a message.
    #[test]
    fn a_users_thread_count_is_kept_by_all_who_follow_it() {
        let plan = plan(&facts(), &[("OMP_NUM_THREADS", "3")]);
        for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            assert_eq!(value_of(&plan, name), None, "{name}");
            assert!(plan.left.iter().any(|line| line.starts_with(name)), "{plan:?}");
        }
        assert!(plan.narrow && !plan.lower && value_of(&plan, "GOMAXPROCS").is_some());
    }

    /// Blind to: bindings that leave no trace.
    #[test]
    fn what_binds_threads_keeps_its_affinity_and_its_teams() {
        let bound =
            [("OMP_PROC_BIND", "close"), ("GOMP_CPU_AFFINITY", "0-3"), ("KMP_AFFINITY", "compact")];
        let narrowed = Facts { narrowed: true, ..facts() };
        let memory = Facts { memory_bound: true, ..facts() };
        let binder = Facts { name: OsStr::new("numactl"), ..facts() };
        let plans = bound.iter().map(|setting| plan(&facts(), &[*setting]));
        for plan in plans.chain([&narrowed, &memory, &binder].map(|facts| plan(facts, &[]))) {
            assert!(
                !plan.narrow && !plan.lower && value_of(&plan, "OMP_NUM_THREADS").is_none(),
                "{plan:?}"
            );
            assert!(plan.left[0].starts_with("affinity: "), "{plan:?}");
        }
    }

    /// Blind to: launchers of other names.
    #[test]
    fn what_an_mpi_launcher_places_is_not_touched_at_all() {
        let launcher = Facts { name: OsStr::new("mpirun"), ..facts() };
        for plan in [plan(&launcher, &[]), plan(&facts(), &[("PMIX_RANK", "2")])] {
            assert!(plan.set.is_empty() && !plan.narrow && !plan.preload, "{plan:?}");
            assert_eq!(plan.left.len(), 1);
        }
    }

    /// Catches: a user's setting of the waiting that is overwritten.
    #[test]
    fn a_users_way_of_waiting_is_kept() {
        let plan = plan(&facts(), &[("OMP_WAIT_POLICY", "active")]);
        assert!(
            value_of(&plan, "GOMP_SPINCOUNT").is_none()
                && value_of(&plan, "KMP_BLOCKTIME").is_none()
        );
        let plan = self::plan(&facts(), &[("GOMP_SPINCOUNT", "5")]);
        assert!(!plan.sets("GOMP_SPINCOUNT") && plan.sets("KMP_BLOCKTIME"));
    }

    /// Catches: a refusal without `--malleable`, and a missing one with it.
    #[test]
    fn where_the_library_cannot_be_loaded_malleable_says_so_and_safe_does_not() {
        for kind in [Kind::Static, Kind::Privileged, Kind::Foreign, Kind::Unknown] {
            let asked = plan(&Facts { kind, ..facts() }, &[]);
            assert!(
                asked.refused.len() == 1 && !asked.preload && !asked.lower && asked.narrow,
                "{asked:?}"
            );
            let safe = plan(&Facts { kind, malleable: false, ..facts() }, &[]);
            assert!(safe.refused.is_empty() && !safe.preload && safe.narrow, "{safe:?}");
        }
        let unbuilt = plan(&Facts { library: Err("no linker"), ..facts() }, &[]);
        assert!(unbuilt.refused[0].ends_with("no linker"), "{unbuilt:?}");
        assert!(!plan(&Facts { kind: Kind::StaticOpenMp, ..facts() }, &[]).narrow);
    }

    /// Catches: an inner command that undoes the outer one's settings, and one that takes a
    /// script's count for the outer one's.
    #[test]
    fn counts_of_an_outer_exec_are_no_users_wish() {
        let outer = plan(&facts(), &[]);
        let marks = value_of(&outer, user_settings::OURS).expect("a list");
        let inner =
            |count| plan(&facts(), &[("OMP_NUM_THREADS", count), (user_settings::OURS, marks)]);
        assert!(inner("8").lower && value_of(&inner("8"), "OMP_NUM_THREADS") == Some("8"));
        assert!(!inner("7").lower && value_of(&inner("7"), "OMP_NUM_THREADS").is_none());
    }

    /// Catches: a blank, sign or letter in a count, which strict parsers refuse.
    #[test]
    fn counts_are_digits_and_the_list_has_all_of_them() {
        let plan = plan(&facts(), &[("GOMAXPROCS", "3")]);
        let marks = value_of(&plan, user_settings::OURS).expect("a list");
        let counts: Vec<_> =
            plan.set.iter().filter(|(name, _)| *name != user_settings::OURS).collect();
        assert!(
            counts.iter().all(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit())),
            "{plan:?}"
        );
        let counted = counts.iter().filter(|(name, _)| name.contains("THREADS"));
        assert!(counted.clone().count() == 6 && !marks.contains("GOMAXPROCS"), "{marks}");
        for (name, count) in counted {
            assert!(
                user_settings::is_ours(marks.as_bytes(), name, count.as_bytes()),
                "{name}: {marks}"
            );
        }
    }
}
