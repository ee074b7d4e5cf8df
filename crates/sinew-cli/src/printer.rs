//! Output that never waits for its reader.
//!
//! A thread writes the texts to standard output, and may block while the pipe is full. The caller
//! never waits for it: it puts texts into a bounded queue, and drops those that do not fit. The end
//! of the process ends the thread.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use sinew_console::output;

/// Capacity of the queue.
const WAITING: usize = 256;
/// The longest wait, at the end, for the queue to drain.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A thread that prints.
#[derive(Debug)]
pub(crate) struct Printer {
    texts: SyncSender<String>,
    /// The thread's result; empty while it runs.
    ended: Receiver<io::Result<()>>,
    /// Number of texts dropped since the last one that was queued.
    left_out: usize,
}

impl Printer {
    /// # Errors
    ///
    /// The system cannot create a thread.
    pub(crate) fn start() -> io::Result<Self> {
        Self::start_with(output::print)
    }

    fn start_with(write: impl FnMut(&str) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (texts, waiting) = mpsc::sync_channel(WAITING);
        let (tell, ended) = mpsc::channel();
        let body = move || {
            // If the caller has gone, the result is not needed.
            let _ = tell.send(print_all(&waiting, write));
        };
        thread::Builder::new().name("printer".to_owned()).spawn(body)?;
        Ok(Self { texts, ended, left_out: 0 })
    }

    /// Queues `text`, or drops it if the queue is full. The next text that fits says how many were
    /// dropped.
    ///
    /// # Errors
    ///
    /// An earlier text could not be written: the reader has gone, or the disk is full.
    pub(crate) fn print(&mut self, text: String) -> io::Result<()> {
        let text = match self.left_out {
            0 => text,
            count => format!("({count} texts left out: nobody read them)\n{text}"),
        };
        match self.texts.try_send(text) {
            Ok(()) => self.left_out = 0,
            Err(TrySendError::Full(_)) => self.left_out += 1,
            Err(TrySendError::Disconnected(_)) => return self.ended.recv().unwrap_or(Ok(())),
        }
        Ok(())
    }

    /// Waits until the queue is empty, at most for a short time.
    ///
    /// # Errors
    ///
    /// As [`print`](Self::print).
    pub(crate) fn end(self) -> io::Result<()> {
        drop(self.texts);
        self.ended.recv_timeout(LAST_WORDS).unwrap_or(Ok(()))
    }
}

fn print_all(
    texts: &Receiver<String>,
    mut write: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    texts.iter().try_for_each(|text| write(&text))
}

#[cfg(test)]
mod tests {
    //! Blind to: real pipes; `tests/coordination.rs` has a full one.
    use super::*;

    /// Catches: a caller that waits for a reader, and texts that are dropped silently.
    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up() {
        let (go_on, goes_on) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let mut printer = Printer::start_with(move |text| {
            let _ = goes_on.recv();
            tell.send(text.to_owned()).map_err(io::Error::other)
        })
        .unwrap();
        let texts = WAITING + 10;
        (0..texts).for_each(|number| printer.print(format!("{number}\n")).unwrap());
        let missing = printer.left_out;
        assert!((9..=10).contains(&missing), "one may be in the writer's hands: {missing}");
        drop(go_on);
        let seen: Vec<String> = told.iter().take(texts - missing).collect();
        assert_eq!(seen[0], "0\n");
        printer.print("last".to_owned()).unwrap();
        printer.end().unwrap();
        let last = told.recv().unwrap();
        assert!(last.contains(&format!("{missing} texts left out")) && last.ends_with("last"));
    }

    /// Catches: writes that continue after the output was closed.
    #[test]
    fn an_output_that_is_gone_is_an_error() {
        let gone = |_: &str| Err(io::Error::from(io::ErrorKind::BrokenPipe));
        let printer = Printer::start_with(gone).unwrap();
        printer.texts.send("text".to_owned()).unwrap();
        assert_eq!(printer.end().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
