//! The settings of a pool. They are kept with the pool, so that a forked child, which has none of
//! its threads, can build it again.

use std::any::Any;
use std::env;
use std::sync::Arc;

use sinew_core::{Mapping, Pool, PoolBuilder, Spin, Victims, Wait};

use crate::error::ThreadPoolBuildError;
use crate::spawner::{DefaultSpawn, ThreadBuilder, ThreadSpawn};

type PanicHandler = Arc<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// All settings of a pool but the spawn handler and the names of its threads.
#[derive(Clone, Default)]
pub(crate) struct Recipe {
    /// 0: the number of the environment, or else of the machine.
    pub(crate) num_threads: usize,
    pub(crate) stack_size: Option<usize>,
    pub(crate) breadth_first: bool,
    pub(crate) use_current_thread: bool,
    pub(crate) panic_handler: Option<PanicHandler>,
    pub(crate) start_handler: Option<Hook>,
    pub(crate) exit_handler: Option<Hook>,
    pub(crate) wait: Option<Wait>,
    pub(crate) mapping: Option<Mapping>,
    pub(crate) victims: Option<Victims>,
    pub(crate) spin: Option<Spin>,
    pub(crate) follow_limits: Option<bool>,
    #[cfg(feature = "coordinate")]
    pub(crate) coordinate: Option<bool>,
    #[cfg(feature = "profile")]
    pub(crate) profile: Option<bool>,
}

impl Recipe {
    /// Builds the pool with threads that `spawn` starts; `name` is called once for each, in order.
    pub(crate) fn build(
        &self,
        name: &mut dyn FnMut(usize) -> Option<String>,
        spawn: &mut dyn ThreadSpawn,
    ) -> Result<Pool, ThreadPoolBuildError> {
        let start = |thread: sinew_core::WorkerThread| {
            let name = name(thread.index());
            spawn.spawn(ThreadBuilder::new(thread, name, self.stack_size))
        };
        self.builder().build_with(start).map_err(Into::into)
    }

    /// Builds the pool in a forked child, with names from before.
    pub(crate) fn build_again(
        &self,
        names: &[Option<String>],
    ) -> Result<Pool, ThreadPoolBuildError> {
        let again = Self { use_current_thread: false, ..self.clone() };
        again.build(&mut |index| names.get(index).cloned().flatten(), &mut DefaultSpawn)
    }

    fn builder(&self) -> PoolBuilder {
        // As upstream, a waiting worker runs any task, unless the environment or the builder sets
        // another policy.
        let mut builder = PoolBuilder::new()
            .wait(Wait::Any)
            .external_slot(false)
            .oldest_first(self.breadth_first)
            .set_from_env();
        if self.use_current_thread {
            builder = builder.use_current_thread();
        }
        let builder = match self.threads() {
            None => builder,
            Some(0) => builder.default_threads(),
            Some(threads) => builder.threads(threads.min(max_num_threads())),
        };
        self.tuned(self.hooked(builder))
    }

    /// With the settings of [`crate::ext`].
    fn tuned(&self, builder: PoolBuilder) -> PoolBuilder {
        let builder = set(builder, self.wait, PoolBuilder::wait);
        let builder = set(builder, self.mapping.clone(), PoolBuilder::mapping);
        let builder = set(builder, self.victims, PoolBuilder::victims);
        let builder = set(builder, self.spin, PoolBuilder::spin);
        let builder = set(builder, self.follow_limits, PoolBuilder::follow_limits);
        #[cfg(feature = "coordinate")]
        let builder = set(builder, self.coordinate, PoolBuilder::coordinate);
        self.profiled(builder)
    }

    /// With a profiler, if the builder or else the environment requests one.
    #[cfg(feature = "profile")]
    fn profiled(&self, builder: PoolBuilder) -> PoolBuilder {
        let profiler = match self.profile {
            Some(wanted) => wanted.then(sinew_observe::Profiler::new),
            None => sinew_observe::Profiler::from_env(),
        };
        set(builder, profiler, PoolBuilder::observer)
    }

    /// Without the feature, a request for a profile prints one line.
    #[cfg(not(feature = "profile"))]
    fn profiled(&self, builder: PoolBuilder) -> PoolBuilder {
        static WARNING: std::sync::Once = std::sync::Once::new();
        if let Ok(text) = env::var("SINEW_PROFILE")
            && !["", "0", "false", "off"].contains(&text.trim())
        {
            WARNING.call_once(|| {
                eprintln!(
                    "sinew: SINEW_PROFILE={text} is ignored: \
                     the program was built without the feature `profile` of this rayon-core"
                );
            });
        }
        builder
    }

    fn hooked(&self, builder: PoolBuilder) -> PoolBuilder {
        let builder = set(builder, self.start_handler.clone(), |b, hook| {
            b.on_start(move |index| hook(index))
        });
        let builder =
            set(builder, self.exit_handler.clone(), |b, hook| b.on_exit(move |index| hook(index)));
        set(builder, self.panic_handler.clone(), |b, handler| {
            b.panic_handler(move |payload| handler(payload))
        })
    }

    /// The number of threads of the builder or of upstream's variables; 0: the machine's.
    fn threads(&self) -> Option<usize> {
        // Upstream ignores a value that is no number, and accepts a zero.
        let told = (self.num_threads > 0).then_some(self.num_threads);
        told.or_else(|| number_in("RAYON_NUM_THREADS")).or_else(|| number_in("RAYON_RS_NUM_CPUS"))
    }
}

fn set<T>(
    builder: PoolBuilder,
    value: Option<T>,
    put: impl FnOnce(PoolBuilder, T) -> PoolBuilder,
) -> PoolBuilder {
    match value {
        Some(value) => put(builder, value),
        None => builder,
    }
}

fn number_in(variable: &str) -> Option<usize> {
    env::var(variable).ok()?.parse().ok()
}

/// The most threads of a pool; a larger number is reduced to it, without an error.
pub fn max_num_threads() -> usize {
    if cfg!(target_pointer_width = "64") { (1 << 16) - 1 } else { (1 << 8) - 1 }
}
