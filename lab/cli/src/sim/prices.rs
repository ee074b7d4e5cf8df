//! Costs on the command line: their names, and the kinds to which they apply.

use sinew_console::Failure;
use sinew_sim::domains::Domains;
use sinew_sim::programs::Cluster;
use sinew_sim::worklist::Worklist;
use sinew_sim::{Costs, Duration};

use super::kind::Kind;

/// The value of a cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Price {
    /// A duration.
    Takes(Duration),
    /// An upper limit, or none.
    Most(Option<usize>),
    /// The readers of a memory, or any number.
    Readers(Option<f64>),
    /// The entries of one of [`Costs::LISTS`], already checked.
    List(Vec<String>),
}

/// A cost and its name.
pub(crate) type Named = (String, Price);

/// Names of the slow-down of work far from its data, which is one of [`Costs::LISTS`], and of the
/// bound of pending tasks.
const FAR: &str = "far";
const BOUND: &str = "bound";
/// The tasks that a memory serves at full speed.
const READERS: &str = "readers";
/// An empty list, or no bound.
const NONE: &str = "none";
const BY_DISTANCE: [&str; 3] = ["factors", "refill", FAR];
const LOOPS: [&str; 2] = ["attempt", "steal"];
const OF_DOMAINS: [&str; 5] = ["spawn", "take", FAR, READERS, BOUND];

/// Parses a cost with its name, such as `steal=exp:400`.
pub(crate) fn price(text: &str) -> Result<Named, String> {
    let (name, value) =
        text.split_once('=').ok_or("write NAME=VALUE, for example steal=exp:400")?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    if !Kind::ALL.iter().any(|kind| names(*kind).contains(&name.as_str())) {
        let known = names(Kind::Tasks).join(", ");
        return Err(format!("unknown cost `{name}`; expected one of: {known}"));
    }
    let price = match name.as_str() {
        list if Costs::LISTS.contains(&list) => Price::List(list_of(list, value)?),
        BOUND => Price::Most(bound(value)?),
        READERS => Price::Readers(readers(value)?),
        _ => Price::Takes(
            value.parse().map_err(|error: sinew_sim::DurationError| error.to_string())?,
        ),
    };
    Ok((name, price))
}

/// The entries of one of [`Costs::LISTS`], which are checked here.
fn list_of(name: &str, text: &str) -> Result<Vec<String>, String> {
    let entries = if text == NONE { Vec::new() } else { entries(text) };
    Costs::usual().set_list(name, &entries)?;
    Ok(entries.into_iter().map(str::to_owned).collect())
}

/// Splits at commas, apart from those within `uniform:10,20` and `pareto:10,1.5`.
fn entries(text: &str) -> Vec<&str> {
    let (mut entries, mut begin) = (Vec::new(), 0);
    for (comma, _) in text.match_indices(',') {
        let entry = text[begin..comma].trim();
        let takes_two = ["uniform:", "pareto:"].iter().any(|name| entry.starts_with(name));
        if !takes_two || entry.contains(',') {
            entries.push(entry);
            begin = comma + 1;
        }
    }
    entries.push(text[begin..].trim());
    entries
}

fn bound(text: &str) -> Result<Option<usize>, String> {
    match (text, text.parse()) {
        (NONE, _) => Ok(None),
        (_, Ok(most)) if most > 0 => Ok(Some(most)),
        _ => Err(format!("`{text}` is neither none nor a number of tasks from 1 on")),
    }
}

fn readers(text: &str) -> Result<Option<f64>, String> {
    match (text, text.parse()) {
        (NONE, _) => Ok(None),
        (_, Ok(readers)) if (0.01..=1e6).contains(&readers) => Ok(Some(readers)),
        _ => Err(format!("`{text}` is neither none nor a number of readers from 0.01 to 1000000")),
    }
}

/// The names of the costs of this kind.
fn names(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Tasks | Kind::Graph => [Costs::NAMES, &Costs::LISTS].concat(),
        // Its lists are measured, or have no effect on two workers.
        Kind::Validate => Costs::NAMES.to_vec(),
        Kind::Loop => LOOPS.to_vec(),
        Kind::Worklist => Worklist::NAMES.to_vec(),
        Kind::Domains => OF_DOMAINS.to_vec(),
        Kind::Programs => Cluster::NAMES.to_vec(),
        Kind::Ranks | Kind::Sampling | Kind::Calibrate => Vec::new(),
    }
}

/// # Errors
///
/// A cost that does not exist in this kind.
pub(super) fn check(prices: &[Named], kind: Kind) -> Result<(), Failure> {
    let known = names(kind);
    let Some((name, _)) = prices.iter().find(|(name, _)| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    Err(Failure::Usage(match known.is_empty() {
        true => format!("`{name}` has no cost of its own in {kind}: leave --cost out"),
        false => format!("unknown cost `{name}` for {kind}; expected one of: {}", known.join(", ")),
    }))
}

/// The first list by distance, which has no effect if all workers are equally far apart.
pub(super) fn by_distance(prices: &[Named]) -> Option<&str> {
    let mut names = prices.iter().map(|(name, _)| name.as_str());
    names.find(|name| BY_DISTANCE.contains(name))
}

/// All costs that are durations.
fn durations(prices: &[Named]) -> impl Iterator<Item = (&str, Duration)> {
    prices.iter().filter_map(|(name, price)| match price {
        Price::Takes(time) => Some((name.as_str(), *time)),
        Price::Most(_) | Price::Readers(_) | Price::List(_) => None,
    })
}

pub(super) fn set_costs(prices: &[Named], costs: &mut Costs) {
    for (name, time) in durations(prices) {
        costs.set(name, time);
    }
    for (name, price) in prices {
        if let Price::List(entries) = price {
            let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
            // Checked when it was parsed.
            let _ = costs.set_list(name, &entries);
        }
    }
}

pub(super) fn set_worklist(prices: &[Named], list: &mut Worklist) {
    for (name, time) in durations(prices) {
        list.set(name, time);
    }
}

/// # Errors
///
/// A duration that varies.
pub(super) fn set_cluster(prices: &[Named], cluster: &mut Cluster) -> Result<(), Failure> {
    for (name, time) in durations(prices) {
        let Duration::Fixed(time) = time else {
            return Err(Failure::Usage(format!(
                "`{name}={time}` is no fixed time: write nanoseconds"
            )));
        };
        cluster.set(name, time);
    }
    Ok(())
}

pub(super) fn set_domains(prices: &[Named], domains: &mut Domains) {
    for (name, price) in prices {
        match price {
            Price::Takes(time) => {
                domains.set(name, *time);
            }
            Price::Most(most) => domains.most_pending = *most,
            Price::Readers(readers) => domains.readers = *readers,
            Price::List(factors) if name == FAR => {
                // Checked when it was parsed.
                domains.far = factors.iter().filter_map(|factor| factor.parse().ok()).collect();
            }
            // For trees of tasks only.
            Price::List(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a cost that cannot be set, or is parsed as another kind of value.
    #[test]
    fn every_cost_can_be_written_zero_included() {
        for kind in Kind::ALL {
            for name in names(kind) {
                let value = match name {
                    list if Costs::LISTS.contains(&list) => "1, 2.5",
                    BOUND => "none",
                    READERS => "1.5",
                    _ => "0",
                };
                let (read, price) = price(&format!("{name}={value}")).expect(name);
                let expected = match name {
                    list if Costs::LISTS.contains(&list) => {
                        Price::List(vec!["1".into(), "2.5".into()])
                    }
                    BOUND => Price::Most(None),
                    READERS => Price::Readers(Some(1.5)),
                    _ => Price::Takes(Duration::ZERO),
                };
                assert_eq!((read.as_str(), price), (name, expected));
            }
        }
        assert_eq!(price("bound=7"), Ok((BOUND.to_owned(), Price::Most(Some(7)))));
    }

    /// Catches: an entry that is split at its own comma, or two entries parsed as one.
    #[test]
    fn lists_are_parted_by_commas_that_are_none_of_an_entry() {
        let list = |text: &str| match price(text) {
            Ok((_, Price::List(entries))) => entries,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            list("refill=0,uniform:10,20, exp:5,pareto:3,1.5"),
            ["0", "uniform:10,20", "exp:5", "pareto:3,1.5"]
        );
        assert_eq!(list("contention=none"), Vec::<String>::new());
        let mut costs = Costs::usual();
        let prices = ["factors=3", "refill=7"].map(|text| price(text).expect(text));
        set_costs(&prices, &mut costs);
        assert_eq!((costs.factors, costs.refill), (vec![3.0], vec![Duration::ns(7)]));
        let mut domains = Domains::new("core:2".parse().expect("a machine"), 1);
        set_domains(&[price("far=1.5,3").expect("far")], &mut domains);
        assert_eq!(domains.far, [1.5, 3.0]);
    }

    /// Catches: a value that is parsed as another one, or an error that does not name it.
    #[test]
    fn what_is_no_cost_is_refused_by_the_value() {
        for (text, says) in [
            ("steal", "NAME=VALUE"),
            ("coffee=3", "`coffee`"),
            ("steal=-3", "-3"),
            ("far=0.5", "`0.5`"),
            ("far=2,x", "`x`"),
            ("bound=0", "`0`"),
            ("readers=0", "`0`"),
            ("contention=1.5,0.9", "`0.9`"),
            ("contention=", "``"),
            ("factors=1,-2", "`-2`"),
            ("refill=5,soon", "`soon`"),
            ("refill=uniform:5", "`uniform:5`"),
        ] {
            let error = price(text).expect_err(text);
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
    }
}
