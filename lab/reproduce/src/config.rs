//! Several experiments, queued from one file and run one after the other.
//!
//! The file is TOML: an entry for each run, and what holds for all that do not say otherwise.
//!
//! ```toml
//! [defaults]
//! size = "quick"            # quick, default or full
//! out = "results"           # a folder for each experiment, below this one
//!
//! [[experiment]]
//! name = "plastic-schedules"
//! threads = [1, 2]          # 1 is always among them
//! mapping = "compact"       # or scatter, none, a list of processors such as "0,2,4-7"
//! repeat = 10
//! parameters = { tasks = 5000, chunk = 50 }   # in place of those of the size
//!
//! [[experiment]]            # once more, in another place
//! name = "plastic-schedules"
//! size = "default"
//! per_package = 2           # 2 workers on one package, on two, and so on, instead of threads
//! seed = 7                  # decides the order of the runs
//! out = "longer"
//!
//! [[experiment]]            # for experiments of openskel: what differs from the publication
//! name = "openskel-path"
//! worklists = { contention = "backoff", shuffle = false, alpha = 0.2, beta = 0.3 }
//! ```

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sinew_topology::{Limits, Machine, MappingError};

use crate::catalogue::find;
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::parameters::Values;
use crate::setting::{Scale, Setting};
use crate::worklists::WorklistOptions;

/// The default folder of results.
const OUT: &str = "reproduced";

/// An experiment and the conditions under which it is to be run.
#[allow(missing_debug_implementations, reason = "experiments have none")]
pub struct Queued {
    /// The experiment.
    pub experiment: Experiment,
    /// The conditions of the run.
    pub setting: Setting,
    /// Its folder of results.
    pub out: PathBuf,
}

/// The contents of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    defaults: Conditions,
    #[serde(default)]
    experiment: Vec<Entry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    size: Option<Scale>,
    threads: Option<Vec<NonZeroUsize>>,
    mapping: Option<String>,
    per_package: Option<NonZeroUsize>,
    repeat: Option<NonZeroUsize>,
    seed: Option<u64>,
    out: Option<PathBuf>,
    worklists: Option<WorklistOptions>,
}

/// A run: its name and its parameters, and the [`Conditions`], which are written beside them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    size: Option<Scale>,
    threads: Option<Vec<NonZeroUsize>>,
    mapping: Option<String>,
    per_package: Option<NonZeroUsize>,
    repeat: Option<NonZeroUsize>,
    seed: Option<u64>,
    out: Option<PathBuf>,
    worklists: Option<WorklistOptions>,
    #[serde(default)]
    parameters: Values,
}

/// Reads a file, for a machine on which this process may use `processors`.
///
/// # Errors
///
/// One line that names the file and the place in it: a file that cannot be read, an invalid entry,
/// an unknown experiment, or two runs that would write to the same folder.
pub fn read(path: &Path, processors: usize) -> Result<Vec<Queued>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::impossible(format!("cannot read `{}`: {error}", path.display()))
    })?;
    parse(&text, processors)
        .map_err(|why| Failure::impossible(format!("`{}`, {why}", path.display())))
}

fn parse(text: &str, processors: usize) -> Result<Vec<Queued>, String> {
    let File { defaults, experiment } =
        toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
    if experiment.is_empty() {
        return Err("there is no experiment in it: write `[[experiment]]` and a `name`".to_owned());
    }
    let queued = experiment.into_iter().enumerate();
    let queued: Vec<_> = queued
        .map(|(at, entry)| entry.queue(at + 1, &defaults, processors))
        .collect::<Result<_, _>>()?;
    match first_double(&queued) {
        Some((first, second)) => Err(format!(
            "experiments {} and {} would both write to `{}`: give one of them another `out`",
            first + 1,
            second + 1,
            place(&queued[second]).display()
        )),
        None => Ok(queued),
    }
}

fn in_one_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    format!("line {line}: {}", error.message().replace('\n', "; "))
}

impl Entry {
    /// The run that it stands for, as the `number`th of its file.
    fn queue(
        self,
        number: usize,
        defaults: &Conditions,
        processors: usize,
    ) -> Result<Queued, String> {
        let Self {
            name,
            size,
            threads,
            mapping,
            per_package,
            repeat,
            seed,
            out,
            worklists,
            parameters,
        } = self;
        let complaint = |why: String| format!("experiment {number}: {why}");
        if per_package.is_some() && (threads.is_some() || mapping.is_some()) {
            return Err(complaint(
                "`per_package` says how many workers there are, and where: leave `threads` and \
                 `mapping` out"
                    .to_owned(),
            ));
        }
        // An entry's own numbers and mapping are more than the defaults' workers on each package.
        let of_defaults = defaults.per_package.filter(|_| threads.is_none() && mapping.is_none());
        let per_package = per_package.or(of_defaults);
        let experiment = find(&name).ok_or_else(|| {
            format!(
                "experiment {number}: there is no `{name}`; `sinew-lab reproduce --list` says \
                 which \
                 there are"
            )
        })?;
        parameters
            .check(experiment.parameters)
            .map_err(|why| format!("experiment {number}, `{name}`: {why}"))?;
        let scale = size.or(defaults.size).unwrap_or_default();
        let usual = Setting::new(scale, processors);
        let threads: Vec<usize> = threads
            .as_ref()
            .or(defaults.threads.as_ref())
            .into_iter()
            .flatten()
            .map(|count| count.get())
            .collect();
        let repeat =
            repeat.or(defaults.repeat).map_or(experiment.usual_repeat(scale), NonZeroUsize::get);
        let seed = seed.or(defaults.seed).unwrap_or(usual.seed);
        let [ours, theirs] = [worklists, defaults.worklists].map(Option::unwrap_or_default);
        let worklists =
            ours.or(theirs).worklists().map_err(|why| format!("experiment {number}: {why}"))?;
        let out = out.or_else(|| defaults.out.clone()).unwrap_or_else(|| OUT.into());
        let setting = match per_package {
            Some(each) => usual
                .per_package(each.get(), Machine::host(), Limits::read().allowed())
                .map_err(|why| complaint(why.to_string()))?,
            None => {
                let mapping = mapping.as_ref().or(defaults.mapping.as_ref());
                let mapping = mapping.map(|text| text.parse()).transpose();
                let mapping = mapping.map_err(|why: MappingError| complaint(why.to_string()))?;
                Setting { mapping, ..usual.workers(&threads) }
            }
        };
        let setting = Setting { repeat, seed, worklists, parameters, ..setting };
        Ok(Queued { experiment, setting, out })
    }
}

/// The folder that a run writes to.
fn place(queued: &Queued) -> PathBuf {
    queued.out.join(queued.experiment.about.name)
}

fn first_double(queued: &[Queued]) -> Option<(usize, usize)> {
    let places: Vec<PathBuf> = queued.iter().map(place).collect();
    (0..places.len()).find_map(|at| {
        let first = places[..at].iter().position(|other| *other == places[at])?;
        Some((first, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_topology::Mapping;

    /// Catches: workers on each package without their mapping, and defaults that beat an entry's
    /// numbers.
    #[test]
    fn workers_on_each_package_come_with_their_mapping() {
        let text = "
            [defaults]
            per_package = 1
            [[experiment]]
            name = 'plastic-metrics'
            [[experiment]]
            name = 'plastic-metrics'
            threads = [1]
            out = 'there'";
        let queued = parse(text, 8).unwrap();
        let [first, second] = &queued[..] else { panic!("{} runs", queued.len()) };
        let Some(Mapping::Explicit(cpus)) = &first.setting.mapping else { panic!("no mapping") };
        assert_eq!(cpus.len(), first.setting.most_workers());
        assert_eq!((&second.setting.threads[..], &second.setting.mapping), (&[1][..], &None));
    }

    /// Catches: a default that beats an entry, or one that is forgotten.
    #[test]
    fn entries_beat_defaults_and_defaults_the_usual() {
        let text = "
            [defaults]
            size = 'quick'
            threads = [2]
            out = 'here'
            [[experiment]]
            name = 'plastic-metrics'
            [[experiment]]
            name = 'plastic-metrics'
            size = 'full'
            threads = [4, 2, 4]
            mapping = '0,2'
            repeat = 3
            seed = 9
            out = 'there'";
        let queued = parse(text, 8).unwrap();
        let [first, second] = &queued[..] else { panic!("{} runs", queued.len()) };
        let usual = |scale| Setting { repeat: 1, ..Setting::new(scale, 2) };
        let quick = Setting { threads: vec![1, 2], ..usual(Scale::Quick) };
        assert_eq!((&first.setting, first.out.as_path()), (&quick, Path::new("here")));
        let (threads, repeat, seed) = (vec![1, 2, 4], 3, 9);
        let mapping = Some(Mapping::Explicit(vec![0, 2]));
        let full = Setting { threads, repeat, seed, mapping, ..usual(Scale::Full) };
        assert_eq!((&second.setting, second.out.as_path()), (&full, Path::new("there")));
        assert_eq!(place(second), Path::new("there/plastic-metrics"));
        let usual = parse("[[experiment]]\nname = 'plastic-metrics'", 2).unwrap();
        assert_eq!((usual[0].setting.repeat, usual[0].out.as_path()), (5, Path::new(OUT)));
    }

    /// Catches: parameters of one run that another one has, and a size that hides them.
    #[test]
    fn the_parameters_of_a_run_replace_the_numbers_of_its_size() {
        let text = "
            [[experiment]]
            name = 'plastic-switching'
            parameters = { tasks = [70, 80], repeats = 3 }
            [[experiment]]
            name = 'plastic-metrics'
            [experiment.parameters]
            tasks = 90
            chunk = 5";
        let queued = parse(text, 2).unwrap();
        let size = |at: usize| queued[at].experiment.size(&queued[at].setting);
        assert_eq!(size(0), "default: 70, 80 tasks of 3 repeats, chunks of 1000");
        assert_eq!(size(1), "default: 90 tasks of 2000 repeats, chunks of 5");
        let blocks = queued[0].experiment.blocks(&queued[0].setting);
        let names: Vec<&str> = blocks.iter().map(|block| block.name.as_str()).collect();
        assert_eq!(names, ["70 tasks", "80 tasks"]);
    }

    /// Catches: conditions of worklists that are not read, or replace all those of the defaults.
    #[test]
    fn conditions_of_worklists_are_merged_one_by_one() {
        let text = "
            [defaults]
            worklists = { contention = 'backoff', alpha = 0.2 }
            [[experiment]]
            name = 'openskel-path'
            worklists = { alpha = 0.4, beta = 0.3 }";
        let worklists = parse(text, 2).unwrap()[0].setting.worklists;
        let words = worklists.to_string();
        assert!(words.starts_with("contention manager backoff, units shuffled"), "{words}");
        assert_eq!((worklists.knobs.alpha, worklists.knobs.beta), (0.4, 0.3));
    }

    /// Catches: a file that is misread in silence, and a complaint that does not say where.
    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (text, words) in [
            ("", "there is no experiment"),
            (
                "[[experiment]]\nname = 'plastic-metric'",
                "experiment 1: there is no `plastic-metric`",
            ),
            ("[[experiment]]\n\nnam = 'plastic-metrics'", "line 3: unknown field `nam`"),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nthreads = [2, 0]",
                "line 3: invalid value: integer `0`",
            ),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nrepeat = 0",
                "line 3: invalid value: integer `0`",
            ),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nsize = 'tiny'",
                "line 3: unknown variant `tiny`",
            ),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nparameters = { task = 1 }",
                "experiment 1, `plastic-metrics`: it has no parameter `task`; it has `tasks`,",
            ),
            (
                "[[experiment]]\nname = 'wool-table1'\nparameters = { tasks = 1 }",
                "it has no parameters",
            ),
            ("[[experiment]]\nname = 'wool-table1'\nparameters = { tasks = 'x' }", "line 3: "),
            (
                "[[experiment]]\nname = 'openskel-path'\nworklists = { alpha = 0 }",
                "experiment 1: alpha is 0",
            ),
            (
                "[[experiment]]\nname = 'openskel-path'\nworklists = { contention = 'polite' }",
                "`polite` is no contention manager",
            ),
            ("[defaults]\nseed = -1", "line 2: "),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nmapping = 'near'",
                "experiment 1: `near` is not a mapping",
            ),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nmapping = 'none'\nper_package = 1",
                "experiment 1: `per_package` says",
            ),
            (
                "[[experiment]]\nname = 'plastic-metrics'\nper_package = 1000000",
                "experiment 1: 1000000 workers do not fit",
            ),
            ("[[experiment", "line 1: "),
            (
                "[[experiment]]\nname='wool-table1'\n[[experiment]]\nname='wool-table1'",
                "experiments 1 and 2",
            ),
        ] {
            let why = parse(text, 2).err().unwrap_or_else(|| panic!("{text} was taken"));
            assert!(why.contains(words) && !why.contains('\n'), "{text}: {why}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let message = read(Path::new("/no/such/file.toml"), 2).err().unwrap().to_string();
        assert!(message.contains("/no/such/file.toml"), "{message}");
    }
}
