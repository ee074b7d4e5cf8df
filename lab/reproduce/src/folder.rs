//! The folder of results: what is written, when, and how a run that is broken off leaves something
//! whole.
//!
//! | file | what it is |
//! |---|---|
//! | `README.md` | the report |
//! | `meta.json` | machine, commit, command line, setting, and the names of all files |
//! | `samples.csv` | every single measurement |
//! | one `.csv` a table, one `.svg` a plot | |
//!
//! # Invariants
//!
//! - F1: a file is whole at any time: it is written beside its place, and then moved there.
//! - F2: a folder that holds something else is never written to: it must be empty, missing, or an
//!   earlier run's.
//! - F3: what an earlier run left there is removed before the first file is written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::file;
use crate::origin::Origin;
use crate::page::{Page, Progress};
use crate::parameters::Values;
use crate::report::{Part, svg};
use crate::results::Results;
use crate::setting::Scale;

pub(crate) const META: &str = "meta.json";
const REPORT: &str = "README.md";
pub(crate) const SAMPLES: &str = "samples.csv";

/// A folder that belongs to one run of one experiment.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// The contents of `meta.json`.
#[derive(Serialize)]
struct Meta<'a> {
    experiment: &'a str,
    source: String,
    finished: bool,
    samples: usize,
    scale: Scale,
    size: &'a str,
    threads: &'a [usize],
    repeat: usize,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mapping: Option<String>,
    #[serde(skip_serializing_if = "Values::is_empty")]
    parameters: &'a Values,
    origin: &'a Origin,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    wrong: &'a [String],
    files: Vec<String>,
}

/// The fields of an earlier run's file that are read.
#[derive(Deserialize)]
struct Earlier {
    files: Vec<String>,
}

impl Folder {
    /// Takes the folder `name` below `out`, and removes what an earlier run left in it.
    ///
    /// # Errors
    ///
    /// If it cannot be made or read, or holds something else than results.
    pub(crate) fn take(out: &Path, name: &str) -> Result<Self, Failure> {
        let path = out.join(name);
        let taken = fs::create_dir_all(&path).map_err(|error| Failure::output(&path, error));
        let folder = Self { path };
        // Nothing has been run yet: it is the name of the folder that is wrong.
        taken.and_then(|()| folder.clear()).map_err(Failure::impossible)?;
        Ok(folder)
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn clear(&self) -> Result<(), Failure> {
        let fail = |error| Failure::output(&self.path, error);
        if fs::read_dir(&self.path).map_err(fail)?.next().is_none() {
            return Ok(());
        }
        let text = fs::read_to_string(self.path.join(META)).unwrap_or_default();
        let Ok(earlier) = serde_json::from_str::<Earlier>(&text) else {
            let path = self.path.display();
            return Err(Failure::Impossible(format!(
                "the folder `{path}` holds something else than results; give another with --out"
            )));
        };
        // Names only: the list may have been edited.
        for name in
            earlier.files.iter().filter(|name| Path::new(name).file_name() == Some(name.as_ref()))
        {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the current report and its files.
    ///
    /// # Errors
    ///
    /// If a file cannot be written; the one that was there before stays.
    pub(crate) fn save(&self, page: &Page<'_>) -> Result<(), Failure> {
        let mut files = vec![REPORT.to_owned(), SAMPLES.to_owned(), META.to_owned()];
        for part in page.parts {
            files.extend(self.part(part)?);
        }
        self.write(
            SAMPLES,
            &samples(page.results).map_err(|error| Failure::output(&self.path, error))?,
        )?;
        self.write(REPORT, page.markdown().as_bytes())?;
        let meta = serde_json::to_vec_pretty(&meta(page, files));
        self.write(META, &meta.map_err(|error| Failure::output(&self.path, error.into()))?)
    }

    /// Writes a table or a plot; returns the name of its file.
    fn part(&self, part: &Part) -> Result<Option<String>, Failure> {
        let (name, bytes) = match part {
            Part::Words(_) => return Ok(None),
            Part::Table(table) => {
                let mut bytes = Vec::new();
                table.csv(&mut bytes).map_err(|error| Failure::output(&self.path, error))?;
                (table.file(), bytes)
            }
            Part::Plot(plot) => (plot.file(), svg(plot).into_bytes()),
        };
        self.write(&name, &bytes)?;
        Ok(Some(name))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.path.join(name);
        file::replace(&place, bytes).map_err(|error| Failure::output(&place, error))
    }
}

fn meta<'a>(page: &Page<'a>, files: Vec<String>) -> Meta<'a> {
    Meta {
        experiment: page.about.name,
        source: page.about.source(),
        finished: page.progress == Progress::Finished,
        samples: page.results.samples().len(),
        scale: page.setting.scale,
        size: page.size,
        threads: &page.setting.threads,
        repeat: page.setting.repeat,
        seed: page.setting.seed,
        mapping: page.setting.mapping.as_ref().map(ToString::to_string),
        parameters: &page.setting.parameters,
        origin: page.origin,
        left_out: &page.results.left_out,
        wrong: &page.results.wrong,
        files,
    }
}

/// A line a measured value: round, labels, name, value.
fn samples(results: &Results) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let labels = results.samples().first().map(|sample| sample.labels.iter().map(|label| label.0));
    let titles =
        ["round"].into_iter().chain(labels.into_iter().flatten()).chain(["metric", "value"]);
    writer.write_record(titles)?;
    for sample in results.samples() {
        for (metric, value) in &sample.metrics {
            let (round, value) = (sample.round.to_string(), value.to_string());
            let labels = sample.labels.iter().map(|label| label.1.as_str());
            writer.write_record(
                [round.as_str()].into_iter().chain(labels).chain([*metric, &value]),
            )?;
        }
    }
    writer.into_inner().map_err(|error| error.into_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::About;
    use crate::report::{Form, Plot, Series, Table, cell};
    use crate::results::Sample;
    use crate::setting::Setting;

    static ABOUT: About = About {
        name: "x",
        title: "X",
        publication: "Somebody",
        place: "Table 1",
        caveats: &[],
        repeat: [1; 3],
    };

    fn save(folder: &Folder, parts: &[Part], progress: Progress) -> Result<(), Failure> {
        let mut results = Results::default();
        let labels = vec![("app", "fib, small".to_owned()), ("workers", "2".to_owned())];
        results.push(Sample { round: 0, labels, metrics: vec![("wall_s", 0.5), ("steals", 3.0)] });
        let (setting, origin) = (Setting::new(Scale::Quick, 2), Origin::for_tests());
        folder.save(&Page {
            about: &ABOUT,
            setting: &setting,
            size: "quick",
            origin: &origin,
            results: &results,
            parts,
            progress,
        })
    }

    fn parts() -> [Part; 2] {
        let mut table = Table::new("speeds", "t");
        table.row([cell("a", 1.5)]);
        let plot = Plot::new("picture", "t", Form::Bars).with(Series::new("s", vec![Some(1.0)]));
        [Part::Table(table), Part::Plot(plot)]
    }

    fn names(folder: &Folder) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Catches: a file that is forgotten, or a partial one that is left behind.
    #[test]
    fn a_report_its_tables_plots_and_samples_are_files() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::take(out.path(), "x").unwrap();
        save(&folder, &parts(), Progress::Finished).unwrap();
        assert_eq!(
            names(&folder),
            ["README.md", "meta.json", "picture.svg", "samples.csv", "speeds.csv"]
        );
        let samples = fs::read_to_string(folder.path().join("samples.csv")).unwrap();
        assert_eq!(
            samples,
            "round,app,workers,metric,value\n0,\"fib, small\",2,wall_s,0.5\n0,\"fib, \
             small\",2,steals,3\n"
        );
        let meta: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.path().join("meta.json")).unwrap())
                .unwrap();
        assert_eq!((meta["finished"].as_bool(), meta["samples"].as_u64()), (Some(true), Some(1)));
        assert_eq!(meta["origin"]["commit"], "0123");
    }

    /// Catches: files of an earlier run among those of this one (F3).
    #[test]
    fn an_earlier_runs_files_are_removed() {
        let out = tempfile::tempdir().unwrap();
        save(&Folder::take(out.path(), "x").unwrap(), &parts(), Progress::Unfinished).unwrap();
        let folder = Folder::take(out.path(), "x").unwrap();
        assert!(names(&folder).is_empty());
        save(&folder, &parts()[..1], Progress::Finished).unwrap();
        assert_eq!(names(&folder), ["README.md", "meta.json", "samples.csv", "speeds.csv"]);
    }

    /// Catches: files of the user that are overwritten (F2).
    #[test]
    fn a_folder_that_holds_something_else_is_left_alone() {
        let out = tempfile::tempdir().unwrap();
        fs::create_dir(out.path().join("x")).unwrap();
        fs::write(out.path().join("x/README.md"), "mine").unwrap();
        let message = Folder::take(out.path(), "x").unwrap_err().to_string();
        assert!(message.contains("something else") && message.contains("--out"), "{message}");
        assert_eq!(fs::read_to_string(out.path().join("x/README.md")).unwrap(), "mine");
    }

    /// Catches: a list of files that leads out of the folder.
    #[test]
    fn only_files_of_the_folder_itself_are_removed() {
        let out = tempfile::tempdir().unwrap();
        fs::create_dir(out.path().join("x")).unwrap();
        fs::write(out.path().join("precious"), "mine").unwrap();
        fs::write(
            out.path().join("x/meta.json"),
            r#"{"files": ["../precious", "..", "gone.csv"]}"#,
        )
        .unwrap();
        Folder::take(out.path(), "x").unwrap();
        assert!(out.path().join("precious").exists());
    }

    /// Catches: an incomplete report when the disk is full (F1).
    #[cfg(target_os = "linux")]
    #[test]
    fn where_there_is_no_room_the_earlier_report_stays() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::take(out.path(), "x").unwrap();
        save(&folder, &[], Progress::Finished).unwrap();
        let before = fs::read(folder.path().join(REPORT)).unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join(".README.md.partial")).unwrap();
        let message = save(&folder, &[], Progress::Unfinished).unwrap_err().to_string();
        assert!(message.contains("README.md") && message.contains("No space left"), "{message}");
        assert_eq!(fs::read(folder.path().join(REPORT)).unwrap(), before);
    }
}
