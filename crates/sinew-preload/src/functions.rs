//! The functions that this library replaces, and those that it only calls. Each has a number; those
//! of a runtime come first.

use core::ffi::CStr;

/// A function of a runtime or the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Function(pub(crate) usize);

/// Expands the list to constants and to names.
macro_rules! functions {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl Function {
            $(pub(crate) const $constant: Self = Self($number);)*
        }

        const NAMES: [&CStr; [$($number),*].len()] = [$($name),*];
    };
}

functions! {
    LEVEL = 0, c"omp_get_level";
    MAX_THREADS = 1, c"omp_get_max_threads";
    TEAM_SIZE = 2, c"omp_get_team_size";
    ACTIVE_LEVEL = 3, c"omp_get_active_level";
    MAX_ACTIVE_LEVELS = 4, c"omp_get_max_active_levels";
    GLOBAL_THREAD = 5, c"__kmpc_global_thread_num";
    PUSH_NUM_THREADS = 6, c"__kmpc_push_num_threads";
    IN_PARALLEL = 7, c"omp_in_parallel";
    NUM_PROCS = 8, c"omp_get_num_procs";
    SET_NUM_THREADS = 9, c"omp_set_num_threads";
    SET_DYNAMIC = 10, c"omp_set_dynamic";
    THREAD_LIMIT = 11, c"omp_get_thread_limit";
    MAX_THREADS_F = 12, c"omp_get_max_threads_";
    NUM_PROCS_F = 13, c"omp_get_num_procs_";
    SET_NUM_THREADS_F = 14, c"omp_set_num_threads_";
    SET_NUM_THREADS_8 = 15, c"omp_set_num_threads_8_";
    SET_DYNAMIC_F = 16, c"omp_set_dynamic_";
    SET_DYNAMIC_8 = 17, c"omp_set_dynamic_8_";
    IN_PARALLEL_F = 18, c"omp_in_parallel_";
    TEAMS = 19, c"GOMP_teams_reg";
    FORK_TEAMS = 20, c"__kmpc_fork_teams";
    PUSH_NUM_TEAMS = 21, c"__kmpc_push_num_teams";
    PUSH_PROC_BIND = 22, c"__kmpc_push_proc_bind";
    THREADPRIVATE = 23, c"__kmpc_threadprivate_cached";
    THREADPRIVATE_REGISTER = 24, c"__kmpc_threadprivate_register";
    FORK_CALL = 25, c"__kmpc_fork_call";
    FORK_CALL_IF = 26, c"__kmpc_fork_call_if";
    PARALLEL = 27, c"GOMP_parallel";
    PARALLEL_START = 28, c"GOMP_parallel_start";
    REDUCTIONS = 29, c"GOMP_parallel_reductions";
    SECTIONS = 30, c"GOMP_parallel_sections";
    SECTIONS_START = 31, c"GOMP_parallel_sections_start";
    LOOP_STATIC = 32, c"GOMP_parallel_loop_static";
    LOOP_DYNAMIC = 33, c"GOMP_parallel_loop_dynamic";
    LOOP_GUIDED = 34, c"GOMP_parallel_loop_guided";
    LOOP_RUNTIME = 35, c"GOMP_parallel_loop_runtime";
    LOOP_STATIC_START = 36, c"GOMP_parallel_loop_static_start";
    LOOP_DYNAMIC_START = 37, c"GOMP_parallel_loop_dynamic_start";
    LOOP_GUIDED_START = 38, c"GOMP_parallel_loop_guided_start";
    LOOP_RUNTIME_START = 39, c"GOMP_parallel_loop_runtime_start";
    LOOP_ANY_DYNAMIC = 40, c"GOMP_parallel_loop_nonmonotonic_dynamic";
    LOOP_ANY_GUIDED = 41, c"GOMP_parallel_loop_nonmonotonic_guided";
    LOOP_ANY_RUNTIME = 42, c"GOMP_parallel_loop_nonmonotonic_runtime";
    LOOP_MAYBE_RUNTIME = 43, c"GOMP_parallel_loop_maybe_nonmonotonic_runtime";
    PUSH_STRICT = 44, c"__kmpc_push_num_threads_strict";
    ACTIVE_LEVEL_F = 45, c"omp_get_active_level_";
    NESTED = 46, c"omp_get_nested";
    NESTED_F = 47, c"omp_get_nested_";
    PLACE_PROCS = 48, c"omp_get_place_num_procs";
    PLACE_PROCS_F = 49, c"omp_get_place_num_procs_";
    PLACE_IDS = 50, c"omp_get_place_proc_ids";
    PLACE_IDS_F = 51, c"omp_get_place_proc_ids_";
    NUM_PLACES = 52, c"omp_get_num_places";
    // From here on, functions of the C library.
    DLCLOSE = 53, c"dlclose";
    DLOPEN = 54, c"dlopen";
    DLMOPEN = 55, c"dlmopen";
    DLSYM = 56, c"dlsym";
    AFFINITY = 57, c"pthread_getaffinity_np";
    SYSCONF = 58, c"sysconf";
    NPROCS = 59, c"get_nprocs";
    NPROCS_CONF = 60, c"get_nprocs_conf";
    PROCESS_AFFINITY = 61, c"sched_getaffinity";
}

/// The number of functions.
pub(crate) const COUNT: usize = NAMES.len();

/// The number of functions that belong to a runtime.
pub(crate) const RUNTIMES_OWN: usize = Function::DLCLOSE.0;

impl Function {
    /// The function of this name, if this library replaces it.
    pub(crate) fn stood_in_for(name: &CStr) -> Option<Self> {
        const ONLY_CALLED: [Function; 5] = [
            Function::LEVEL,
            Function::TEAM_SIZE,
            Function::MAX_ACTIVE_LEVELS,
            Function::GLOBAL_THREAD,
            Function::NUM_PLACES,
        ];
        let found = Self(NAMES.iter().position(|known| *known == name)?);
        (!ONLY_CALLED.contains(&found)).then_some(found)
    }

    /// Whether the function belongs to a runtime, and not to the C library.
    pub(crate) const fn is_runtimes(self) -> bool {
        self.0 < RUNTIMES_OWN
    }

    /// The function's name, in every runtime that has it.
    pub(crate) const fn name(self) -> &'static CStr {
        NAMES[self.0]
    }
}
