//! Scopes with domains under random schedules: tokens without a task of their own domain, debts and
//! calls, with every kind of wait.
//!
//! `cargo xtask shuttle`; a schedule that fails is printed with its seed. The planted bugs end in a
//! deadlock.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::Barrier;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{Config, MaxSteps, Runner};
use sinew_core::{Pool, ScopeBuilder, Wait};
use sinew_sync::plant::{Bug, plant};

use crate::{DomainKind, DomainOrder, Domains};

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    // Thousands are usual. A program that reaches this spins.
    config.max_steps = MaxSteps::FailAfter(300_000);
    config
}

/// Runs `program` under as many schedules as `SINEW_SHUTTLE_ITERATIONS` says: half of them at
/// random, half with long pauses.
fn explore(program: fn()) {
    let schedules =
        std::env::var("SINEW_SHUTTLE_ITERATIONS").ok().and_then(|text| text.parse().ok());
    let half = schedules.unwrap_or(500_usize).div_ceil(2);
    Runner::new(RandomScheduler::new(half), config()).run(program);
    Runner::new(PctScheduler::new(4, half), config()).run(program);
}

/// Plants `bug` and explores: the test that calls it expects the checker to fail. The rarest bug is
/// found in a twentieth of these schedules on average.
fn hunt(bug: Bug, program: fn()) {
    plant(&[bug]);
    (0..400).for_each(|_| explore(program));
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

fn meet(barrier: &Barrier) {
    barrier.wait();
}

fn full(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).build().unwrap()
}

/// Two domains, tasks in both, the second half from tasks; by `order`.
fn tasks_in_domains(order: DomainOrder) {
    let pool = full(2);
    let (domains, ran) = (Domains::new(&pool, DomainKind::Parts(2)).unwrap(), AtomicUsize::new(0));
    let ran = &ran;
    pool.run(|w| {
        ScopeBuilder::new().queues(domains.queues(order)).max_pending(3).run_on(w, |s| {
            for task in 0..3 {
                s.spawn_into(task % 2, move |_| {
                    add(ran);
                    s.spawn_into(1, move |_| add(ran));
                });
            }
        });
    });
    assert_eq!(ran.load(Ordering::SeqCst), 6);
}

/// Catches: a task that is lost or run twice, and a token that finds nothing, with two thieves
/// and a bound.
#[test]
fn shuttle_every_task_of_a_domain_is_run_once() {
    explore(|| tasks_in_domains(DomainOrder::Ring));
}

/// Catches: a debt that no worker pays, and a call that outlives its scope.
#[test]
fn shuttle_strict_tasks_are_run_in_their_domain() {
    explore(|| tasks_in_domains(DomainOrder::Strict));
}

fn rows() {
    let pool = full(3);
    let (domains, ran) = (Domains::new(&pool, DomainKind::Parts(3)).unwrap(), AtomicUsize::new(0));
    pool.run(|w| {
        ScopeBuilder::new().queues(domains.queues(DomainOrder::Ring)).run_on(w, |s| {
            for domain in [0, 2, 1, 0] {
                s.spawn_into(domain, |_| add(&ran));
            }
        });
    });
    assert_eq!(ran.into_inner(), 4);
}

/// Catches: a token whose holder misses a task that is queued during its search.
#[test]
fn shuttle_a_token_finds_a_task_wherever_it_is() {
    explore(rows);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_token_that_is_given_up() {
    hunt(Bug::OneCheck, rows);
}

/// Tasks for the one domain in which the submitter is not.
fn debts() {
    let pool = full(2);
    let (domains, ran) = (Domains::new(&pool, DomainKind::Parts(2)).unwrap(), AtomicUsize::new(0));
    pool.run(|w| {
        let (here, there) = (domains.of(w), 1 - domains.of(w));
        ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict)).run_on(w, |s| {
            for domain in [there, here, there, there] {
                let ran = &ran;
                s.spawn_into(domain, move |w| {
                    add(ran);
                    assert_eq!(w.index(), domain);
                });
            }
        });
    });
    assert_eq!(ran.into_inner(), 4);
}

/// Catches: a worker that sleeps beside a debt of its domain.
#[test]
fn shuttle_every_debt_is_paid() {
    explore(debts);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_call_that_is_served_too_late() {
    hunt(Bug::LateServeRegistration, debts);
}

/// Two tasks that wait for one another, in the domains in which the submitter is not.
fn meeting() {
    let pool = full(3);
    let (domains, met) = (Domains::new(&pool, DomainKind::Parts(3)).unwrap(), Barrier::new(2));
    pool.run(|w| {
        let here = domains.of(w);
        ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict)).run_on(w, |s| {
            for domain in (0..3).filter(|&domain| domain != here) {
                s.spawn_into(domain, |_| meet(&met));
            }
        });
    });
}

/// Catches: a worker that pays a debt of its domain, and keeps the token of another task
/// meanwhile.
#[test]
fn shuttle_no_token_waits_for_a_task() {
    explore(meeting);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_token_that_is_kept_during_a_task() {
    hunt(Bug::KeptToken, meeting);
}

/// Catches: a blocked joiner that does not run the strict task which it waits for, whatever it
/// may run otherwise.
#[test]
fn shuttle_a_blocked_worker_runs_the_strict_tasks_that_it_waits_for() {
    explore(|| {
        for wait in [Wait::Leapfrog, Wait::Descendants, Wait::Block] {
            let pool = Pool::builder().threads(2).external_slot(false).wait(wait).build().unwrap();
            let domains = Domains::new(&pool, DomainKind::Parts(2)).unwrap();
            let met = Barrier::new(2);
            pool.run(|w| {
                let here = domains.of(w);
                w.join(
                    |_| meet(&met),
                    |w| {
                        meet(&met);
                        let scope = ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict));
                        scope.run_on(w, |s| s.spawn_into(here, |_| ()));
                    },
                )
            });
        }
    });
}
