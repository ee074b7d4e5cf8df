//! Modules above a pool that are told of what happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sinew_core::{Mapping, Pool, PoolHook};

#[derive(Default)]
struct Counts {
    external_threads: AtomicU32,
    work: AtomicU32,
    settings: AtomicU32,
    ends: AtomicU32,
}

impl Counts {
    fn read(&self) -> [u32; 4] {
        [&self.external_threads, &self.work, &self.settings, &self.ends]
            .map(|count| count.load(Ordering::Relaxed))
    }
}

impl PoolHook for Counts {
    fn external_thread_came(&self) {
        self.external_threads.fetch_add(1, Ordering::Relaxed);
    }

    fn work_arrived(&self) {
        self.work.fetch_add(1, Ordering::Relaxed);
    }

    fn settings_changed(&self) {
        self.settings.fetch_add(1, Ordering::Relaxed);
    }

    fn ended(&self, may_wait: bool) {
        assert!(may_wait);
        self.ends.fetch_add(1, Ordering::Relaxed);
    }
}

/// Catches: a hook that is called too often or not at all, and a second one that is not called.
#[test]
fn every_hook_of_a_pool_is_told_of_external_threads_work_settings_and_the_end() {
    let hooks = [Arc::<Counts>::default(), Arc::default()];
    let builder = Pool::builder().threads(2).hook(hooks[0].clone()).hook(hooks[1].clone());
    let pool = builder.build().unwrap();
    let seen = |counts: [u32; 4]| {
        hooks.iter().for_each(|hook| assert_eq!(hook.read(), counts));
    };
    seen([0; 4]);
    pool.run(|w| w.join(|_| (), |_| ()));
    seen([1, 0, 0, 0]);
    pool.install(|_| ());
    seen([1, 1, 0, 0]);
    pool.set_mapping(&Mapping::None).unwrap();
    pool.control().set_schedule(None);
    seen([1, 1, 2, 0]);
    drop(pool);
    seen([1, 1, 2, 1]);
}
