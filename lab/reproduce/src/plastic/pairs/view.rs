//! The report about programs that run beside each other.

use super::{ALONE, Group, Kind, Mode, groups, name};
use crate::plastic::common::{ratio, series};
use crate::report::{Form, Plot, Table, cell};
use crate::results::Results;
use crate::statistics::{median, standard_deviation};

/// The measurements so far, as tables and plots.
pub(super) struct View<'a> {
    pub(super) results: &'a Results,
}

impl View<'_> {
    /// Those that have been measured, in the order of their names above.
    fn modes(&self) -> Vec<Mode> {
        let measured = |mode: &Mode| {
            let labels = self.results.samples().iter().flat_map(|sample| &sample.labels);
            labels.into_iter().any(|(name, value)| *name == "mode" && value == mode.name())
        };
        Mode::all(2)
            .into_iter()
            .filter(|mode| *mode != Mode::Contention || measured(mode))
            .collect()
    }

    /// In each round.
    fn slowdown(&self, kind: Kind, group: &[Kind], mode: Mode) -> Vec<f64> {
        let programs = name(group);
        let beside = [("programs", programs.as_str()), ("mode", mode.name())];
        self.results.ratios(&[("programs", kind.name), ("mode", ALONE)], &beside, kind.speed)
    }

    /// The slowdowns of all programs of a group, in each round.
    fn all(&self, group: &[Kind], mode: Mode) -> Vec<Vec<f64>> {
        let each: Vec<Vec<f64>> =
            group.iter().map(|&kind| self.slowdown(kind, group, mode)).collect();
        let rounds = each.iter().map(Vec::len).min().unwrap_or(0);
        (0..rounds).map(|round| each.iter().map(|kind| kind[round]).collect()).collect()
    }

    /// The sum of all speeds, each relative to the program alone, in each round.
    pub(super) fn together(&self, group: &[Kind], mode: Mode) -> Vec<f64> {
        let sum = |slowdowns: Vec<f64>| slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum();
        self.all(group, mode).into_iter().map(sum).collect()
    }

    /// The largest slowdown of a group, in each round.
    pub(super) fn worst(&self, group: &[Kind], mode: Mode) -> Vec<f64> {
        self.all(group, mode).into_iter().map(|all| all.into_iter().fold(0.0, f64::max)).collect()
    }

    fn table(
        &self,
        file: &str,
        title: &str,
        first: &[&str],
        rows: Vec<(Vec<String>, Vec<Vec<f64>>)>,
    ) -> Table {
        let modes = self.modes();
        let mut table = Table::new(file, title);
        for (names, values) in rows {
            let ratios: Vec<f64> = values[0]
                .iter()
                .zip(&values[1])
                .map(|(anarchy, shared)| shared / anarchy)
                .collect();
            let names = first.iter().zip(names).map(|(title, name)| cell(*title, name));
            let values = modes.iter().zip(values).flat_map(|(mode, rounds)| {
                let deviation = standard_deviation(&rounds);
                [cell(mode.name(), median(&rounds)), cell("standard deviation", deviation)]
            });
            table.row(names.chain(values).chain(ratio("shared / anarchy", &ratios)));
        }
        table
    }

    pub(super) fn slowdowns(&self) -> Table {
        let row = |group: &Group, at: usize| {
            let others = group.iter().enumerate().filter(|(other, _)| *other != at);
            let beside: Vec<&str> = others.map(|(_, kind)| kind.name).collect();
            let values = self.modes().into_iter().map(|mode| self.slowdown(group[at], group, mode));
            (vec![group[at].name.to_owned(), beside.join(", ")], values.collect())
        };
        // A kind beside itself is one row.
        let places = |group: &Group| if group[0] == group[1] { 1 } else { group.len() };
        let rows = groups().into_iter().flat_map(|group| {
            (0..places(&group)).map(move |at| row(&group, at)).collect::<Vec<_>>()
        });
        self.table(
            "slowdowns",
            "Slowdown of a program beside others",
            &["program", "beside"],
            rows.collect(),
        )
    }

    pub(super) fn sums(&self) -> Table {
        let row = |group: Group| {
            let values = self.modes().into_iter().map(|mode| self.together(&group, mode));
            (vec![name(&group)], values.collect())
        };
        self.table(
            "together",
            "All speeds together",
            &["programs"],
            groups().into_iter().map(row).collect(),
        )
    }

    pub(super) fn plot(
        &self,
        file: &str,
        title: &str,
        value: fn(&Self, &[Kind], Mode) -> Vec<f64>,
    ) -> Plot {
        let groups = groups();
        let names = groups.iter().map(|group| name(group)).collect();
        let plot =
            Plot::new(file, title, Form::Bars).axes("", "times that alone").over(names).ratios();
        self.modes().into_iter().fold(plot, |plot, mode| {
            let rounds: Vec<_> = groups.iter().map(|group| value(self, group, mode)).collect();
            plot.with(series(mode.name(), &rounds))
        })
    }
}
