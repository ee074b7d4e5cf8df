//! Checks every skeleton over the ranks that `mpirun` has started. Fails with one line if one is
//! wrong, or if a failure is asked for:
//!
//! | argument | what rank 1, or the last one, does |
//! |---|---|
//! | `panic` | panics |
//! | `leave` | returns while the others wait for it |
//! | `kill` | ends by a signal that it cannot catch |
//! | `stop` | stops answering |

#[path = "../tests/checks/mod.rs"]
mod checks;

use std::process::Command;

use sinew_dist::World;

fn main() -> Result<(), sinew_dist::InitError> {
    let world = sinew_dist::init()?;
    if let Some(failure) = std::env::args().nth(1) {
        fail(&world, &failure);
        return Ok(());
    }
    for (name, check) in checks::CHECKS {
        check(&world);
        if world.rank() == 0 {
            println!("{name}: {} ranks agree", world.size());
        }
    }
    Ok(())
}

fn fail(world: &World, failure: &str) {
    world.barrier();
    let bad = world.rank() == 1.min(world.size() - 1);
    match failure {
        "panic" if bad => panic!("rank {} was asked to panic", world.rank()),
        "leave" if bad => return,
        "kill" if bad => signal("-KILL"),
        "stop" if bad => signal("-STOP"),
        _ => {}
    }
    world.barrier();
}

/// Sends a signal to this process.
fn signal(name: &str) {
    let sent = Command::new("kill").arg(name).arg(std::process::id().to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal was sent");
}
