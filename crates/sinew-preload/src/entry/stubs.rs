//! The entries. Each one is a few instructions that lead to [`enter`]. It saves the arguments,
//! calls a hook, restores the arguments and jumps to the function that the hook returns.
//!
//! This is machine code for three reasons. The hooks need the address that the call returns to,
//! which identifies the caller. LLVM's entry takes any number of arguments, which only C can pass
//! on. And a jump leaves no frame behind: the function returns to its caller, a debugger or an
//! unwinder sees the stack as without this library, and `dlopen` searches for files as its caller
//! requires.
//!
//! The arguments of all these functions are numbers and pointers. Arguments beyond the registers
//! stay on the stack, untouched.
//!
//! Each name has one entry that the dynamic linker finds. For programs that look names up,
//! [`table`] has as many again for each runtime.

use core::arch::naked_asm;
use core::ffi::c_void;

use super::hooks;
use crate::functions::{Function, RUNTIMES_OWN};
use crate::runtime::MOST;

/// The arguments of a call that are in registers.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Arguments(pub(crate) [usize; 6]);

/// Bytes of an entry of the table.
const ENTRY: usize = 16;

/// Calls `hooks::enter` with the entry's word (`r11`), the return address and the arguments, and
/// goes on with the function that it returns.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn enter() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rax",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "mov rdx, rsp",
        "mov rsi, [rbp + 8]",
        "mov rdi, r11",
        // With the return address nine words were pushed; a tenth makes the stack a multiple of 16.
        "sub rsp, 8",
        "call {hook}",
        "mov r11, rax",
        "add rsp, 8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop r8",
        "pop r9",
        "pop rax",
        "pop rbp",
        "jmp r11",
        hook = sym hooks::enter,
    )
}

/// As above, with `x17`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn enter() {
    naked_asm!(
        "stp x29, x30, [sp, #-96]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "mov x0, x17",
        "mov x1, x30",
        "add x2, sp, #16",
        "bl {hook}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp x29, x30, [sp], #96",
        "br x16",
        hook = sym hooks::enter,
    )
}

/// Returns its argument to the program: for a hook that computes the result itself.
pub(crate) extern "C" fn result(value: usize) -> usize {
    value
}

/// An entry that the dynamic linker finds. Its word is the function's number.
#[cfg(target_arch = "x86_64")]
macro_rules! entry_code {
    ($function:ident) => {
        naked_asm!(
            "mov r11d, {number}",
            "jmp {enter}",
            number = const Function::$function.0,
            enter = sym enter,
        )
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! entry_code {
    ($function:ident) => {
        naked_asm!(
            "mov x17, {number}",
            "b {enter}",
            number = const Function::$function.0,
            enter = sym enter,
        )
    };
}

/// The entries that are bound to a runtime: all functions for the first runtime, all for the
/// second, and so on. The word of each is an address within it.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn table() {
    naked_asm!(
        ".rept {count}",
        "lea r11, [rip]",
        "jmp {enter}",
        ".balign {entry}",
        ".endr",
        count = const MOST * RUNTIMES_OWN,
        entry = const ENTRY,
        enter = sym enter,
    )
}
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn table() {
    naked_asm!(
        ".rept {count}",
        "adr x17, .",
        "b {enter}",
        ".balign {entry}",
        ".endr",
        count = const MOST * RUNTIMES_OWN,
        entry = const ENTRY,
        enter = sym enter,
    )
}

/// The entry of `function` that is bound to the runtime of this number.
pub(crate) fn bound(runtime: usize, function: Function) -> *mut c_void {
    let entry = runtime * RUNTIMES_OWN + function.0;
    (table as *mut c_void).wrapping_byte_add(entry * ENTRY)
}

/// The function that an entry's word stands for, and the number of the runtime that it is bound to.
pub(crate) fn meaning(word: usize) -> (Function, Option<usize>) {
    let within = word.wrapping_sub(table as *const () as usize);
    if within < MOST * RUNTIMES_OWN * ENTRY {
        let entry = within / ENTRY;
        (Function(entry % RUNTIMES_OWN), Some(entry / RUNTIMES_OWN))
    } else {
        (Function(word), None)
    }
}

/// This library's function that replaces one of the C library's.
pub(crate) fn exported_by(function: Function) -> *mut c_void {
    (match function {
        Function::DLCLOSE => exported::dlclose,
        Function::DLOPEN => exported::dlopen,
        Function::DLMOPEN => exported::dlmopen,
        Function::DLSYM => exported::dlsym,
        Function::AFFINITY => exported::pthread_getaffinity_np,
        Function::PROCESS_AFFINITY => exported::sched_getaffinity,
        Function::SYSCONF => exported::sysconf,
        Function::NPROCS => exported::get_nprocs,
        Function::NPROCS_CONF => exported::get_nprocs_conf,
        _ => enter as extern "C" fn(),
    }) as *mut c_void
}

/// Calls `$hook` in place of the function, with the call's first three arguments, as far as it has
/// them, and the return address.
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

/// Exports names, each with its machine code.
macro_rules! export {
    ($($name:ident => $entry_code:expr;)*) => {$(
        // SAFETY of the name: it is the runtime's, and replacing it is the purpose. The ordinary
        // build does not export it.
        #[cfg_attr(sinew_preloaded, unsafe(no_mangle))]
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name() {
            $entry_code
        }
    )*};
}

mod exported {
    #![allow(non_snake_case, reason = "the names are the runtimes'")]
    use super::{Function, enter, hooks, naked_asm};

    export! {
        GOMP_parallel => entry_code!(PARALLEL);
        GOMP_parallel_start => entry_code!(PARALLEL_START);
        GOMP_parallel_reductions => entry_code!(REDUCTIONS);
        GOMP_parallel_sections => entry_code!(SECTIONS);
        GOMP_parallel_sections_start => entry_code!(SECTIONS_START);
        GOMP_parallel_loop_static => entry_code!(LOOP_STATIC);
        GOMP_parallel_loop_dynamic => entry_code!(LOOP_DYNAMIC);
        GOMP_parallel_loop_guided => entry_code!(LOOP_GUIDED);
        GOMP_parallel_loop_runtime => entry_code!(LOOP_RUNTIME);
        GOMP_parallel_loop_static_start => entry_code!(LOOP_STATIC_START);
        GOMP_parallel_loop_dynamic_start => entry_code!(LOOP_DYNAMIC_START);
        GOMP_parallel_loop_guided_start => entry_code!(LOOP_GUIDED_START);
        GOMP_parallel_loop_runtime_start => entry_code!(LOOP_RUNTIME_START);
        GOMP_parallel_loop_nonmonotonic_dynamic => entry_code!(LOOP_ANY_DYNAMIC);
        GOMP_parallel_loop_nonmonotonic_guided => entry_code!(LOOP_ANY_GUIDED);
        GOMP_parallel_loop_nonmonotonic_runtime => entry_code!(LOOP_ANY_RUNTIME);
        GOMP_parallel_loop_maybe_nonmonotonic_runtime => entry_code!(LOOP_MAYBE_RUNTIME);

        __kmpc_fork_call => entry_code!(FORK_CALL);
        __kmpc_fork_call_if => entry_code!(FORK_CALL_IF);

        GOMP_teams_reg => entry_code!(TEAMS);
        __kmpc_fork_teams => entry_code!(FORK_TEAMS);
        __kmpc_push_num_teams => entry_code!(PUSH_NUM_TEAMS);
        __kmpc_push_num_threads => entry_code!(PUSH_NUM_THREADS);
        __kmpc_push_num_threads_strict => entry_code!(PUSH_STRICT);
        __kmpc_push_proc_bind => entry_code!(PUSH_PROC_BIND);
        __kmpc_threadprivate_cached => entry_code!(THREADPRIVATE);
        __kmpc_threadprivate_register => entry_code!(THREADPRIVATE_REGISTER);
        omp_get_max_threads => entry_code!(MAX_THREADS);
        omp_get_max_threads_ => entry_code!(MAX_THREADS_F);
        omp_get_thread_limit => entry_code!(THREAD_LIMIT);
        omp_set_num_threads => entry_code!(SET_NUM_THREADS);
        omp_set_num_threads_ => entry_code!(SET_NUM_THREADS_F);
        omp_set_num_threads_8_ => entry_code!(SET_NUM_THREADS_8);
        omp_set_dynamic => entry_code!(SET_DYNAMIC);
        omp_set_dynamic_ => entry_code!(SET_DYNAMIC_F);
        omp_set_dynamic_8_ => entry_code!(SET_DYNAMIC_8);

        omp_get_num_procs => entry_code!(NUM_PROCS);
        omp_get_num_procs_ => entry_code!(NUM_PROCS_F);
        omp_in_parallel => entry_code!(IN_PARALLEL);
        omp_in_parallel_ => entry_code!(IN_PARALLEL_F);
        omp_get_active_level => entry_code!(ACTIVE_LEVEL);
        omp_get_active_level_ => entry_code!(ACTIVE_LEVEL_F);
        omp_get_place_num_procs => entry_code!(PLACE_PROCS);
        omp_get_place_num_procs_ => entry_code!(PLACE_PROCS_F);
        omp_get_place_proc_ids => entry_code!(PLACE_IDS);
        omp_get_place_proc_ids_ => entry_code!(PLACE_IDS_F);
        omp_get_nested => entry_code!(NESTED);
        omp_get_nested_ => entry_code!(NESTED_F);

        dlclose => entry_code!(DLCLOSE);
        dlopen => entry_code!(DLOPEN);
        dlmopen => entry_code!(DLMOPEN);
        dlsym => entry_code!(DLSYM);
        pthread_getaffinity_np => stand_in!(hooks::affinity);
        sched_getaffinity => stand_in!(hooks::process_affinity);
        sysconf => stand_in!(hooks::sysconf);
        get_nprocs => stand_in!(hooks::get_nprocs);
        get_nprocs_conf => stand_in!(hooks::get_nprocs_conf);
    }
}
