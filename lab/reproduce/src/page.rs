//! A whole report as text: what it repeats, what was found, what this machine cannot show, and
//! where it was measured.

use std::fmt::Write as _;

use crate::experiment::{About, Caveat, Need};
use crate::origin::Origin;
use crate::report::{Part, Table};
use crate::results::Results;
use crate::setting::{Scale, Setting};

/// The meaning of a report of size quick.
const QUICK: &str = "this run has size quick, with problems of milliseconds. It shows that the \
    experiment works; its numbers, signs and plots are no findings.";

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More is coming, unless the run was broken off.
    Unfinished,
    /// This is all.
    Finished,
}

/// The input of a report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'a> {
    /// The experiment.
    pub about: &'a About,
    /// The conditions.
    pub setting: &'a Setting,
    /// The size of the problems.
    pub size: &'a str,
    /// The machine, and what ran on it.
    pub origin: &'a Origin,
    /// The measurements.
    pub results: &'a Results,
    /// The experiment's report about them.
    pub parts: &'a [Part],
    /// Whether all of it is here.
    pub progress: Progress,
}

impl Page<'_> {
    /// As Markdown. Plots are named with the files they lie in, beside this one.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "# {}: {}\n\nRepeats {}.\n",
            self.about.name,
            self.about.title,
            self.about.source()
        );
        self.state(&mut text);
        for part in self.parts {
            let _ = write!(text, "\n{}", part_text(part));
        }
        section(&mut text, "Left out", &self.results.left_out);
        section(&mut text, "Wrong answers", &self.results.wrong);
        section(
            &mut text,
            "What this run cannot show",
            &caveats(self.about, self.setting, self.origin),
        );
        section(
            &mut text,
            "Where and how it was measured",
            &conditions(self.setting, self.size, self.origin),
        );
        text
    }

    fn state(&self, text: &mut String) {
        if self.progress == Progress::Unfinished {
            let runs = self.results.samples().len();
            let _ = write!(
                text,
                "\n**Unfinished**: what {runs} runs have shown. The experiment was still running, \
                 or was broken off.\n"
            );
        }
        if self.setting.scale == Scale::Quick {
            let _ = write!(text, "\n**Mechanics, not values**: {QUICK}\n");
        }
        if !self.results.wrong.is_empty() {
            text.push_str("\n**Some answers were wrong**; see below.\n");
        }
    }
}

/// Machine, program, command, and the conditions of a run, one fact a line.
pub(crate) fn conditions(setting: &Setting, size: &str, origin: &Origin) -> Vec<String> {
    let Setting { threads, repeat, seed, mapping, parameters, .. } = setting;
    let threads: Vec<String> = threads.iter().map(usize::to_string).collect();
    let mut lines = origin.lines();
    lines.push(format!(
        "size {size}, workers {}, repetitions {repeat} (figures are medians; all cases in turn, \
         shuffled with seed {seed})",
        threads.join(", ")
    ));
    lines.extend(mapping.iter().map(|mapping| {
        format!("mapping {mapping} in all pools, except where a case is about a mapping")
    }));
    if !parameters.is_empty() {
        lines.push(format!("parameters: {parameters}"));
    }
    lines
}

/// The sentences that hold for such a run, and what every report must admit.
pub(crate) fn caveats(about: &About, setting: &Setting, origin: &Origin) -> Vec<String> {
    let holds = |caveat: &&Caveat| !meets(caveat.unless, setting, origin);
    let mut sentences: Vec<String> =
        about.caveats.iter().filter(holds).map(|caveat| caveat.words.to_owned()).collect();
    let (workers, cores) = (setting.most_workers(), origin.processors);
    if workers > cores {
        sentences.push(format!(
            "{workers} workers shared {cores} processors: times say how well they take turns, not \
             how well they share work."
        ));
    }
    if !origin.optimised() {
        sentences.push(
            "The program was built without full optimisation: its times mean nothing.".to_owned(),
        );
    }
    sentences
}

/// Whether such a run had this.
pub(crate) fn meets(need: Need, setting: &Setting, origin: &Origin) -> bool {
    match need {
        Need::Workers(workers) => setting.most_workers() >= workers && origin.processors >= workers,
        Need::Nodes(nodes) => origin.nodes >= nodes,
        Need::Packages(packages) => origin.packages >= packages,
        Need::Nothing => false,
    }
}

fn part_text(part: &Part) -> String {
    match part {
        Part::Words(words) => format!("{words}\n"),
        Part::Table(table) => {
            format!("{}\n(in full: `{}`)\n", Table::markdown(table), table.file())
        }
        Part::Plot(plot) => format!("![{}]({})\n", plot.title, plot.file()),
    }
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static ABOUT: About = About {
        name: "x-table1",
        title: "How fast it is",
        publication: "Somebody, \"Something\"",
        place: "Table 1",
        repeat: [1; 3],
        caveats: &[
            Caveat { unless: Need::Nodes(4), words: "One node has nothing remote." },
            Caveat { unless: Need::Workers(63), words: "Few workers steal little." },
            Caveat { unless: Need::Nothing, words: "Another processor." },
        ],
    };

    fn page(nodes: usize, processors: usize, progress: Progress) -> String {
        page_of(Scale::Quick, nodes, processors, progress)
    }

    fn page_of(scale: Scale, nodes: usize, processors: usize, progress: Progress) -> String {
        let origin = Origin { nodes, processors, ..Origin::for_tests() };
        let mapping = Some(sinew::Mapping::Explicit(vec![0, 2]));
        let setting = Setting { threads: vec![1, 64], mapping, ..Setting::new(scale, 1) };
        let mut results = Results::default();
        results.left_out.push("uts: no room".into());
        let parts = [Part::words("It is fast.")];
        Page {
            about: &ABOUT,
            setting: &setting,
            size: "quick",
            origin: &origin,
            results: &results,
            parts: &parts,
            progress,
        }
        .markdown()
    }

    /// Catches: a report that claims what the machine cannot show, or excuses itself on one that
    /// can.
    #[test]
    fn a_caveat_stands_unless_the_run_had_what_it_needs() {
        let small = page(1, 2, Progress::Finished);
        for words in
            ["One node", "Few workers", "Another processor", "64 workers shared 2 processors"]
        {
            assert!(small.contains(words), "{small}");
        }
        let large = page(4, 64, Progress::Finished);
        for words in ["One node", "Few workers", "shared"] {
            assert!(!large.contains(words), "{large}");
        }
        assert!(large.contains("Another processor"));
    }

    /// Catches: values of a quick run that look like findings.
    #[test]
    fn a_quick_report_says_first_that_its_values_mean_nothing() {
        let quick = page(1, 2, Progress::Finished);
        let (says, finds) = (quick.find("Mechanics, not values"), quick.find("It is fast."));
        assert!(says.is_some() && says < finds, "{quick}");
        for scale in [Scale::Default, Scale::Full] {
            assert!(!page_of(scale, 1, 2, Progress::Finished).contains("Mechanics"));
        }
    }

    /// Catches: a broken-off run that looks like a whole one.
    #[test]
    fn an_unfinished_report_says_so_first() {
        let page_now = page(1, 2, Progress::Unfinished);
        assert!(page_now.find("Unfinished") < page_now.find("It is fast."), "{page_now}");
        assert!(
            page_now.contains("uts: no room") && page_now.contains("Repeats Somebody"),
            "{page_now}"
        );
        assert!(!page(1, 2, Progress::Finished).contains("Unfinished"));
    }

    /// Catches: a report of a run whose mapping the user has chosen, without that.
    #[test]
    fn a_requested_mapping_is_among_the_conditions() {
        assert!(page(1, 2, Progress::Finished).contains("mapping 0,2 in all pools"));
    }
}
