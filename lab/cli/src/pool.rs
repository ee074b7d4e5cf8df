//! Pools built from command-line arguments.

use clap::Args;
use sinew::profile::Profiler;
use sinew::{Mapping, Pool, PoolBuilder, StackKind, Victims, Wait};
use sinew_console::{Failure, output};

use crate::values::count;

/// The heading of the options for those who study schedulers.
pub(crate) const SCHEDULING: &str = "Scheduling";

/// Arguments of a pool.
#[derive(Debug, Args)]
pub(crate) struct PoolArgs {
    /// Number of workers [default: as many as the process may use]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// Mapping of workers to processors: none, compact, scatter, or a list of processors such as
    /// 0,2,4-7 [default: none; for worklists compact on several NUMA nodes, else scatter]
    #[arg(long, help_heading = SCHEDULING, value_name = "MAPPING")]
    pub(crate) mapping: Option<Mapping>,
    #[arg(
        long,
        help_heading = SCHEDULING,
        value_name = "POLICY",
        help = format!("How a worker waits for a stolen task: {}", names(Wait::ALL.map(Wait::name)))
    )]
    pub(crate) wait: Option<Wait>,
    #[arg(
        long,
        help_heading = SCHEDULING,
        value_name = "POLICY",
        help = format!("Victim policy: {}", Victims::usage())
    )]
    pub(crate) victims: Option<Victims>,
    #[arg(
        long,
        help_heading = SCHEDULING,
        value_name = "STACK",
        help = format!(
            "The task stacks of workers: {} [default: split; two-field is for experiments]",
            names(StackKind::ALL.map(StackKind::name))
        )
    )]
    pub(crate) stack: Option<StackKind>,
}

/// `a, b or c`.
fn names<const N: usize>(names: [&str; N]) -> String {
    let (last, others) = names.split_last().expect("there are names");
    format!("{} or {last}", others.join(", "))
}

/// The pool that the arguments describe; environment variables fill in what they leave open.
pub(crate) fn build(args: &PoolArgs) -> Result<Pool, Failure> {
    build_with(args, &Kept::default())
}

/// The records that a pool keeps, and the default mapping of its application, which a mapping of
/// the user overrides.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) profile: bool,
    pub(crate) timeline: bool,
    pub(crate) recording: bool,
    pub(crate) mapping: Option<Mapping>,
}

/// Applies the mapping of the application, unless the environment names one.
pub(crate) fn placed(builder: PoolBuilder, mapping: Option<&Mapping>) -> PoolBuilder {
    match mapping.filter(|_| std::env::var_os("SINEW_MAPPING").is_none()) {
        Some(mapping) => builder.mapping(mapping.clone()),
        None => builder,
    }
}

/// Like [`build`], with these records.
pub(crate) fn build_with(args: &PoolArgs, kept: &Kept) -> Result<Pool, Failure> {
    build_over(PoolBuilder::from_env(), args, kept)
}

/// Like [`build_with`], over the settings of this builder instead of those of the environment.
pub(crate) fn build_over(
    builder: PoolBuilder,
    args: &PoolArgs,
    kept: &Kept,
) -> Result<Pool, Failure> {
    let pool = described(builder, args, kept).build().map_err(Failure::usage)?;
    warn_of_useless_victims(&pool);
    Ok(pool)
}

fn described(builder: PoolBuilder, args: &PoolArgs, kept: &Kept) -> PoolBuilder {
    let mut builder = placed(builder, kept.mapping.as_ref());
    if let Some(profiler) = profiler(kept) {
        builder = builder.observer(profiler);
    }
    if let Some(threads) = args.threads {
        builder = builder.threads(threads);
    }
    if let Some(wait) = args.wait {
        builder = builder.wait(wait);
    }
    if let Some(victims) = args.victims {
        builder = builder.victims(victims);
    }
    if let Some(mapping) = &args.mapping {
        builder = builder.mapping(mapping.clone());
    }
    if let Some(stack) = args.stack {
        builder = builder.stack(stack);
    }
    builder
}

/// The profiler that the command line or the environment asks for.
fn profiler(kept: &Kept) -> Option<Profiler> {
    let asks = kept.profile || kept.timeline || kept.recording;
    if !asks {
        return Profiler::from_env();
    }
    Some(Profiler::new().timeline(kept.timeline).record(kept.recording))
}

fn warn_of_useless_victims(pool: &Pool) {
    if pool.victims().uses_distances() && pool.mapping() == Mapping::None {
        output::note(&format!(
            "sinew-lab: note: without --mapping all workers are equally far apart, in one package, \
             which is all that {} has to go by",
            pool.victims()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an option that is parsed but does not reach the pool.
    #[test]
    fn every_option_reaches_the_pool() {
        let args = PoolArgs {
            threads: Some(3),
            mapping: Some(Mapping::Compact),
            wait: Some(Wait::Block),
            victims: Some(Victims::Nearest),
            stack: Some(StackKind::TwoField),
        };
        let builder = format!("{:?}", described(PoolBuilder::from_env(), &args, &Kept::default()));
        for part in [
            "threads: Some(3)",
            "mapping: Compact",
            "wait: Block",
            "victims: Nearest",
            "stack: TwoField",
        ] {
            assert!(builder.contains(part), "{part} is not in {builder}");
        }
    }

    /// Catches: a user's mapping that is ignored.
    #[test]
    fn the_mapping_of_an_application_is_taken_unless_the_environment_names_one() {
        let given = std::env::var_os("SINEW_MAPPING");
        let pool = placed(Pool::builder().threads(1), Some(&Mapping::Compact)).build().unwrap();
        assert_eq!(pool.mapping() == Mapping::Compact, given.is_none());
    }
}
