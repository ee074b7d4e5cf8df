//! All tables and figures of the publication, and the statements that our results are held
//! against.

use super::simulated::WAYS;
use super::{PUBLICATION, figures, simulated, table1};
use crate::exhibit::{Claim, Exhibit, Exhibits, Repeat, Said, over};
use crate::experiment::Need;
use crate::paper::queues::{TABLE_1, find};
use crate::results::{Labels, Results, all_of};
use crate::setting::Setting;

/// The publication's values stand in pictures.
const PICTURE: &str = "The values stand in a picture only; held against are the words about it.";

/// All tables and figures, in the publication's order.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    let mut all = Exhibits::of(PUBLICATION);
    all.repeated(
        "Figure 1",
        "speed of loops over the sockets: static, dynamic, all pages in one domain",
        PICTURE,
        [Repeat::new("jacobi-figures", speeds).needs(Need::Nodes(2))],
    );
    all.repeated(
        "Figure 2",
        "parallel efficiency of the same loops",
        PICTURE,
        [Repeat::new("jacobi-figures", efficiencies).needs(Need::Nodes(2))],
    );
    all.repeated(
        "Table 1",
        "speed of plain tasks and of locality queues, by order and placement",
        "The speeds are those of another machine; ratios compare them within one.",
        [
            Repeat::simulated("jacobi-machine", "four Opterons", simulated_table),
            Repeat::new("jacobi-table1", gains_of_queues).needs(Need::Nodes(2)),
        ],
    );
    all.into_all()
}

/// The ways of the figures.
const STATIC: &str = "static";
const DYNAMIC: &str = "dynamic";
const ONE_NODE: &str = "static, one node";

fn speeds(results: &Results, setting: &Setting) -> Vec<Claim> {
    let most = setting.most_workers();
    let of_static = |way: &str| {
        let [way, base] = [way, STATIC].map(|way| figures::labels(way, most));
        over(results, &way, &base, "mlups")
    };
    let what = |way: &str| format!("speed of {way} over the static loop, {most} workers");
    vec![
        Claim::ratio(what("the dynamic loop"), Said::Less, of_static(DYNAMIC)),
        Claim::ratio(what("all pages in one domain"), Said::Less, of_static(ONE_NODE)),
    ]
}

fn efficiencies(results: &Results, setting: &Setting) -> Vec<Claim> {
    let most = setting.most_workers();
    let lost = |way: &str, words: &'static str| {
        let [all, alone] = [most, 1].map(|workers| figures::labels(way, workers));
        let speed_ups = over(results, &all, &alone, "mlups").into_iter();
        let shares = speed_ups.map(|speed_up| speed_up / most as f64).collect();
        let what = format!("speed-up a worker, {way}, {most} workers");
        Claim::ratio(what, Said::Words(words), shares)
    };
    vec![
        lost(STATIC, "nearly as on one memory"),
        lost(DYNAMIC, "catastrophic"),
        lost(ONE_NODE, "serialized"),
    ]
}

/// The gains of queues over plain tasks.
fn gains(results: &Results, labels: fn(&str, &str, &str) -> Labels) -> Vec<Claim> {
    let [plain, queues] = WAYS.map(|(way, _)| way);
    let pairs = [("static", "kji"), ("static", "jki"), ("static,1", "kji"), ("static,1", "jki")];
    let claim = |(placement, order)| {
        let published = find(order, placement, true).zip(find(order, placement, false))?;
        let [of, to] = [queues, plain].map(|way| labels(placement, order, way));
        Some(Claim::ratio(
            format!("queues over plain tasks, {placement}, {order}"),
            Said::Effect(published.0.mlups / published.1.mlups),
            over(results, &of, &to, "mlups"),
        ))
    };
    pairs.into_iter().filter_map(claim).collect()
}

fn gains_of_queues(results: &Results, _: &Setting) -> Vec<Claim> {
    gains(results, table1::labels)
}

fn simulated_table(results: &Results, _: &Setting) -> Vec<Claim> {
    let entries = TABLE_1.iter().map(|entry| {
        let way = WAYS[usize::from(entry.queues)].0;
        let labels = simulated::labels(entry.placement, entry.order, way);
        let ours = results.values(&all_of(&labels), "mlups");
        let what = format!("{way}, {}, {}", entry.placement, entry.order);
        Claim::plain(what, "MLUP/s", Said::Value(entry.mlups), ours)
    });
    entries.chain(gains(results, simulated::labels)).collect()
}
