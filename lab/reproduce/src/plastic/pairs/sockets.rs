//! Figure 2.1: two programs on one socket, against the same on sockets of their own, with as many
//! cores in both cases.

use sinew_policy::share::Layout;

use super::view::View;
use super::{Kind, Mode, groups, name};
use crate::plastic::common::{BEYOND, judged};
use crate::report::{Table, cell};
use crate::statistics::{median, standard_deviation};

/// The CPUs of two programs: one for each core, on the first socket, or the second program's on the
/// second. `None` on a machine whose sockets have too few cores, or that has one socket.
pub(super) fn places(layout: &Layout, mode: Mode) -> Option<[Vec<usize>; 2]> {
    let mut packages: Vec<usize> = layout.places().iter().map(|place| place.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let [first, second] = [*packages.first()?, *packages.get(1)?].map(|it| cores(layout, it));
    let each = (first.len() / 2).min(second.len());
    let beside = if mode == Mode::OneSocket { &first[each..2 * each] } else { &second[..each] };
    (each > 0).then(|| [first[..each].to_vec(), beside.to_vec()])
}

/// A CPU of each core of a socket.
fn cores(layout: &Layout, package: usize) -> Vec<usize> {
    let mut seen = Vec::new();
    let mut is_new = |core: usize| {
        let is_new = !seen.contains(&core);
        seen.push(core);
        is_new
    };
    let inside = layout.places().iter().filter(|place| place.package == package);
    inside.filter(|place| is_new(place.core)).map(|place| place.cpu).collect()
}

impl View<'_> {
    /// The speed of a program of the pair on one socket, over that on its own, in each round.
    fn sharing(&self, kind: Kind, group: &[Kind]) -> Vec<f64> {
        let programs = name(group);
        let [one, own] = [Mode::OneSocket, Mode::OwnSockets]
            .map(|mode| [("programs", programs.as_str()), ("mode", mode.name())]);
        self.results.ratios(&one, &own, kind.speed)
    }

    /// A row for each program of each pair, with the figure's sign; empty if the machine has one
    /// socket.
    pub(super) fn sockets(&self) -> Table {
        let title = "Speed on one socket over that on sockets of their own (Figure 2.1)";
        let mut table = Table::new("sockets", title);
        for group in groups().into_iter().filter(|group| group.len() == 2) {
            let (a, b) = (group[0], group[1]);
            let both = if a == b { vec![(a, b)] } else { vec![(a, b), (b, a)] };
            for (kind, beside) in both {
                let speed_ups = self.sharing(kind, &group);
                if speed_ups.is_empty() {
                    continue;
                }
                table.row([
                    cell("program", kind.name),
                    cell("beside", beside.name),
                    cell("one socket / own sockets", median(&speed_ups)),
                    cell("standard deviation", standard_deviation(&speed_ups)),
                    cell("figure's sign", sign(&speed_ups)),
                ]);
            }
        }
        table
    }
}

/// `+` for a gain, `-` for a loss, and no sign where the noise covers it.
pub(super) fn sign(speed_ups: &[f64]) -> Option<&'static str> {
    let differences: Vec<f64> = speed_ups.iter().map(|speed_up| speed_up - 1.0).collect();
    match judged(&differences) {
        Some(BEYOND) if median(&differences) > Some(0.0) => Some("+"),
        Some(BEYOND) => Some("-"),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::BENCH;
    use super::*;
    use crate::results::{Results, Sample};
    use sinew_policy::share::Place;

    /// Catches: programs that have more cores in one case than in the other, two on one core, and
    /// a pair that is apart and shares a socket.
    #[test]
    fn both_programs_have_as_many_cores_on_one_socket_as_apart() {
        // Two CPUs a core; the sockets' numbers alternate.
        let place = |cpu: usize| Place { cpu, core: cpu % 8, cache: cpu % 2, package: cpu % 2 };
        let layout = Layout::new((0..16).map(place));
        let on = |mode| places(&layout, mode);
        assert_eq!(on(Mode::OneSocket), Some([vec![0, 2], vec![4, 6]]));
        assert_eq!(on(Mode::OwnSockets), Some([vec![0, 2], vec![1, 3]]));
        assert_eq!(places(&Layout::flat(8), Mode::OneSocket), None);
        let one = Layout::new((0..2).map(|cpu| Place { cpu, core: cpu, cache: cpu, package: cpu }));
        assert_eq!(places(&one, Mode::OwnSockets), None);
    }

    /// Catches: a gain that is shown as a loss, another program's speed, and noise with a sign.
    #[test]
    fn a_pair_that_gains_from_one_socket_has_a_plus() {
        let group = groups().into_iter().find(|group| group[0] != group[1]).unwrap();
        let round = |mode: Mode, speeds: [f64; 2]| {
            let metrics = vec![(group[0].speed, speeds[0]), (group[1].speed, speeds[1])];
            (BENCH.labels(&name(&group), mode.name()), metrics)
        };
        let mut results = Results::default();
        for (at, factor) in [1.0, 1.1, 0.9].into_iter().enumerate() {
            let one = round(Mode::OneSocket, [30.0, 8.0 * factor]);
            for (labels, metrics) in [one, round(Mode::OwnSockets, [25.0, 8.0])] {
                results.push(Sample { round: at, labels, metrics });
            }
        }
        let view = View { results: &results };
        let table = view.sockets();
        let shown = |a: usize, b: usize| table.shown(&[group[a].name, group[b].name])[2..].to_vec();
        assert_eq!(shown(0, 1), ["1.20", "0", "+"]);
        assert_eq!(shown(1, 0), ["1", "0.10", "within the noise"]);
    }
}
