//! Texts for a reader that may not read.
//!
//! A thread writes them to standard output, one after the other, and may stay in the write for
//! as long as the pipe is full. The caller never waits for it: it puts texts into a queue of
//! bounded length, and leaves out those for which there is no room. The end of the process ends
//! the thread, wherever it is.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use crate::output;

/// Texts that may wait for a reader.
const WAITING: usize = 256;
/// The longest wait, at the end, for a reader to take what is in the queue.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Prints on a thread of its own.
#[derive(Debug)]
pub(crate) struct Printer {
    texts: SyncSender<String>,
    /// How the thread ended; nothing while it runs.
    ended: Receiver<io::Result<()>>,
    /// Texts for which there was no room since the last one that was queued.
    left_out: usize,
}

impl Printer {
    /// # Errors
    ///
    /// The system has no thread to give.
    pub(crate) fn start() -> io::Result<Self> {
        Self::start_with(output::print)
    }

    fn start_with(write: impl FnMut(&str) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (texts, waiting) = mpsc::sync_channel(WAITING);
        let (tell, ended) = mpsc::channel();
        let body = move || {
            // After the caller has gone nobody wants to know.
            let _ = tell.send(print_all(&waiting, write));
        };
        thread::Builder::new().name("printer".to_owned()).spawn(body)?;
        Ok(Self { texts, ended, left_out: 0 })
    }

    /// Has `text` printed, or leaves it out where too many texts wait already. The next one that
    /// finds room says how many are missing.
    ///
    /// # Errors
    ///
    /// An earlier text could not be written: nobody reads any more, or there is no room.
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

    /// Waits until all is printed, but not for long.
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
    //! Blind to: what the system's pipes do; `tests/coordination.rs` has a full one.
    use super::*;

    /// Catches: a caller that waits for a reader, and texts that are missing without a word.
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

    /// Catches: an output that is gone and is written to for ever.
    #[test]
    fn an_output_that_is_gone_is_an_error() {
        let gone = |_: &str| Err(io::Error::from(io::ErrorKind::BrokenPipe));
        let printer = Printer::start_with(gone).unwrap();
        printer.texts.send("text".to_owned()).unwrap();
        assert_eq!(printer.end().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
