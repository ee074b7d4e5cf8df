//! An experiment from its first run to its last file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::origin::Origin;
use crate::page::{Page, Progress};
use crate::results::Results;
use crate::runner::{self, Step, Watcher};
use crate::setting::Setting;

/// Results are written at most this often while a run goes on: writing should not be what is
/// measured.
const BETWEEN_SAVES: Duration = Duration::from_secs(1);

/// The outcome of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// The folder of the results.
    pub folder: PathBuf,
    /// The report.
    pub text: String,
    /// All measurements; the experiment has failed if a result was wrong.
    pub results: Results,
}

/// Runs an experiment, and keeps its report in a folder of its own below `out` up to date
/// meanwhile. `now` is told what begins.
///
/// A process that is ended in the middle leaves what it had a second before, marked as unfinished.
///
/// # Errors
///
/// If the folder is not writable, before anything runs; or if the disk is full.
pub fn reproduce(
    experiment: &Experiment,
    setting: &Setting,
    origin: &Origin,
    out: &Path,
    now: impl FnMut(&Step<'_>),
) -> Result<Outcome, Failure> {
    let folder = Folder::take(out, experiment.about.name)?;
    let mut recorder = Recorder { experiment, setting, origin, folder, saved: Instant::now(), now };
    recorder.save(&Results::default(), Progress::Unfinished)?;
    let results = runner::run(experiment, setting, &mut recorder)?;
    let text = recorder.save(&results, Progress::Finished)?;
    Ok(Outcome { folder: recorder.folder.path().to_owned(), text, results })
}

struct Recorder<'a, F> {
    experiment: &'a Experiment,
    setting: &'a Setting,
    origin: &'a Origin,
    folder: Folder,
    saved: Instant,
    now: F,
}

impl<F> Recorder<'_, F> {
    /// Writes everything; returns the report.
    fn save(&mut self, results: &Results, progress: Progress) -> Result<String, Failure> {
        let parts = self.experiment.report(results, self.setting);
        let page = Page {
            about: &self.experiment.about,
            setting: self.setting,
            size: &self.experiment.size(self.setting),
            origin: self.origin,
            results,
            parts: &parts,
            progress,
        };
        self.folder.save(&page)?;
        self.saved = Instant::now();
        Ok(page.markdown())
    }
}

impl<F: FnMut(&Step<'_>)> Watcher for Recorder<'_, F> {
    fn begins(&mut self, step: &Step<'_>) {
        (self.now)(step);
    }

    fn grew(&mut self, results: &Results) -> Result<(), Failure> {
        if self.saved.elapsed() >= BETWEEN_SAVES {
            self.save(results, Progress::Unfinished)?;
        }
        Ok(())
    }
}
