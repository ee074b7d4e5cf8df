//! Job control in a terminal: the same scripts, keys and signals with and without `sinew exec`.
//!
//! Blind to: other shells than `sh`, and terminals that are no pseudo-terminals.
#![cfg(target_os = "linux")]

mod common;

use std::time::{Duration, Instant};

use common::compile::is_deep;
use common::terminal::{END, INTERRUPT, STOP, Terminal};
use common::{EXEC, is_stopped, until};

/// Runs the script plain and with the table's shares: both print the same.
fn the_same(script: &str, act: impl Fn(&mut Terminal)) -> String {
    let [plain, shared] = ["", &format!("{EXEC} table")].map(|prefix| {
        let mut terminal = Terminal::start(prefix, script);
        act(&mut terminal);
        terminal.end()
    });
    assert_eq!(shared, plain);
    plain
}

fn wait_for_foreground(terminal: &Terminal, group: u32) {
    until("in the foreground", || terminal.foreground() == group);
}

/// Catches: a helper between terminal and command that takes the keys' signals, the stop or the
/// foreground.
#[test]
fn keys_stop_the_command_and_end_it_and_fg_goes_on() {
    let script = "trap : INT
        $RUN sh -c 'echo number $$; exec cat'
        echo stopped $?; read line; fg > /dev/null; echo ended $?";
    let printed = the_same(script, |terminal| {
        let command = terminal.number();
        wait_for_foreground(terminal, command);
        terminal.type_in("one\n");
        terminal.line("one");
        terminal.type_in(STOP);
        terminal.line("stopped");
        wait_for_foreground(terminal, terminal.shell());
        assert!(is_stopped(command));
        terminal.type_in("\n");
        wait_for_foreground(terminal, command);
        terminal.type_in("two\n");
        terminal.line("two");
        terminal.type_in(INTERRUPT);
        terminal.line("ended");
    });
    assert_eq!(printed, "one\nstopped 148\ntwo\nended 130\n");
}

/// Catches: a stopped command that does not continue in the background, or one whose status is
/// lost.
#[test]
fn bg_goes_on_and_the_status_is_the_commands() {
    let script = "mkfifo $FOLDER/pipe
        $RUN sh -c 'echo number $$; read word < $FOLDER/pipe; exit 3'
        echo stopped $?; bg > /dev/null; echo go > $FOLDER/pipe; wait %1; echo ended $?";
    let printed = the_same(script, |terminal| {
        let command = terminal.number();
        wait_for_foreground(terminal, command);
        terminal.type_in(STOP);
        terminal.line("stopped");
        terminal.line("ended");
    });
    assert_eq!(printed, "stopped 148\nended 3\n");
}

/// Catches: a command in the background that reads the terminal, or writes to it although it must
/// not.
#[test]
fn the_terminal_stops_a_command_in_the_background() {
    let reads = "$RUN cat & echo number $!; read line; fg > /dev/null; echo ended $?";
    let writes = "stty tostop; $RUN sh -c 'echo out; exit 5' & echo number $!
        read line; fg > /dev/null; echo ended $?";
    for (script, keys, expected) in
        [(reads, "in\n\x04", "in\nended 0\n"), (writes, "", "out\nended 5\n")]
    {
        let printed = the_same(script, |terminal| {
            let command = terminal.number();
            until("stopped by the terminal", || is_stopped(command));
            assert_eq!(terminal.foreground(), terminal.shell());
            terminal.type_in("\n");
            if keys.ends_with(END) {
                wait_for_foreground(terminal, command);
                terminal.type_in(keys);
            }
            terminal.line("ended");
        });
        assert_eq!(printed, expected);
    }
}

/// Catches: a part of a pipeline that is not stopped or ended, or is in another group.
#[test]
fn a_pipeline_is_one_job() {
    let script = "trap : INT
        $RUN cat | $RUN sh -c 'echo number $$; exec cat' | $RUN cat
        echo stopped $?; fg > /dev/null; echo ended $?";
    let printed = the_same(script, |terminal| {
        terminal.type_in("one\n");
        terminal.line("one");
        terminal.type_in(STOP);
        terminal.line("stopped");
        terminal.type_in("two\n");
        terminal.line("two");
        terminal.type_in(INTERRUPT);
        terminal.line("ended");
    });
    assert_eq!(printed, "one\nstopped 148\ntwo\nended 130\n");
}

/// Catches: a command or a helper that outlives its terminal, in the foreground or stopped in the
/// background.
#[test]
fn nothing_outlives_a_terminal_that_hangs_up() {
    for prefix in ["", &format!("{EXEC} table")] {
        for stops in [false, true] {
            let script = "$RUN sh -c 'echo number $$; exec cat'; echo stopped; read line";
            let mut terminal = Terminal::start(prefix, script);
            let command = terminal.number();
            wait_for_foreground(&terminal, command);
            if stops {
                terminal.type_in(STOP);
                terminal.line("stopped");
            }
            terminal.hang_up();
        }
    }
}

fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

fn rounds() -> u64 {
    if is_deep() { 300 } else { 6 }
}

/// Waits for some of the first milliseconds of a command, a different time in each round.
fn pause(round: u64) {
    let began = Instant::now();
    let time = Duration::from_micros(round.wrapping_mul(7_919) % 15_000);
    while began.elapsed() < time {
        std::thread::yield_now();
    }
}

/// Interrupts until the command has ended: the first interrupts may come before it is in the
/// foreground.
fn interrupt(terminal: &mut Terminal, round: u64) {
    until("interrupted", || {
        pause(round);
        terminal.type_in(INTERRUPT);
        terminal.has("ended 130")
    });
}

/// Catches: an interrupt during the start that ends only some of the processes, or is lost.
#[test]
fn an_interrupt_while_the_command_starts_ends_all() {
    for round in 0..rounds() {
        let script = "trap : INT; echo starts; $RUN sleep 1000; echo ended $?";
        let mut terminal = Terminal::start(&format!("{EXEC} table"), script);
        terminal.line("starts");
        interrupt(&mut terminal, round);
        assert_eq!(terminal.end(), "starts\nended 130\n", "round {round}");
    }
}

/// Catches: a stop during the start that holds a helper for ever, or keeps the command from its
/// share.
#[test]
fn stops_while_the_command_starts_change_nothing() {
    let script = "trap : INT; echo starts; $RUN sh -c 'echo runs; exec cat'; s=$?
        while [ $s = 148 ]; do fg > /dev/null; s=$?; done; echo ended $s";
    for round in 0..rounds() {
        let mut terminal = Terminal::start(&format!("{EXEC} table"), script);
        terminal.line("starts");
        for stop in 0..5 {
            pause(5 * round + stop);
            // A stop before the shell has become the program would last for ever: the other shell
            // waits in `vfork`.
            if name_of(terminal.foreground()).starts_with("exec-script") {
                terminal.type_in(STOP);
            }
        }
        terminal.line("runs");
        interrupt(&mut terminal, round);
        assert_eq!(terminal.end(), "starts\nruns\nended 130\n", "round {round}");
    }
}
