//! The report about programs that run beside each other.

use super::{ALONE, Group, Kind, Mode, groups, name};
use crate::report::{Form, Plot, Series, Table, cell};
use crate::results::Results;

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

    fn slowdown(&self, kind: Kind, group: &[Kind], mode: Mode) -> Option<f64> {
        let programs = name(group);
        let beside = [("programs", programs.as_str()), ("mode", mode.name())];
        self.results.ratio(&[("programs", kind.name), ("mode", ALONE)], &beside, kind.speed)
    }

    /// The sum of all speeds, each relative to the program alone.
    pub(super) fn together(&self, group: &[Kind], mode: Mode) -> Option<f64> {
        group.iter().map(|&kind| Some(1.0 / self.slowdown(kind, group, mode)?)).sum()
    }

    pub(super) fn worst(&self, group: &[Kind], mode: Mode) -> Option<f64> {
        let mut slowdowns = group.iter().map(|&kind| self.slowdown(kind, group, mode));
        slowdowns.try_fold(0.0_f64, |worst, slowdown| Some(worst.max(slowdown?)))
    }

    fn table(
        &self,
        file: &str,
        title: &str,
        first: &[&str],
        rows: Vec<(Vec<String>, Vec<Option<f64>>)>,
    ) -> Table {
        let modes = self.modes();
        let mut table = Table::new(file, title);
        for (names, values) in rows {
            let ratio = values[0].zip(values[1]).map(|(anarchy, shared)| shared / anarchy);
            let names = first.iter().zip(names).map(|(title, name)| cell(*title, name));
            let values = modes.iter().zip(values).map(|(mode, value)| cell(mode.name(), value));
            table.row(names.chain(values).chain([cell("shared / anarchy", ratio)]));
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
        value: fn(&Self, &[Kind], Mode) -> Option<f64>,
    ) -> Plot {
        let groups = groups();
        let names = groups.iter().map(|group| name(group)).collect();
        let plot =
            Plot::new(file, title, Form::Bars).axes("", "times that alone").over(names).ratios();
        self.modes().into_iter().fold(plot, |plot, mode| {
            plot.with(Series::new(
                mode.name(),
                groups.iter().map(|group| value(self, group, mode)).collect(),
            ))
        })
    }
}
