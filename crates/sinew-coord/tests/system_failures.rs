//! Folders, files and limits that prevent a table or damage it: programs run on, and end.
//!
//! Blind to: file systems that lose written data.
#![cfg(target_os = "linux")]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sinew_coord::{Coordinator, CpuSet, Member, Offer, Table};
use sinew_policy::share::Layout;

/// A hang is a failure; a slow machine is none.
const TIMEOUT: Duration = Duration::from_secs(60);

const CPUS: usize = 2;

fn offer() -> Offer {
    Offer::on("test", CpuSet::first(CPUS), CPUS as u32)
}

fn open(folder: &Path) -> Table {
    Table::open_on(folder, Layout::flat(CPUS)).expect("a table")
}

/// Runs `action` on another thread, and fails if it never ends.
fn ends<T: Send + 'static>(what: &str, action: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(action()));
    told.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("{what}: never ends"))
}

/// A program that joins and ends at once, because its input is empty.
fn member(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_member"));
    command.arg(folder).args(["test", &CPUS.to_string(), "stay"]);
    command
}

/// Runs the command to its end.
fn run(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("it starts");
    let (tell, told) = mpsc::channel();
    let pid = child.id().to_string();
    thread::spawn(move || tell.send(child.wait_with_output().expect("its output")));
    told.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
        let _ = Command::new("kill").args(["-s", "KILL", &pid]).status();
        panic!("{command:?} never ends");
    })
}

/// Words of the head of the file; the live lines follow it.
const HEAD_WORDS: u64 = 64;

/// Catches: a word in a leftover file that makes every later program wait, or look for another
/// file, for ever.
#[test]
fn no_leftover_word_keeps_a_program_from_joining() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    for at in 0..HEAD_WORDS {
        for word in [1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let table = open(&place);
            let file = File::options().write(true).open(table.path()).unwrap();
            file.write_all_at(&word.to_le_bytes(), at * 8).unwrap();
            let place = place.clone();
            let threads = ends(&format!("{word:x} in word {at}"), move || {
                let table = open(&place);
                let coordinator =
                    Coordinator::start(&table, Default::default(), Default::default());
                coordinator.expect("a coordinator").step().expect("a step");
                Member::join(&table, offer()).expect("a row").share().threads
            });
            assert_eq!(threads, CPUS as u32);
        }
    }
}

/// Catches: the same for a table that another program has open and uses.
#[test]
fn no_leftover_word_keeps_members_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    let table = open(&place);
    let member = Member::join(&table, offer()).unwrap();
    for at in 0..HEAD_WORDS {
        let file = File::options().write(true).open(table.path()).unwrap();
        file.write_all_at(&1_u64.to_le_bytes(), at * 8).unwrap();
        let place = place.clone();
        ends(&format!("word {at}"), move || {
            drop(Member::join(&open(&place), offer()).expect("a row"));
        });
    }
    ends("the member", move || drop(member));
}

/// A folder for an ordinary user, and a function that makes commands run as that user. Prints a
/// reason and returns `None` if that is impossible.
fn ordinary_user() -> Option<(tempfile::TempDir, PathBuf, impl Fn(&mut Command))> {
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o700)).unwrap();
    // Root may write everywhere, so the programs must not be root's.
    let is_root = chown(&place, Some(NOBODY), Some(NOBODY)).is_ok();
    let become_ordinary = move |command: &mut Command| {
        if is_root {
            std::os::unix::process::CommandExt::uid(command, NOBODY);
            std::os::unix::process::CommandExt::gid(command, NOBODY);
        }
    };
    let mut test = Command::new("/bin/sh");
    // The programs may be in a folder that only their owner can open.
    test.args(["-c", "test -x \"$0\"", env!("CARGO_BIN_EXE_member")]);
    become_ordinary(&mut test);
    if !test.status().is_ok_and(|status| status.success()) {
        println!("skipped: an ordinary user cannot run the programs of this build");
        return None;
    }
    Some((folder, place, become_ordinary))
}

/// Catches: a table that the last program abandoned although its name stayed, so that later
/// programs found no other.
#[test]
fn a_table_that_cannot_be_removed_is_used_again() {
    let Some((_folder, place, become_ordinary)) = ordinary_user() else { return };
    let joins = |what: &str| {
        let mut command = member(&place);
        become_ordinary(&mut command);
        let output = run(&mut command);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.starts_with("1 2 0-1 0"), "{what}: {output:?}");
    };
    joins("first");
    let mut first = member(&place);
    become_ordinary(&mut first);
    let mut first = first.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Read::read_exact(first.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o500)).unwrap();
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "the file stays");
    joins("the next one");
    joins("the one after that");
}

/// Catches: a stopped holder whose file cannot be replaced, so that the others try for ever.
#[test]
fn a_stopped_holder_of_a_table_that_cannot_be_removed_is_an_error() {
    let Some((_folder, place, become_ordinary)) = ordinary_user() else { return };
    let start = |what: &[&str]| {
        let mut command = Command::new(member(&place).get_program());
        command.arg(&place).args(["test", "2"]).args(what);
        become_ordinary(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 5]).unwrap();
        child
    };
    // A holder that has a neighbour has something to change.
    let mut neighbour = start(&["stay"]);
    let mut holder = start(&["halt", "Held"]);
    fs::set_permissions(&place, Permissions::from_mode(0o500)).unwrap();
    let signal = |name: &str| {
        assert!(
            Command::new("kill")
                .args(["-s", name, &holder.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    };
    signal("STOP");
    let mut command = member(&place);
    become_ordinary(&mut command);
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    signal("KILL");
    holder.wait().unwrap();
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    assert!(
        !output.status.success()
            && said.contains("\"replace\"")
            && said.contains("PermissionDenied"),
        "{said}"
    );
}

/// Sets an attribute of a file, as root may. Returns whether that was possible.
fn chattr(attribute: &str, path: &Path) -> bool {
    let status = Command::new("chattr").arg(attribute).arg(path).stderr(Stdio::null()).status();
    let done = status.is_ok_and(|status| status.success());
    if !done {
        println!("skipped: chattr {attribute} {}", path.display());
    }
    done
}

/// Catches: a table that cannot be removed, created or written for another reason than its mode, so
/// that programs try for ever.
#[test]
fn attributes_of_the_folder_or_the_file_keep_no_program_waiting() {
    for (attribute, remove) in [("+a", "-a"), ("+i", "-i")] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("shared");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(0o700)).unwrap();
        // The last program cannot remove the file, so the file stays for the next steps.
        if !chattr("+a", &place) {
            return;
        }
        let first = run(&mut member(&place));
        chattr("-a", &place);
        let file = fs::read_dir(&place).unwrap().next().expect("the file stays").unwrap().path();
        assert!(first.status.success(), "{first:?}");
        for subject in [&place, &file] {
            if !chattr(attribute, subject) {
                return;
            }
            let outputs = [(); 2].map(|()| run(&mut member(&place)));
            chattr(remove, subject);
            for output in outputs {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let refused = output.status.code().is_some() && said.contains("PermissionDenied");
                assert!(output.status.success() || refused, "{attribute} {subject:?}: {output:?}");
            }
            // The last of them may remove it now.
            assert!(run(&mut member(&place)).status.success());
            if subject == &place {
                fs::write(&file, []).unwrap();
                fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            }
        }
    }
}

/// Catches: a program that the system ends because another one truncated the table.
#[test]
fn a_table_that_is_cut_short_while_it_is_used_ends_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    let path = open(&place).path().to_owned();
    let start = |what: &str| {
        let mut command = Command::new(member(&place).get_program());
        command.arg(&place).args(["test", "2", what]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 5]).unwrap();
        child
    };
    let (mut stayer, mut churners) = (start("stay"), ["churn", "churn"].map(start));
    for round in 0..2_000 {
        // The last program to leave removes the file now and then.
        if let Ok(file) = File::options().write(true).open(&path) {
            let _ = file.set_len([0, 8, 5_000, 40_000, 300_000][round % 5]);
        }
    }
    for child in std::iter::once(&mut stayer).chain(&mut churners) {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended");
    }
    for mut churner in churners {
        churner.kill().unwrap();
        churner.wait().unwrap();
    }
    let newcomer = ends("a newcomer", move || Member::join(&open(&place), offer()).expect("a row"));
    assert!(newcomer.table().read().iter().any(|row| row.program == newcomer.program()));
    drop(stayer.stdin.take());
    assert!(stayer.wait().unwrap().success());
}

/// Catches: a signal that is lost, or that does not end a program, because of this crate's handler.
#[test]
fn a_bus_error_of_another_kind_ends_the_program_as_without_the_handler() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let mut stayer = member(&folder.path().join("shared"));
    let mut stayer = stayer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Read::read_exact(stayer.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let id = stayer.id().to_string();
    let began = std::time::Instant::now();
    // Rust's runtime, whose handler is called as before, ignores the first signal that a process
    // sends.
    let status = loop {
        let _ = Command::new("kill").args(["-s", "BUS", &id]).status();
        if let Some(status) = stayer.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > TIMEOUT {
            let _ = stayer.kill();
        }
    };
    assert_eq!(status.signal(), Some(libc::SIGBUS));
}

/// A command that runs `setup` in a mount namespace of its own, then `command`. Prints a reason and
/// returns `None` if that is impossible.
fn within(setup: &str, command: &Command) -> Option<Command> {
    let allowed = |options: &[&str]| {
        let status =
            Command::new("unshare").args(options).arg("true").stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let Some(options) = [&["-m"][..], &["-Urm"][..]].into_iter().find(|options| allowed(options))
    else {
        println!("skipped: no mount namespace can be made here");
        return None;
    };
    let mut shell = Command::new("unshare");
    shell.args(options).args(["sh", "-c", &format!("{setup} && exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    Some(shell)
}

/// Catches: a table whose blocks are missing when they are written to, which ends the program with
/// SIGBUS.
#[test]
fn a_full_file_system_is_an_error_and_ends_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    for kilobytes in [4, 64, 300, 484] {
        let mount =
            format!("mount -t tmpfs -o size={kilobytes}k none '{}'", folder.path().display());
        let Some(mut command) = within(&mount, &member(&place)) else { return };
        let output = run(&mut command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code().is_some(), "{kilobytes} kB: {output:?}");
        assert!(said.contains("reserve room for"), "{kilobytes} kB: {said}");
    }
    let mount = format!("mount -t tmpfs -o size=1m none '{}'", folder.path().display());
    let Some(mut command) = within(&mount, &member(&place)) else { return };
    assert!(run(&mut command).status.success());
}

/// Catches: a file system that cannot reserve blocks and is trusted, or is refused.
#[test]
fn a_file_system_that_cannot_reserve_blocks_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let mount = format!("mount -t ramfs none '{}' && chmod 700 '{0}'", folder.path().display());
    let Some(mut command) = within(&mount, &member(&folder.path().join("shared"))) else { return };
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("mount:") {
        println!("skipped: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
}

/// Catches: a process that the system ends because it makes a file too long, and a table that loses
/// all rows because no process could be asked about.
#[test]
fn a_program_without_room_files_or_processes_gets_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    let witness = Member::join(&open(&folder.path().join("other")), offer()).unwrap();
    for (limit, cause) in [
        ("-f 1", "reserve room for"),
        ("-n 4", "Too many open files"),
        ("-n 5", "Too many open files"),
    ] {
        let limited = member(&place);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]);
        shell.arg(limited.get_program()).args(limited.get_args());
        let output = run(&mut shell);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code().is_some() && said.contains(cause) || output.status.success(),
            "{limit}: {output:?}"
        );
    }
    assert_eq!(witness.table().read().len(), 1);
}

/// Catches: a program without descriptors or `/proc` that takes all others for dead, and removes
/// their rows.
#[test]
fn a_program_that_cannot_look_at_others_takes_none_for_dead() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    let table = open(&place);
    let witness = Member::join(&table, offer()).unwrap();
    for descriptors in 3..16 {
        let limited = member(&place);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {descriptors}; exec \"$@\""), "sh"]);
        shell.arg(limited.get_program()).args(limited.get_args());
        run(&mut shell);
    }
    if let Some(mut command) = within("mount -t tmpfs none /proc", &member(&place)) {
        let output = run(&mut command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("/proc/self") && output.status.code().is_some(), "{said}");
    }
    let died = table
        .log()
        .iter()
        .filter(|decision| {
            decision.name.as_str() == "test" && decision.subject == std::process::id()
        })
        .count();
    // It joined once, and no program removed its row, so it did not join again.
    assert_eq!((died, witness.table().read().len()), (1, 1), "{:?}", table.log());
}
