#![forbid(unsafe_code)]
//! `sinew exec` with shares from a file instead of the table, for tests: `exec-script [--malleable]
//! [--verbose] [--library FILE] SHARES COMMAND…`.
//!
//! Each line of SHARES, usually a named pipe, is a grant: a list of CPUs, a blank and a number of
//! threads. If other programs have the same processors, another blank and `INDEX/COUNT` follow. An
//! unreadable file acts as a table that cannot be joined. At the end of the file, the last grant
//! stays. If SHARES is the word `table`, the table is used.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let failure = script::run();
    eprintln!("sinew: {failure}");
    std::process::ExitCode::from(failure.status())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: exec is for Linux");
}

#[cfg(target_os = "linux")]
mod script {
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};
    use std::{io, thread};

    use sinew_exec::{Command, Crowd, Failure, Grant, Job, Listener, ShareSource, exec};

    /// The lines of the file, until a listener reads them, and the crowd in the last one.
    struct Script {
        lines: Mutex<Option<BufReader<File>>>,
        crowd: Arc<Mutex<Option<Crowd>>>,
    }

    /// A line, and the crowd in the last one.
    struct Line<'l>(&'l str, &'l Mutex<Option<Crowd>>);

    impl Line<'_> {
        fn grant(&self) -> Option<Grant> {
            let (cpus, rest) = self.0.trim().split_once(' ')?;
            let (threads, crowd) = rest.split_once(' ').unzip();
            *self.1.lock().ok()? = crowd.and_then(|text| {
                let (index, count) = text.split_once('/')?;
                Some(Crowd { index: index.parse().ok()?, count: count.parse().ok()? })
            });
            let threads = threads.unwrap_or(rest);
            Some(Grant { cpus: cpus.parse().ok()?, threads: threads.parse().ok()? })
        }
    }

    impl ShareSource for Script {
        /// Waits for the first line.
        fn on_change(&self, listener: Listener) -> io::Result<()> {
            let lines = self.lines.lock().ok().and_then(|mut lines| lines.take());
            let (Some(mut lines), crowd) = (lines, Arc::clone(&self.crowd)) else { return Ok(()) };
            let mut read = move || {
                let mut line = String::new();
                let length = lines.read_line(&mut line).unwrap_or(0);
                Line(&line, &crowd).grant().into_iter().for_each(&listener);
                length > 0
            };
            if read() {
                thread::Builder::new().name("grants".to_owned()).spawn(move || while read() {})?;
            }
            Ok(())
        }

        fn neighbours(&self) -> usize {
            self.crowd().map_or(0, |crowd| crowd.count - 1)
        }

        fn crowd(&self) -> Option<Crowd> {
            *self.crowd.lock().ok()?
        }

        fn leave(&self) {}
    }

    pub(crate) fn run() -> Failure {
        let mut words = std::env::args_os().skip(1);
        let mut command = Command::default();
        let shares = loop {
            let word = words.next().unwrap_or_default();
            match word.to_str() {
                Some("--malleable") => command.malleable = true,
                Some("--verbose") => command.verbose = true,
                Some("--library") => command.library = words.next().map(PathBuf::from),
                _ => break word,
            }
        };
        command.program = words.next().unwrap_or_default();
        command.arguments = words.collect();
        exec(&command, |job: &Job| match shares.to_str() {
            Some("table") => sinew_exec::join_table(job),
            _ => join(Path::new(&shares)),
        })
    }

    fn join(path: &Path) -> Result<Arc<dyn ShareSource>, String> {
        let file =
            File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let lines = Mutex::new(Some(BufReader::new(file)));
        Ok(Arc::new(Script { lines, crowd: Arc::default() }))
    }
}
