//! The applications with transactions: every version under many settings, with more workers than
//! there may be cores.
//!
//! Blind to: what only a larger problem shows, or another interleaving; the command's
//! demo runs larger ones.

use sinew::Pool;
use sinew::stm::Locking;
use sinew::worklist::{Knobs, Settings, Tuning};
use sinew_apps::{App, Maps, Options, Problem, find};

const APPS: [&str; 3] = ["bank", "intruder", "vacation"];

fn pool() -> Pool {
    Pool::builder().threads(4).build().unwrap()
}

fn prepare(app: &App, options: &Options) -> Box<dyn Problem> {
    app.prepare(options).unwrap_or_else(|error| panic!("{}: {error}", app.name))
}

fn tiny(app: &App, by_hand: bool, tuning: Option<Tuning>) -> Box<dyn Problem> {
    prepare(app, &Options { size: "tiny".parse().unwrap(), by_hand, tuning, ..Options::default() })
}

/// Runs a problem, and checks its result.
fn solve(name: &str, problem: &dyn Problem, pool: &Pool) {
    let (serial, parallel) = (problem.serial(), problem.parallel(pool));
    problem.check(&serial.answer).unwrap_or_else(|wrong| panic!("{name}, serial: {wrong}"));
    problem.check(&parallel.answer).unwrap_or_else(|wrong| panic!("{name}, parallel: {wrong}"));
    problem
        .agree(&serial.answer, &parallel.answer)
        .unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
}

/// Stealing, coalescing, swapping and helpers, each with and without the others.
fn all_settings() -> impl Iterator<Item = Settings> {
    (0..24).map(|choice| {
        // Helpers need workers that have nothing else to do.
        let (threads, lifespan) = [(4, 0), (2, 10), (2, 1_000)][choice / 8];
        let settings =
            Settings::baseline(threads).stealing(choice & 1 != 0).coalescing(choice & 2 != 0);
        settings.swap_after((choice & 4 != 0).then_some(1)).lifespan(lifespan)
    })
}

/// Catches: settings that are not followed.
#[test]
fn worklists_are_right_under_all_settings() {
    let pool = pool();
    for name in APPS {
        for settings in all_settings() {
            let problem = tiny(find(name).unwrap(), false, Some(Tuning::Fixed(settings)));
            solve(&format!("{name}, {settings:?}"), &*problem, &pool);
        }
    }
}

/// Catches: trees or lists that lose an entry when several workers change them, in both versions.
#[test]
fn applications_are_right_on_balanced_trees() {
    let pool = pool();
    for app in sinew_apps::all().iter().filter(|app| app.has_maps()) {
        for (by_hand, size) in [(false, "tiny"), (true, "tiny"), (false, "small"), (true, "small")]
        {
            let size = size.parse().unwrap();
            let options = Options { size, by_hand, maps: Maps::Balanced, ..Options::default() };
            solve(app.name, &*prepare(app, &options), &pool);
        }
    }
}

/// Catches: an application that relies on locks that are taken at its first write, and one that
/// does not hear of the choice.
#[test]
fn worklists_are_right_when_they_lock_at_the_commit() {
    let pool = pool();
    for app in sinew_apps::all().iter().filter(|app| app.has_worklist) {
        let settings = Settings::baseline(4).stealing(true).coalescing(true);
        let options = Options {
            size: "tiny".parse().unwrap(),
            tuning: Some(Tuning::Fixed(settings)),
            ..Options::default()
        };
        options.record.lock(Some(Locking::Commit));
        solve(app.name, &*prepare(app, &options), &pool);
        assert!(options.record.take().commits > 0, "{}", app.name);
    }
}

/// Catches: a tuner that does nothing.
#[test]
fn worklists_are_right_when_they_are_tuned() {
    let pool = pool();
    for name in APPS {
        for tuning in
            [Tuning::Auto, Tuning::AutoWith(Knobs { alpha: 1e-9, beta: 0.9, ..Knobs::default() })]
        {
            solve(name, &*tiny(find(name).unwrap(), false, Some(tuning)), &pool);
        }
    }
}

/// Blind to: workers that take turns.
#[test]
fn what_is_written_by_hand_is_right_on_one_to_four_workers() {
    for threads in [1, 2, 4] {
        let pool = Pool::builder().threads(threads).build().unwrap();
        for name in APPS {
            for _ in 0..3 {
                solve(name, &*tiny(find(name).unwrap(), true, None), &pool);
            }
        }
    }
}

/// Blind to: contention that larger sizes lead to.
#[test]
fn few_variables_for_many_workers_lead_to_no_wrong_answer() {
    let pool = pool();
    for (name, size) in [
        ("bank", "3000x2"),
        ("bank", "3000"),
        ("intruder", "a50-l200-n4-s7"),
        ("vacation", "n8-q100-u50-r3-t1500"),
        ("vacation", "n1-q1-u0-r1-t50"),
    ] {
        for by_hand in [false, true] {
            let options = Options { size: size.parse().unwrap(), by_hand, ..Options::default() };
            solve(&format!("{name} {size}"), &*prepare(find(name).unwrap(), &options), &pool);
        }
    }
}

/// Blind to: nothing that a user sees: the size is shown.
#[test]
fn the_published_parameters_are_the_default() {
    let published = [
        ("bank", "1000000 orders, 1024 accounts"),
        ("intruder", "a10-l16-n4096-s1, "),
        ("vacation", "n4-q60-u90-r16384-t4096"),
    ];
    for (name, size) in published {
        let shown = prepare(find(name).unwrap(), &Options::default()).size();
        assert!(shown.starts_with(size), "{name}: {shown}");
    }
}
