//! The whole pool, through its public interface, with real threads.
//!
//! | file | contents |
//! |---|---|
//! | `join` | both arms, their results, their panics, here and stolen |
//! | `prompt` | a task is taken while its owner blocks or computes |
//! | `overflow` | recursion deeper than the task stack |
//! | `scope`, `spawn` | tasks that are not strictly nested |
//! | `locals` | values that workers keep for modules above |
//! | `hooks` | events of a pool for modules above it |
//! | `open` | scopes whose tasks get the scope, scopes in place, orders |
//! | `yielding` | tasks that yield; chains of tasks |
//! | `serially` | code that stays on one thread |
//! | `broadcast` | one closure on every thread |
//! | `enter` | calls into a pool, and from one pool into another |
//! | `worker_slots` | pools without external threads, of the building thread, of threads of the user's |
//! | `closing` | the ways to end a pool, and what its hooks may do |
//! | `victims` | every victim policy, changed meanwhile, across packages |
//! | `mapping` | threads that are pinned anew |
//! | `workers` | changes of the number of workers |
//! | `limits` | quotas and masks that change |
//! | `control` | the handle to a pool: its schedule, and cancellation |
//! | `sharing` | pools that share a machine with others |
//! | `bound_threads` | threads that the program has bound, while the share changes |
//! | `scripted` | pools under a coordinator's script, compared with their rows |
//! | `lifecycle`, `idle` | threads start, park and end |
//! | `fork`, `environment` | tests that need a process of their own |
//! | `observer` | pools with an observer |
//! | `stress` | random trees of everything, with more workers than cores |
//!
//! No test sleeps to get an order: latches, barriers and hooks make it. [`support::ends`] watches
//! code that must end.
#![cfg(not(any(loom, shuttle)))]

mod bound_threads;
mod broadcast;
mod closing;
#[cfg(target_os = "linux")]
mod container;
mod control;
mod enter;
mod environment;
#[cfg(unix)]
mod experiments;
mod fork;
mod hooks;
mod idle;
mod join;
mod lifecycle;
mod limits;
mod locals;
mod mapping;
mod observer;
mod open;
mod operation;
mod overflow;
mod panics;
mod prompt;
mod scope;
mod scripted;
mod serially;
mod sharing;
mod spawn;
mod stress;
mod support;
mod victims;
mod worker_slots;
mod workers;
mod yielding;
