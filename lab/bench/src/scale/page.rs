//! The page: what was wanted and what came out, then curves, then all figures. The file needs no
//! other one.

use super::results::{Cell, Measured, Results, ratio};
use super::subject::Group;
use crate::statistics::Summary;
use crate::table::{duration_of, or_dash};
use sinew_reproduce::report::{Form, Plot, Series, svg};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:72rem;margin:2rem auto}\
    body{padding:0 1rem}table{border-collapse:collapse;margin:.6rem 0}\
    td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}\
    td:first-child,th:first-child{text-align:left}\
    .met{color:#070}.missed{color:#b00}.none{color:#777}svg{max-width:100%;height:auto}\
    @media (prefers-color-scheme:dark){body{background:#16181c;color:#e4e4e4}\
    td,th{border-color:#3a3d42}.met{color:#6c6}.missed{color:#f77}}";

/// The whole page.
pub(super) fn html(run: &Results) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
    page += "<meta charset=\"utf-8\"/>\n<title>Sinew on many threads</title>\n";
    let _ = writeln!(page, "<style>{STYLE}</style>\n</head>\n<body>");
    page += "<h1>Sinew on many threads</h1>\n";
    head(run, &mut page);
    bars(run, &mut page);
    for group in Group::ALL {
        let is_in = |one: &&Measured| one.group == group.name() && one.rounds > 0;
        let subjects: Vec<&Measured> = run.subjects.iter().filter(is_in).collect();
        if subjects.is_empty() {
            continue;
        }
        let _ = writeln!(page, "<h2>{}</h2>", escaped(group.name()));
        match group {
            Group::Programs => programs(run, &subjects, &mut page),
            _ => subjects.iter().for_each(|one| subject(run, group, one, &mut page)),
        }
    }
    page += "</body>\n</html>\n";
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn paragraph(page: &mut String, text: &str) {
    let _ = writeln!(page, "<p>{}</p>", escaped(text));
}

/// The machine, the run, and what is missing.
fn head(run: &Results, page: &mut String) {
    page.push_str("<p>");
    page.push_str(&run.machine.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br/>"));
    page.push_str("</p>\n");
    let end = if run.is_complete { "" } else { "; the run has not come to its end" };
    paragraph(page, &format!("{:.0} of {:.0} s{end}", run.elapsed_s, run.budget_s));
    for line in run.left_out.iter().chain(&run.wrong()) {
        paragraph(page, line);
    }
}

fn table(page: &mut String, titles: &[String], rows: &[Vec<String>]) {
    let line = |tag: &str, cells: &[String]| {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(|row| line("td", row)).collect();
    let _ = writeln!(page, "<table>\n{}{rows}</table>", line("th", titles));
}

fn bars(run: &Results, page: &mut String) {
    page.push_str("<h2>What is wanted</h2>\n<table>\n<tr><th>figure</th><th>bound</th>");
    page.push_str("<th>on 16 threads (middle half)</th><th></th><th>on all threads</th></tr>\n");
    for bar in &run.bars {
        let class = if bar.measured.is_some() { bar.verdict } else { "none" };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{} {}</td><td>{}</td><td class=\"{class}\">{}</td><td>{}</td></tr>",
            escaped(bar.what),
            bar.bound,
            bar.limit,
            or_dash(bar.measured, figure),
            bar.verdict,
            or_dash(bar.on_all, figure),
        );
    }
    page.push_str("</table>\n");
}

fn figure(summary: Summary) -> String {
    let Summary { lower, median, upper } = summary;
    format!("{median:.2} ({lower:.2} to {upper:.2})")
}

/// The speed-up of a cell over its subject's baseline.
fn speed_up(one: &Measured, cell: &Cell) -> Option<Summary> {
    ratio(one.baseline()?, cell)
}

fn subject(run: &Results, group: Group, one: &Measured, page: &mut String) {
    let rounds = if one.rounds == 1 { "round" } else { "rounds" };
    let _ = writeln!(page, "<h3>{}, {} {rounds}</h3>", escaped(&one.name), one.rounds);
    if group.has_curves() && run.threads.len() > 1 {
        let plot = curves(run, one);
        if !plot.is_empty() {
            let _ = writeln!(page, "<div>{}</div>", svg(&plot));
        }
    }
    let mut titles = vec!["contender".to_owned(), "threads".to_owned(), "median".to_owned()];
    titles.extend([format!("per {}", one.unit), "middle half".to_owned()]);
    if group.has_curves() {
        titles.push("speed-up (middle half)".to_owned());
    }
    let rows: Vec<Vec<String>> =
        one.cells.iter().map(|cell| row(one, cell, group.has_curves())).collect();
    table(page, &titles, &rows);
}

fn row(one: &Measured, cell: &Cell, has_curves: bool) -> Vec<String> {
    let mut row = vec![cell.contender.to_owned(), cell.threads.to_string()];
    if let Some(fault) = &cell.fault {
        row.push(fault.clone());
        return row;
    }
    let each = one.per_operation(cell);
    row.push(or_dash(cell.median_ns(), duration_of));
    row.push(or_dash(each, |each| duration_of(each.median)));
    row.push(or_dash(each, |each| format!("{:.0} %", each.spread() * 100.0)));
    if has_curves {
        row.push(or_dash(speed_up(one, cell), figure));
    }
    row
}

/// Speed-ups over the numbers of threads, a line for each contender.
fn curves(run: &Results, one: &Measured) -> Plot {
    let categories = run.threads.iter().map(ToString::to_string).collect();
    let title = format!("{}: speed-up over {}", one.name, baseline_name(one));
    let plot = Plot::new("curves", title, Form::Lines).axes("threads", "speed-up").over(categories);
    let has_curve = |name: &str| one.cells.iter().filter(|cell| cell.contender == name).count() > 1;
    let series = |name: &str| {
        let at = |threads: &usize| Some(speed_up(one, one.find(name, *threads)?)?.median);
        Series::new(name, run.threads.iter().map(at).collect())
    };
    let names = one.contenders().into_iter().filter(|name| has_curve(name));
    names.fold(plot, |plot, name| plot.with(series(name)))
}

fn baseline_name(one: &Measured) -> String {
    one.baseline().map_or_else(String::new, |cell| match cell.contender {
        "serial" => "serial".to_owned(),
        name => format!("{name} on one thread"),
    })
}

/// A row for each program: times of Sinew's core relative to upstream's.
fn programs(run: &Results, subjects: &[&Measured], page: &mut String) {
    paragraph(page, "Time on Sinew's rayon-core divided by that on upstream's (middle half).");
    let mut titles = vec!["program".to_owned(), "rounds".to_owned()];
    titles.extend(run.threads.iter().map(|threads| format!("{threads} threads")));
    let row = |one: &&Measured| {
        let at = |threads: &usize| {
            let cells = one.find("sinew", *threads).zip(one.find("upstream", *threads));
            or_dash(cells.and_then(|(ours, theirs)| ratio(ours, theirs)), figure)
        };
        let mut row = vec![one.name.clone(), one.rounds.to_string()];
        row.extend(run.threads.iter().map(at));
        row
    };
    table(page, &titles, &subjects.iter().map(row).collect::<Vec<_>>());
    let faults = subjects.iter().flat_map(|one| one.cells.iter().map(move |cell| (one, cell)));
    for (one, cell) in faults {
        if let Some(fault) = &cell.fault {
            let Cell { contender, threads, .. } = cell;
            paragraph(page, &format!("{}, {contender}, {threads} threads: {fault}", one.name));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a page that a browser shows badly.
    use super::super::bars::verdicts;
    use super::super::results::tests::run;
    use super::*;

    /// The names of the elements that are open at the end.
    fn open_elements(page: &str) -> Vec<&str> {
        let mut open = Vec::new();
        for piece in page.split('<').skip(1) {
            let (tag, _) = piece.split_once('>').expect("a tag ends");
            let name = tag.split([' ', '/', '\n']).find(|word| !word.is_empty()).unwrap();
            match tag {
                _ if tag.starts_with('!') || tag.ends_with('/') => (),
                _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "</{name}>"),
                _ => open.push(name),
            }
        }
        open
    }

    /// Catches: an element that is not closed, and text that is read as one.
    #[test]
    fn the_page_is_well_formed_whatever_the_names_are() {
        let mut run = run("a <b> & \"c\"", "sinew", [1.1, 0.1]);
        run.bars = verdicts(&run);
        run.left_out.push("tbb: <none>".to_owned());
        run.subjects[0].cells[1].fault = Some("WRONG ANSWER: 1 < 2".to_owned());
        for group in Group::ALL {
            run.subjects[0].group = group.name();
            let page = html(&run);
            assert_eq!(open_elements(&page), Vec::<&str>::new(), "{page}");
            assert!(page.contains("a &lt;b&gt; &amp; &quot;c&quot;"), "{page}");
            assert!(page.contains("1 &lt; 2") && page.contains("tbb: &lt;none&gt;"), "{page}");
            assert_eq!(page.contains("<svg"), group.has_curves() && group != Group::Programs);
        }
        assert_eq!(open_elements("<p><b></b>"), ["p"]);
    }

    /// Catches: a verdict without its figure, or of another number of threads.
    #[test]
    fn the_summary_says_met_missed_or_not_measured() {
        let mut run = run("uts T3", "sinew", [1.0, 0.1]);
        run.bars = verdicts(&run);
        let page = html(&run);
        assert!(page.contains("<td>10.00 (10.00 to 10.00)</td><td class=\"missed\">missed</td>"));
        assert!(page.contains("<td class=\"none\">not measured</td>"));
        assert!(page.find("What is wanted").unwrap() < page.find("<svg").unwrap_or(usize::MAX));
    }
}
