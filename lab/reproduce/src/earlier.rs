//! A finished or broken-off run, read back from its folder.
//!
//! The names of labels and metrics become part of the program's memory until it ends: there are as
//! many as columns and metrics of the files.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::failure::Failure;
use crate::folder::{META, SAMPLES};
use crate::origin::Origin;
use crate::parameters::Values;
use crate::results::{Labels, Results, Sample};
use crate::setting::{Scale, Setting};

/// A run of an experiment.
#[derive(Debug)]
pub(crate) struct Run {
    /// Whether it came to its end.
    pub(crate) finished: bool,
    /// Under which conditions; without those of worklists, which only change what the runs do.
    pub(crate) setting: Setting,
    /// The size of its problems, in words.
    pub(crate) size: String,
    pub(crate) origin: Origin,
    pub(crate) results: Results,
}

/// The fields of `meta.json` that are read back.
#[derive(Deserialize)]
struct Meta {
    finished: bool,
    scale: Scale,
    size: String,
    threads: Vec<usize>,
    repeat: usize,
    seed: u64,
    mapping: Option<String>,
    #[serde(default)]
    parameters: Values,
    origin: Origin,
    #[serde(default)]
    left_out: Vec<String>,
    #[serde(default)]
    wrong: Vec<String>,
}

impl Run {
    /// Reads the run of an experiment from the folder of its name below `out`; nothing where there
    /// is none.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or was not written by this version.
    pub(crate) fn read(out: &Path, experiment: &str) -> Result<Option<Self>, Failure> {
        let folder = out.join(experiment);
        let meta = folder.join(META);
        let text = match fs::read_to_string(&meta) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| unreadable(&meta, error))?,
        };
        let meta: Meta = serde_json::from_str(&text).map_err(|error| unreadable(&meta, error))?;
        let samples = folder.join(SAMPLES);
        let mut results = read_samples(&samples).map_err(|error| unreadable(&samples, error))?;
        let Meta { finished, scale, size, threads, repeat, seed, parameters, origin, .. } = meta;
        (results.left_out, results.wrong) = (meta.left_out, meta.wrong);
        let mapping = meta.mapping.and_then(|mapping| mapping.parse().ok());
        let setting =
            Setting { threads, repeat, seed, mapping, parameters, ..Setting::new(scale, 1) };
        Ok(Some(Self { finished, setting, size, origin, results }))
    }
}

fn unreadable(file: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Impossible(format!("cannot read the results in `{}`: {error}", file.display()))
}

/// The samples of a file with a line a value: round, labels, name, value. The lines of a sample
/// follow each other.
fn read_samples(file: &Path) -> Result<Results, Box<dyn std::error::Error>> {
    let mut reader = csv::Reader::from_path(file)?;
    let mut names = Names::default();
    let titles: Vec<&'static str> =
        reader.headers()?.iter().map(|title| names.get(title)).collect();
    let [_, titles @ .., _, _] = &titles[..] else { return Err("a column is missing".into()) };
    let mut results = Results::default();
    let mut sample: Option<Sample> = None;
    for record in reader.records() {
        let record = record?;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let (round, last) = (cell(0).parse()?, record.len() - 1);
        let labels = titles.iter().enumerate().map(|(at, title)| (*title, cell(at + 1).to_owned()));
        let labels: Labels = labels.collect();
        let metric = (names.get(cell(last - 1)), cell(last).parse()?);
        match &mut sample {
            Some(sample) if sample.round == round && sample.labels == labels => {
                sample.metrics.push(metric);
            }
            _ => {
                let next = Sample { round, labels, metrics: vec![metric] };
                sample.replace(next).into_iter().for_each(|sample| results.push(sample));
            }
        }
    }
    sample.into_iter().for_each(|sample| results.push(sample));
    Ok(results)
}

/// Names that live as long as the program, each once.
#[derive(Default)]
struct Names(Vec<&'static str>);

impl Names {
    fn get(&mut self, name: &str) -> &'static str {
        if let Some(known) = self.0.iter().find(|known| **known == name) {
            return known;
        }
        let name: &'static str = name.to_owned().leak();
        self.0.push(name);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::folder::Folder;
    use crate::page::{Page, Progress};

    /// Leaves the folder of a run.
    fn leave(out: &Path, results: &Results) {
        let experiment = find("plastic-metrics").unwrap();
        let setting = Setting { threads: vec![1, 4], ..Setting::new(Scale::Full, 2) };
        let page = Page {
            about: &experiment.about,
            setting: &setting,
            size: "full: large",
            origin: &Origin::for_tests(),
            results,
            parts: &[],
            progress: Progress::Finished,
        };
        Folder::take(out, "plastic-metrics").unwrap().save(&page).unwrap();
    }

    /// Catches: two runs of a case taken for one, a metric that a case has several times lost, and
    /// a wrong answer that is forgotten.
    #[test]
    fn a_run_is_read_back_as_it_was() {
        let out = tempfile::tempdir().unwrap();
        let mut results = Results::default();
        for round in 0..2 {
            let labels = vec![("way", "with, and without".to_owned()), ("tasks", "5".to_owned())];
            let metrics = vec![("wall_s", 0.1 + round as f64), ("row", 1.0), ("row", 2.5)];
            results.push(Sample { round, labels, metrics });
        }
        results.wrong.push("6 times 9".into());
        results.left_out.push("no room".into());
        leave(out.path(), &results);
        let run = Run::read(out.path(), "plastic-metrics").unwrap().unwrap();
        assert_eq!(format!("{:?}", run.results), format!("{results:?}"));
        assert_eq!((run.setting.scale, &run.setting.threads[..]), (Scale::Full, &[1, 4][..]));
        assert_eq!((run.finished, run.size.as_str()), (true, "full: large"));
        assert_eq!(run.origin.commit, Origin::for_tests().commit);
    }

    /// Catches: a folder of another version that is taken for one without results.
    #[test]
    fn what_is_no_result_is_refused_and_a_missing_folder_is_none() {
        let out = tempfile::tempdir().unwrap();
        assert!(Run::read(out.path(), "plastic-metrics").unwrap().is_none());
        leave(out.path(), &Results::default());
        let folder = out.path().join("plastic-metrics");
        for (file, text) in [(SAMPLES, "round,way,metric,value\n0,a,b,c\n"), (META, "{}")] {
            fs::write(folder.join(file), text).unwrap();
            let message = Run::read(out.path(), "plastic-metrics").unwrap_err().to_string();
            assert!(message.contains(file), "{message}");
        }
    }
}
