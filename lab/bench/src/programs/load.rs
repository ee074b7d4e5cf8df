//! Other load for the machine: processes that compute all the time, with the same priority.
//!
//! Such a process is this program again. It ends when its input does, so it does not outlive the
//! one that started it, however that one ends.

use std::hint::black_box;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;

/// Processes that keep the machine busy until this is dropped.
#[derive(Debug)]
pub(super) struct Load(Vec<Child>);

impl Load {
    /// Starts `count` processes.
    ///
    /// # Errors
    ///
    /// One line: a process cannot be started.
    pub(super) fn start(count: u16) -> Result<Self, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find this program: {error}"))?;
        let mut load = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new(&program);
            command.args(["programs", "--spin"]).stdin(Stdio::piped());
            let child = command.spawn().map_err(|error| format!("cannot make load: {error}"))?;
            load.0.push(child);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Errors here mean that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The work of such a process.
pub(super) fn spin() -> ! {
    thread::spawn(|| {
        // An error ends the input as well as its end does.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let mut state = 1u64;
    loop {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
