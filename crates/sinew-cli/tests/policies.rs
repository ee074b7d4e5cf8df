//! Real programs under each policy, compared with its promise: the sizes of their teams, and the
//! CPUs of their threads.
//!
//! On two CPUs two busy programs have one each under every policy. There only a script and a
//! stopped program distinguish policies; with more CPUs weights do too.
//!
//! Blind to: speeds. No command reports the measurements that `efficiency` and `contention` use.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::compile::build;
use common::{coordinator, kill, masks_of, sinew, until};
use sinew_coord::{CpuSet, Policy, Row, Table};
use sinew_sync::atomic::{AtomicU32, Ordering};

/// The name of the first thread of a program with a pool.
const POOL: &str = "pool";
const TEAM: &str = include_str!("common/team.c");

/// A busy program with a team of threads; killed at the end.
struct Team {
    child: Child,
    /// The number of threads of its last region.
    threads: Arc<AtomicU32>,
}

impl Team {
    fn start(place: &Path, program: &Path, weight: u32) -> Self {
        let (weight, program) = (weight.to_string(), program.to_str().expect("a name in UTF-8"));
        let words = ["exec", "--malleable", "--weight", &weight, program];
        let mut command = sinew(place, &words);
        // Short spins, because other tests use the same cores.
        command.env("GOMP_SPINCOUNT", "1000").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let threads = Arc::new(AtomicU32::new(0));
        let last = Arc::clone(&threads);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // Relaxed: no other data is read.
                last.store(line.parse().expect("a number"), Ordering::Relaxed);
            }
        });
        Self { child, threads }
    }

    fn row(&self, table: &Table) -> Option<Row> {
        table.read().into_iter().find(|row| row.program.pid == self.child.id())
    }

    /// Whether its team and its threads' masks match the row.
    fn follows(&self, row: &Row) -> bool {
        let cores: CpuSet = row.grant.cores.iter().collect();
        let masks = masks_of(self.child.id());
        let is_granted = |mask: &String| mask.parse::<CpuSet>().is_ok_and(|mask| mask == cores);
        self.threads.load(Ordering::Relaxed) == row.grant.threads
            && !masks.is_empty()
            && masks.iter().all(is_granted)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The machine, and the folder of the table.
struct Place {
    folder: tempfile::TempDir,
    all: CpuSet,
}

impl Place {
    /// `None`, and a message, if there is only one CPU.
    fn new() -> Option<Self> {
        let all = sinew_coord::layout().cores();
        let own = masks_of(std::process::id()).first().and_then(|mask| mask.parse().ok());
        let is_whole = own == Some(all.iter().collect::<CpuSet>());
        if all.len() < 2 || !is_whole {
            println!("skipped: this process has one CPU, or not all of the machine's");
            return None;
        }
        Some(Self { folder: tempfile::tempdir().expect("a folder"), all })
    }

    fn table(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    /// The same program under several names; `None`, and a message, if it cannot be built.
    fn programs(&self, names: &[&str]) -> Option<Vec<PathBuf>> {
        let programs: Option<Vec<PathBuf>> =
            names.iter().map(|name| build("gcc", self.folder.path(), TEAM, name, &[])).collect();
        if programs.is_none() {
            println!("skipped: gcc cannot build OpenMP programs here");
        }
        programs
    }

    fn first(&self) -> usize {
        self.all.iter().next().expect("a CPU")
    }

    fn last(&self) -> usize {
        self.all.iter().last().expect("a CPU")
    }

    /// The options of a coordinator. The script assigns places that no other policy would.
    fn words(&self, policy: Policy) -> Vec<String> {
        if policy != Policy::Script {
            return common::policy_words(self.folder.path(), policy);
        }
        let (heavy, light) = (self.last(), self.first());
        let text = format!(
            "at 0 heavy threads 1 cores {heavy}\nat 0 light threads 1 cores {light}\n\
             at 0 sinew threads 1 cores {light}\n"
        );
        let script = self.folder.path().join("script");
        std::fs::write(&script, text).expect("a script");
        vec!["--script".to_owned(), script.display().to_string()]
    }

    /// Whether two busy programs have their promised shares.
    fn keeps(&self, policy: Policy, heavy: &Row, light: &Row) -> bool {
        let [more, less] = [heavy, light].map(|row| row.grant.threads);
        let all = self.all.len() as u32;
        if policy == Policy::Script {
            return [(heavy, self.last()), (light, self.first())].into_iter().all(is_asked);
        }
        let is_shared =
            heavy.grant.cores.intersection(&light.grant.cores).is_empty() && more + less == all;
        is_shared
            && match policy {
                Policy::Priority => less == 1,
                // Three quarters, within one, and at least one core for each program.
                Policy::Equal | Policy::Contention | Policy::Proportional => {
                    less == 1 || (4 * more).abs_diff(3 * all) <= 4
                }
                _ => less >= 1,
            }
    }

    /// Whether a program has its promised share beside an idle one.
    fn keeps_alone(&self, policy: Policy, row: &Row, cpu: usize) -> bool {
        match policy {
            Policy::Script => is_asked((row, cpu)),
            _ => row.grant.threads as usize == self.all.len() && row.grant.cores == self.all,
        }
    }
}

/// One thread on this CPU.
fn is_asked((row, cpu): (&Row, usize)) -> bool {
    (row.grant.threads, row.grant.cores.iter().collect::<Vec<_>>()) == (1, vec![cpu])
}

/// Waits until two programs have their promised shares, and use them.
fn wait_for(place: &Place, policy: Policy, [heavy, light]: [&Team; 2], when: &str) {
    until(&format!("{policy} {when}"), || {
        let table = Table::open(&place.table()).expect("a table");
        let rows = heavy.row(&table).zip(light.row(&table));
        rows.is_some_and(|(more, less)| {
            table.policy() == policy
                && place.keeps(policy, &more, &less)
                && heavy.follows(&more)
                && light.follows(&less)
        })
    });
}

fn weigh(place: &Place, weights: [(&Team, f64); 2]) {
    let table = Table::open(&place.table()).expect("a table");
    for (team, weight) in weights {
        table.set_weight(team.child.id(), weight).expect("a row");
    }
}

/// Catches: a policy that the rows show and the threads do not follow: at the start, when weights
/// or policies change, when a program stops and continues, or when the coordinator ends.
#[test]
fn commands_do_what_each_policy_promises() {
    let Some(place) = Place::new() else { return };
    let Some(programs) = place.programs(&["heavy", "light"]) else { return };
    let heavy = Team::start(&place.table(), &programs[0], 3);
    let light = Team::start(&place.table(), &programs[1], 1);
    for (index, policy) in Policy::ALL.into_iter().enumerate() {
        let words = place.words(policy);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let coordinator = coordinator(&place.table(), &words);
        wait_for(&place, policy, [&heavy, &light], "at its start");
        kill("STOP", heavy.child.id());
        until(&format!("{policy} beside a stopped program"), || {
            let table = Table::open(&place.table()).expect("a table");
            light.row(&table).is_some_and(|row| {
                place.keeps_alone(policy, &row, place.first()) && light.follows(&row)
            })
        });
        kill("CONT", heavy.child.id());
        wait_for(&place, policy, [&heavy, &light], "when the program goes on");
        if policy != Policy::Script {
            weigh(&place, [(&heavy, 1.0), (&light, 3.0)]);
            wait_for(&place, policy, [&light, &heavy], "with other weights");
            weigh(&place, [(&heavy, 3.0), (&light, 1.0)]);
        }
        let signal = ["TERM", "KILL", "INT"][index % 3];
        assert_eq!(coordinator.end_by(signal).success(), signal != "KILL");
        wait_for(&place, Policy::Equal, [&heavy, &light], &format!("after {policy}"));
    }
}

/// Catches: more programs than CPUs of which some have no thread, or a CPU for themselves.
#[test]
fn more_programs_than_cpus_have_a_thread_each_under_each_policy() {
    let Some(place) = Place::new() else { return };
    if place.all.len() > 4 {
        println!("skipped: too many programs for this machine's other tests");
        return;
    }
    let Some(programs) = place.programs(&["one"]) else { return };
    let teams: Vec<Team> =
        (0..=place.all.len()).map(|_| Team::start(&place.table(), &programs[0], 1)).collect();
    for policy in Policy::ALL {
        let words = place.words(policy);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let coordinator = coordinator(&place.table(), &words);
        until(&format!("{policy} for all"), || {
            let table = Table::open(&place.table()).expect("a table");
            let has_its_part = |team: &Team| {
                team.row(&table).is_some_and(|row| {
                    let is_crowded = row.grant.threads == 1 && row.grant.cores == place.all;
                    is_crowded && team.follows(&row)
                })
            };
            table.policy() == policy && teams.iter().all(has_its_part)
        });
        assert!(coordinator.end_by("TERM").success());
    }
}

/// The processor time in hundredths of a second, and the mask, of each working thread of a process'
/// pool, by name. The first thread works as well while it waits for the pool.
fn workers(pid: u32) -> Vec<(String, u64, CpuSet)> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    let worker = |path: PathBuf| {
        let name = read(path.join("comm"))?.trim().to_owned();
        let number = name.strip_prefix("sinew-").and_then(|number| number.parse::<u32>().ok());
        let works = name == POOL || number.is_some();
        let stat = read(path.join("stat"))?;
        let ticks = stat.rsplit(')').next()?.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        let mask = common::status_line(&path.join("status"), "Cpus_allowed_list:")?;
        works.then_some((name, ticks, mask.parse().ok()?))
    };
    threads.filter_map(|thread| worker(thread.path())).collect()
}

/// Whether the pool works with as many threads as its row says, and on the CPUs of the row, for a
/// while in which the row does not change.
fn pool_follows(pid: u32, row: &Row) -> bool {
    let before = workers(pid);
    std::thread::park_timeout(Duration::from_millis(200));
    let cores: CpuSet = row.grant.cores.iter().collect();
    let mut working = workers(pid);
    working.retain(|(name, ticks, _)| !before.iter().any(|(n, t, _)| (n, t) == (name, ticks)));
    let is_within = |(name, _, mask): &(String, u64, CpuSet)| {
        name == POOL || mask.iter().all(|cpu| cores.contains(cpu))
    };
    (1..=row.grant.threads as usize).contains(&working.len()) && working.iter().all(is_within)
}

/// A program with a pool that always works.
fn busy_pool(place: &Place) -> Team {
    let mut pool = common::pool(&place.table(), u64::MAX);
    let pool = pool.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    Team { child: pool.expect("the program"), threads: Arc::default() }
}

/// Catches: a pool with more workers than its row says, or on other CPUs.
#[test]
fn a_pool_beside_a_command_does_what_each_policy_promises() {
    let Some(place) = Place::new() else { return };
    let Some(programs) = place.programs(&["heavy"]) else { return };
    let heavy = Team::start(&place.table(), &programs[0], 3);
    let pool = busy_pool(&place);
    for policy in Policy::ALL {
        let words = place.words(policy);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let coordinator = coordinator(&place.table(), &words);
        until(&format!("{policy} for a pool"), || {
            let table = Table::open(&place.table()).expect("a table");
            let rows = heavy.row(&table).zip(pool.row(&table));
            rows.is_some_and(|(more, less)| {
                table.policy() == policy
                    && place.keeps(policy, &more, &less)
                    && heavy.follows(&more)
                    && pool_follows(pool.child.id(), &less)
                    && pool.row(&table).is_some_and(|row| row.epoch == less.epoch)
            })
        });
        assert!(coordinator.end_by("TERM").success());
    }
}

/// A lone pool under the energy policy, on a machine whose power is that of the pool's threads.
/// Returns whether it leaves CPUs idle, or `false` once it does not because other tests disturbed
/// the measurement of its speeds, which the table remembers by the program's name.
fn leaves_cpus_idle(place: &Place) -> bool {
    let all = place.all.len() as u32;
    let pool = busy_pool(place);
    let words = place.words(Policy::ENERGY);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let coordinator = coordinator(&place.table(), &words);
    let counter = common::zone(&place.folder.path().join("powercap"));
    let (mut last, mut energy_uj) = (Instant::now(), 0.0);
    let mut result = false;
    until("fewer CPUs for a lone pool", || {
        let table = Table::open(&place.table()).expect("a table");
        let Some(row) = pool.row(&table) else { return false };
        let seconds = std::mem::replace(&mut last, Instant::now()).elapsed().as_secs_f64();
        energy_uj += seconds * f64::from(row.grant.threads) * 5e6;
        // The coordinator never reads half of it.
        let next = counter.with_extension("next");
        std::fs::write(&next, format!("{:.0}\n", energy_uj % 9e6)).expect("a counter");
        std::fs::rename(&next, &counter).expect("a counter");
        let is_there = table.power().is_some() && row.grant.threads == all / 2;
        result = is_there && pool_follows(pool.child.id(), &row);
        result || row.curve.points().len() > 1 && row.grant.threads == all
    });
    assert!(coordinator.end_by("TERM").success());
    result
}

/// Catches: a program without others that keeps all CPUs although the policy leaves some idle, and
/// a coordinator that does not read its counters, or loses them when they begin again.
#[test]
fn a_lone_pool_leaves_cpus_idle_that_are_not_worth_their_power() {
    if Place::new().is_none() {
        return;
    }
    until("idle CPUs", || Place::new().is_some_and(|place| leaves_cpus_idle(&place)));
}
