//! The way in: each exported name is a few instructions that put aside the arguments, call a hook, put them back and jump to the runtime's function.
//!
//! Machine code, for three reasons. The hooks need the address that the call returns to, since it tells whose call it is. LLVM's entry takes any
//! number of arguments, which no other language than C can pass on. And a jump leaves no frame behind: the runtime's function returns to its caller,
//! and whoever looks at the stack sees what was there without this library.
//!
//! The arguments of all these functions are numbers and pointers; what does not fit into registers stays on the stack, untouched.

use core::arch::naked_asm;

use crate::functions::Function;
use crate::hooks;

/// Calls `$hook` with the function's number, the return address and one of the arguments, and goes on with the function that it answers.
#[cfg(target_arch = "x86_64")]
macro_rules! way {
    // `$argument` is the register of the hook's third argument; `$replace` what becomes of the answer's second word.
    ($function:ident, $hook:path, $argument:literal, $replace:literal) => {
        naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "push rax",
            // Nine words with the return address's make the stack a multiple of 16 again.
            "sub rsp, 8",
            concat!("mov rdx, ", $argument),
            "mov rsi, [rbp + 8]",
            "mov edi, {number}",
            "call {hook}",
            "mov r11, rax",
            "mov r10, rdx",
            "add rsp, 8",
            "pop rax",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "pop rbp",
            $replace,
            "jmp r11",
            number = const Function::$function.0,
            hook = sym $hook,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! way {
    ($function:ident, $hook:path, $argument:literal, $replace:literal) => {
        naked_asm!(
            "stp x29, x30, [sp, #-96]!",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "str x8, [sp, #80]",
            concat!("mov x2, ", $argument),
            "mov x1, x30",
            "mov w0, {number}",
            "bl {hook}",
            "mov x16, x0",
            "mov x17, x1",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldr x8, [sp, #80]",
            "ldp x29, x30, [sp], #96",
            $replace,
            "br x16",
            number = const Function::$function.0,
            hook = sym $hook,
        )
    };
}

/// Goes to `$hook`, which calls the runtime itself and answers the program, with the function's number and the return address.
#[cfg(target_arch = "x86_64")]
macro_rules! answer {
    ($function:ident, $hook:path) => {
        naked_asm!(
            "mov rsi, [rsp]",
            "mov edi, {number}",
            "jmp {hook}",
            number = const Function::$function.0,
            hook = sym $hook,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! answer {
    ($function:ident, $hook:path) => {
        naked_asm!(
            "mov x1, x30",
            "mov w0, {number}",
            "b {hook}",
            number = const Function::$function.0,
            hook = sym $hook,
        )
    };
}

/// Goes to `$hook`, which answers the caller, with the call's first three arguments, as far as it has them, and the return address.
#[cfg(target_arch = "x86_64")]
macro_rules! stand_in {
    ($hook:path) => {
        naked_asm!("mov rcx, [rsp]", "jmp {hook}", hook = sym $hook)
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! stand_in {
    ($hook:path) => {
        naked_asm!("mov x3, x30", "b {hook}", hook = sym $hook)
    };
}

/// Exports names, each with its way in.
macro_rules! export {
    ($($name:ident => $way:expr;)*) => {$(
        // SAFETY of the name: it is the runtime's, and standing before it is the purpose; the ordinary build does not export it.
        #[cfg_attr(sinew_preloaded, unsafe(no_mangle))]
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name() {
            $way
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
macro_rules! region {
    ($function:ident) => {
        way!($function, hooks::region, "rdx", "mov edx, r10d")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! region {
    ($function:ident) => {
        way!($function, hooks::region, "x2", "mov w2, w17")
    };
}

/// The hook's third argument is the call's first.
#[cfg(target_arch = "x86_64")]
macro_rules! first {
    ($function:ident, $hook:path) => {
        way!($function, $hook, "rdi", "")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! first {
    ($function:ident, $hook:path) => {
        way!($function, $hook, "x0", "")
    };
}

mod exported {
    #![allow(non_snake_case, reason = "the names are the runtimes'")]
    use super::{Function, hooks, naked_asm};

    export! {
        GOMP_parallel => region!(PARALLEL);
        GOMP_parallel_start => region!(PARALLEL_START);
        GOMP_parallel_reductions => region!(REDUCTIONS);
        GOMP_parallel_sections => region!(SECTIONS);
        GOMP_parallel_sections_start => region!(SECTIONS_START);
        GOMP_parallel_loop_static => region!(LOOP_STATIC);
        GOMP_parallel_loop_dynamic => region!(LOOP_DYNAMIC);
        GOMP_parallel_loop_guided => region!(LOOP_GUIDED);
        GOMP_parallel_loop_runtime => region!(LOOP_RUNTIME);
        GOMP_parallel_loop_static_start => region!(LOOP_STATIC_START);
        GOMP_parallel_loop_dynamic_start => region!(LOOP_DYNAMIC_START);
        GOMP_parallel_loop_guided_start => region!(LOOP_GUIDED_START);
        GOMP_parallel_loop_runtime_start => region!(LOOP_RUNTIME_START);
        GOMP_parallel_loop_nonmonotonic_dynamic => region!(LOOP_ANY_DYNAMIC);
        GOMP_parallel_loop_nonmonotonic_guided => region!(LOOP_ANY_GUIDED);
        GOMP_parallel_loop_nonmonotonic_runtime => region!(LOOP_ANY_RUNTIME);
        GOMP_parallel_loop_maybe_nonmonotonic_runtime => region!(LOOP_MAYBE_RUNTIME);

        __kmpc_fork_call => first!(FORK_CALL, hooks::fork);
        __kmpc_fork_call_if => first!(FORK_CALL_IF, hooks::fork);

        GOMP_teams_reg => first!(TEAMS, hooks::note);
        __kmpc_fork_teams => first!(FORK_TEAMS, hooks::note);
        __kmpc_push_num_teams => first!(PUSH_NUM_TEAMS, hooks::note);
        __kmpc_push_num_threads => first!(PUSH_NUM_THREADS, hooks::note);
        __kmpc_push_num_threads_strict => first!(PUSH_STRICT, hooks::note);
        __kmpc_push_proc_bind => first!(PUSH_PROC_BIND, hooks::note);
        __kmpc_threadprivate_cached => first!(THREADPRIVATE, hooks::note);
        __kmpc_threadprivate_register => first!(THREADPRIVATE_REGISTER, hooks::note);
        omp_get_max_threads => first!(MAX_THREADS, hooks::note);
        omp_get_max_threads_ => first!(MAX_THREADS_F, hooks::note);
        omp_get_thread_limit => first!(THREAD_LIMIT, hooks::note);
        omp_set_num_threads => first!(SET_NUM_THREADS, hooks::note);
        omp_set_num_threads_ => first!(SET_NUM_THREADS_F, hooks::note);
        omp_set_num_threads_8_ => first!(SET_NUM_THREADS_8, hooks::note);
        omp_set_dynamic => first!(SET_DYNAMIC, hooks::note);
        omp_set_dynamic_ => first!(SET_DYNAMIC_F, hooks::note);
        omp_set_dynamic_8_ => first!(SET_DYNAMIC_8, hooks::note);

        omp_get_num_procs => answer!(NUM_PROCS, hooks::num_procs);
        omp_get_num_procs_ => answer!(NUM_PROCS_F, hooks::num_procs);
        omp_in_parallel => answer!(IN_PARALLEL, hooks::in_parallel);
        omp_in_parallel_ => answer!(IN_PARALLEL_F, hooks::in_parallel);

        dlclose => first!(DLCLOSE, hooks::dlclose);
        pthread_getaffinity_np => stand_in!(hooks::affinity);
        sysconf => stand_in!(hooks::sysconf);
        get_nprocs => stand_in!(hooks::get_nprocs);
        get_nprocs_conf => stand_in!(hooks::get_nprocs_conf);
    }
}
