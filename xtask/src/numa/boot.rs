//! Starting the emulator, listening to its second serial line, and an end in any case.
//!
//! The kernel's own messages go to a file, from which the last lines are shown when something is
//! amiss. The guest switches itself off; a kernel that panics restarts the machine, which the
//! emulator takes for an end.

use super::needs::{Needs, QEMU};
use super::transcript::Transcript;
use super::{folder, shapes};
use numa_protocol::{Line, Outcome, Shape};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// No device but serial lines. An Intel processor, because of AMD's the emulator does not tell
/// which threads share a core or a cache.
const MACHINE: [&str; 18] = [
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-display",
    "none",
    "-monitor",
    "none",
    "-vga",
    "none",
    "-nic",
    "none",
    "-machine",
    "pc",
    "-accel",
    "tcg,thread=multi",
    "-cpu",
    "max,vendor=GenuineIntel,l3-cache=on",
    "-append",
];

/// Panics restart at once. Emulated time runs unevenly, so that the kernel's watchdogs would bark
/// at nothing. The checks ask where pages were put. Balancing would move those that another node's
/// CPU reads for a second or so, as a slow machine does while the results are checked.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check \
                                nowatchdog \
                                rcupdate.rcu_cpu_stall_suppress=1 numa_balancing=disable";

/// Boots a machine and collects its report, printing every check as it ends.
///
/// # Errors
///
/// The emulator cannot be started.
pub(super) fn boot(
    needs: &Needs,
    shape: &Shape,
    initrd: &Path,
    limit: Duration,
) -> Result<Transcript, String> {
    let console = folder().join(format!("{}.console", shape.name));
    let mut qemu = Command::new(QEMU);
    qemu.args(MACHINE)
        .arg(KERNEL_ARGUMENTS)
        .arg("-kernel")
        .arg(&needs.kernel)
        .arg("-initrd")
        .arg(initrd);
    qemu.args(shapes::arguments(shape));
    qemu.arg("-serial").arg(format!("file:{}", console.display())).args(["-serial", "stdio"]);
    qemu.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = qemu.spawn().map_err(|error| format!("cannot start {QEMU}: {error}"))?;
    let mut transcript = Transcript::default();
    let lines = listen(&mut child);
    if !hear_all(&mut transcript, &lines, Instant::now() + limit) {
        transcript.complain(format!("killed after {} s", limit.as_secs()));
        // Ends the lines, too. Fails only if the emulator has just ended.
        let _ = child.kill();
        lines.iter().for_each(|text| hear(&mut transcript, &text));
    }
    let status = child.wait().map_err(|error| format!("cannot wait for {QEMU}: {error}"))?;
    if !status.success() {
        transcript.complain(format!("{QEMU} ended with {status}"));
    }
    if !transcript.problems().is_empty() {
        show_tail(&console);
    }
    Ok(transcript)
}

/// The lines that the guest writes, until it ends.
fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let lines = output.map(BufReader::new).into_iter().flat_map(|output| output.split(b'\n'));
        for line in lines.map_while(Result::ok) {
            // Fails only if the receiver has gone.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    receiver
}

/// Returns whether the guest has ended before the deadline.
fn hear_all(transcript: &mut Transcript, lines: &Receiver<String>, deadline: Instant) -> bool {
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(text) => hear(transcript, &text),
            Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

fn hear(transcript: &mut Transcript, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    match text.parse() {
        Ok(line) => {
            if let Line::Check { name, outcome } = &line {
                let mark = if matches!(outcome, Outcome::Failed(_)) { "" } else { "  " };
                println!("{mark}{name} ... {outcome}");
            }
            transcript.add(line);
        }
        Err(why) => transcript.complain(why),
    }
}

/// Prints the kernel's last words: from where it gave up, if it did.
fn show_tail(console: &Path) {
    const LINES: usize = 20;
    let text = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let first = panic.unwrap_or(lines.len().saturating_sub(LINES));
    println!("from {}:", console.display());
    lines.iter().skip(first).take(LINES).for_each(|line| println!("    {line}"));
}
