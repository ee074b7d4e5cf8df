//! The page of all tables and figures of the publications: what they say, what our runs say, and a
//! verdict by one rule.
//!
//! A pure function of the runs that lie in a folder. An exhibit is a row; a row has a line for each
//! statement. Those without a run are marked.
//!
//! # Not handled
//!
//! Several runs of one experiment: a folder of results holds one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use textwrap::{Options, WordSplitter, fill};

use crate::catalogue::{all, exhibits};
use crate::earlier::Run;
use crate::exhibit::{Claim, Exhibit, Repeat, Standing, Verdict, rule};
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::page::{caveats, conditions, meets};
use crate::report::{Cell, Table, cell};
use crate::results::Results;
use crate::setting::{Scale, Setting};

/// Columns of a line of text.
const COLUMNS: usize = 100;

/// Processors of the machine for which statements are worded that nothing was run for.
const USUAL_PROCESSORS: usize = 2;

/// The runs by the names of their experiments.
type Runs = BTreeMap<&'static str, Run>;

/// The page about the runs in a folder of results, made by this command.
///
/// # Errors
///
/// If a run is there that cannot be read.
pub fn reproduction(out: &Path, command: &str) -> Result<String, Failure> {
    let mut runs = Runs::new();
    for experiment in all() {
        let name = experiment.about.name;
        runs.extend(Run::read(out, name)?.map(|run| (name, run)));
    }
    Ok(page(&exhibits(), &runs, command))
}

fn page(exhibits: &[Exhibit], runs: &Runs, command: &str) -> String {
    let mut text = head(command);
    let rows: Vec<Row> = exhibits.iter().map(|exhibit| Row::of(exhibit, runs)).collect();
    let publications = exhibits.chunk_by(|one, next| one.publication == next.publication);
    let _ = write!(text, "\n## Verdicts\n\n{}", totals(publications.clone(), &rows).markdown());
    let mut rows = rows.iter();
    for publication in publications {
        let name = publication[0].publication;
        let _ = write!(text, "\n## {}\n\n{}\n{TITLES}", authors(name), wrapped("", name));
        for row in rows.by_ref().take(publication.len()) {
            text += &row.line();
        }
    }
    text += "\n## Runs\n";
    for experiment in all() {
        text += &run_text(&experiment, runs.get(experiment.about.name));
    }
    text
}

const TITLES: &str = "| | shows | machine or model | statement of the publication | ours | verdict \
    | what it cannot show |\n|---|---|---|---|---|---|---|\n";

fn head(command: &str) -> String {
    let paragraphs = [
        "# Tables and figures of the publications".to_owned(),
        format!(
            "This page is made by `{command}` from folders of results. Ours is the median of the \
             rounds ± half the distance of their quartiles. A mean of several programs or \
             applications is the geometric one within a round."
        ),
        "## The rule".to_owned(),
    ];
    let mut text = paragraphs.map(|paragraph| wrapped("", &paragraph)).join("\n");
    text.push('\n');
    let whole = [
        "A run of size quick, and one of a program that was built without optimisation, shows \
         **mechanics only**. A run with wrong answers is not judged.",
        "**Needs** something: the machine has not what the statement is about. Our number stands \
         beside it, and is not judged.",
        "The rounds of a simulation differ in their random numbers. Tasks that were recorded for \
         it are the same in all rounds: the noise of the recording is not in the spread.",
    ];
    for line in rule().iter().map(String::as_str).chain(whole) {
        text += &wrapped("- ", line);
    }
    text
}

/// A paragraph or a point of a list, in lines of at most [`COLUMNS`].
fn wrapped(mark: &str, words: &str) -> String {
    let margin = " ".repeat(mark.len());
    let options = Options::new(COLUMNS).word_splitter(WordSplitter::NoHyphenation);
    fill(words, options.initial_indent(mark).subsequent_indent(&margin)) + "\n"
}

/// A table or a figure, and all statements about it.
struct Row<'a> {
    exhibit: &'a Exhibit,
    statements: Vec<Statement<'a>>,
}

/// A statement, and what has become of it.
struct Statement<'a> {
    repeat: &'a Repeat,
    claim: Claim,
    run: Option<&'a Run>,
    judged: Judged,
}

/// A verdict, or why there is none.
#[derive(Debug, Clone, PartialEq)]
enum Judged {
    By(Verdict),
    NotRun,
    MechanicsOnly,
    WrongAnswers,
    Needs(String),
}

impl Judged {
    fn words(&self) -> String {
        match self {
            Self::By(verdict) => verdict.to_string(),
            Self::NotRun => "not run".to_owned(),
            Self::MechanicsOnly => "mechanics only".to_owned(),
            Self::WrongAnswers => "wrong answers".to_owned(),
            Self::Needs(what) => format!("needs {what}"),
        }
    }
}

impl<'a> Row<'a> {
    fn of(exhibit: &'a Exhibit, runs: &'a Runs) -> Self {
        let by = match &exhibit.standing {
            Standing::Repeated { by, .. } => &by[..],
            Standing::Not(_) => &[],
        };
        let statements = by.iter().flat_map(|repeat| {
            let run = runs.get(repeat.experiment);
            claims(repeat, run).into_iter().map(move |claim| {
                let judged = judged(repeat, &claim, run);
                Statement { repeat, claim, run, judged }
            })
        });
        Self { exhibit, statements: statements.collect() }
    }

    /// A line of Markdown.
    fn line(&self) -> String {
        let Exhibit { label, subject, standing, .. } = self.exhibit;
        let cells = match standing {
            Standing::Not(why) => ["-".into(), "-".into(), "-".into(), (*why).into(), "-".into()],
            Standing::Repeated { by, limits } => {
                let names = by.iter().map(|by| format!("[{0}](#{0})", by.experiment));
                let names: Vec<String> = names.collect();
                let limits = format!("{limits} See {}.", names.join(" and "));
                [
                    self.lines(|one| one.place()),
                    self.lines(|one| one.claim.paper()),
                    self.lines(|one| one.claim.ours()),
                    self.lines(|one| one.judged.words()),
                    limits,
                ]
            }
        };
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "/")).collect();
        format!("| {label} | {subject} | {} |\n", cells.join(" | "))
    }

    /// A line for each statement; one line where several in a row say the same.
    fn lines(&self, say: impl Fn(&Statement<'_>) -> String) -> String {
        let all: Vec<String> = self.statements.iter().map(say).collect();
        let letter = |at: usize| char::from(b'a' + at as u8);
        let mut at = 0;
        let equal = all.chunk_by(|one, next| one == next).map(|equal| {
            let (first, last) = (at, at + equal.len() - 1);
            at += equal.len();
            match all.len() {
                1 => equal[0].clone(),
                _ if first == last => format!("{}: {}.", letter(first), equal[0]),
                _ => format!("{} to {}: {}.", letter(first), letter(last), equal[0]),
            }
        });
        equal.collect::<Vec<_>>().join(" <br>")
    }
}

impl Statement<'_> {
    /// The experiment, the machine or the model, and the size.
    fn place(&self) -> String {
        let Repeat { experiment, model, .. } = self.repeat;
        let Some(Run { setting, origin, .. }) = self.run else {
            return match model {
                Some(model) => format!("{experiment}: {model}, simulated"),
                None => (*experiment).to_owned(),
            };
        };
        let machine = match model {
            Some(model) => format!("{model}, simulated"),
            None => format!("{} processors of {}", origin.processors, origin.processor),
        };
        format!("{experiment}: {machine}, size {}", setting.scale)
    }
}

/// The statements of an experiment, worded for a usual machine where there is no run.
fn claims(repeat: &Repeat, run: Option<&Run>) -> Vec<Claim> {
    match run {
        Some(run) => repeat.claims(&run.results, &run.setting),
        None => {
            let setting = Setting::new(Scale::Default, USUAL_PROCESSORS);
            repeat.claims(&Results::default(), &setting)
        }
    }
}

fn judged(repeat: &Repeat, claim: &Claim, run: Option<&Run>) -> Judged {
    let Some(Run { setting, origin, results, .. }) = run else { return Judged::NotRun };
    let missing = repeat.needs.filter(|&need| !meets(need, setting, origin));
    match missing {
        _ if !results.wrong.is_empty() => Judged::WrongAnswers,
        _ if setting.scale == Scale::Quick || !origin.optimised() => Judged::MechanicsOnly,
        Some(need) => Judged::Needs(need.to_string()),
        None => Judged::By(claim.verdict()),
    }
}

/// How many statements of each publication have which verdict.
fn totals<'a>(publications: impl Iterator<Item = &'a [Exhibit]>, rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(
        "verdicts",
        "Statements of each publication; one that several figures share counts for each of them",
    );
    let mut rest = rows;
    for publication in publications {
        let (rows, after) = rest.split_at(publication.len());
        rest = after;
        let all: Vec<&Judged> =
            rows.iter().flat_map(|row| &row.statements).map(|one| &one.judged).collect();
        let count = |is: &dyn Fn(&Judged) -> bool| all.iter().filter(|one| is(one)).count();
        let repeated = rows.iter().filter(|row| !row.statements.is_empty()).count();
        let author = authors(publication[0].publication);
        let head: [(String, Cell); 4] = [
            cell("publication", author),
            cell("tables, figures, listings", rows.len()),
            cell("repeated", repeated),
            cell("statements", all.len()),
        ];
        let verdicts = Verdict::ALL
            .map(|verdict| cell(verdict.to_string(), count(&|one| *one == Judged::By(verdict))));
        let others = [
            cell("needs another machine", count(&|one| matches!(one, Judged::Needs(_)))),
            cell("mechanics only", count(&|one| *one == Judged::MechanicsOnly)),
            cell("wrong answers", count(&|one| *one == Judged::WrongAnswers)),
            cell("not run", count(&|one| *one == Judged::NotRun)),
        ];
        table.row(head.into_iter().chain(verdicts).chain(others));
    }
    table
}

fn authors(publication: &str) -> &str {
    publication.split(", ").next().unwrap_or_default()
}

/// Where and how an experiment was run, and what its run cannot show.
fn run_text(experiment: &Experiment, run: Option<&Run>) -> String {
    let about = &experiment.about;
    let mut text = format!("\n### {}\n\n", about.name);
    let Some(Run { finished, setting, size, origin, results }) = run else {
        return text + &wrapped("", &format!("Not run: {}.", about.title));
    };
    text += &wrapped("", &format!("{}.", capital(about.title)));
    text.push('\n');
    if !finished {
        let runs = results.samples().len();
        text += &wrapped("- ", &format!("**Unfinished**: what {runs} runs have shown."));
    }
    let wrong = results.wrong.iter().map(|wrong| format!("**Wrong**: {wrong}"));
    let left_out = results.left_out.iter().map(|what| format!("left out: {what}"));
    let conditions = conditions(setting, size, origin);
    for line in conditions.into_iter().chain(wrong).chain(left_out) {
        text += &wrapped("- ", &line);
    }
    text += "\nLimits:\n\n";
    for caveat in caveats(about, setting, origin) {
        text += &wrapped("- ", &caveat);
    }
    text
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibit::{Exhibits, Said};
    use crate::experiment::Need;
    use crate::origin::Origin;

    /// A run of this scale with ratios of 2 in three rounds.
    fn run(scale: Scale, optimisation: &str) -> Run {
        let origin = Origin { optimisation: optimisation.to_owned(), ..Origin::for_tests() };
        Run {
            finished: true,
            setting: Setting::new(scale, 2),
            size: scale.to_string(),
            origin,
            results: Results::default(),
        }
    }

    fn table() -> Vec<Exhibit> {
        let mut all = Exhibits::of("Somebody, \"Something\"");
        let twice = |_: &Results, _: &Setting| {
            vec![
                Claim::ratio("a over b", Said::Effect(2.0), vec![2.0; 3]),
                Claim::ratio("a over c", Said::Less, vec![2.0; 3]),
            ]
        };
        all.drawn(&[("Figure 1", "a plan")]);
        all.repeated("Table 1", "speeds", "Little.", [Repeat::new("plastic-metrics", twice)]);
        let far = Repeat::simulated("plastic-access", "two | three", twice).needs(Need::Nodes(2));
        all.repeated("Table 2", "places", "Much.", [far]);
        all.into_all()
    }

    fn row(runs: &Runs, label: &str) -> Vec<String> {
        let text = page(&table(), runs, "command");
        let line = text.lines().find(|line| line.starts_with(&format!("| {label} |"))).unwrap();
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    }

    /// Catches: verdicts in another order than their statements, and an exhibit without a row.
    #[test]
    fn an_exhibit_is_a_row_with_a_line_for_each_statement() {
        let runs = Runs::from([("plastic-metrics", run(Scale::Default, "3"))]);
        assert_eq!(
            row(&runs, "Table 1")[1..],
            [
                "speeds",
                "a to b: plastic-metrics: 2 processors of Abacus, size default.",
                "a: a over b: 2. <br>b: a over c: less than 1.",
                "a to b: 2 ± 0.",
                "a: agrees. <br>b: contrary.",
                "Little. See [plastic-metrics](#plastic-metrics).",
            ]
        );
        assert_eq!(row(&Runs::new(), "Figure 1")[5], "a drawing, nothing to measure");
    }

    /// Catches: a finding of a quick run, of a slow program, of wrong answers, of a machine that
    /// has not what the statement is about, and of no run.
    #[test]
    fn what_a_run_cannot_show_is_not_judged() {
        let verdict = |name, run: Option<Run>, label| {
            let runs = run.map(|run| (name, run)).into_iter().collect();
            row(&runs, label)[5].clone()
        };
        let metrics = |run| verdict("plastic-metrics", run, "Table 1");
        assert_eq!(metrics(Some(run(Scale::Quick, "3"))), "a to b: mechanics only.");
        assert_eq!(metrics(Some(run(Scale::Full, "0"))), "a to b: mechanics only.");
        assert_eq!(metrics(None), "a to b: not run.");
        let mut wrong = run(Scale::Default, "3");
        wrong.results.wrong.push("6 times 9".into());
        assert_eq!(metrics(Some(wrong)), "a to b: wrong answers.");
        let access = verdict("plastic-access", Some(run(Scale::Default, "3")), "Table 2");
        assert_eq!(access, "a to b: needs 2 NUMA nodes.");
    }

    /// Catches: a cell that breaks its table, a line that is too long, and a sum that counts a
    /// statement twice.
    #[test]
    fn the_page_is_a_whole_with_sums() {
        let runs = Runs::from([("plastic-metrics", run(Scale::Default, "3"))]);
        let text = page(&table(), &runs, "command");
        for line in text.lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
        assert!(text.contains("two / three, simulated"), "{text}");
        let sums = text.lines().find(|line| line.starts_with("| Somebody")).unwrap();
        let sums: Vec<usize> =
            sums.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(sums[..3], [3, 2, 4]);
        assert_eq!(sums[3..].iter().sum::<usize>(), 4, "{sums:?}");
    }
}
