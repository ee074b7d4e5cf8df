//! Options that do not apply to the kind of simulation: a note says that they change nothing, and
//! their values are checked nevertheless.

use sinew_console::Failure;

use super::args::{Given, GivenOption, SimArgs};
use super::kind::Kind;
use super::{prices, programs, setup};

/// # Errors
///
/// An invalid value, whether or not it would be used, or a cost that does not exist in this kind.
pub(super) fn check(args: &SimArgs, kind: Kind) -> Result<(), Failure> {
    setup::machine(args)?;
    setup::costs(args)?;
    programs::script(args)?;
    if args.mix.is_some() && kind != Kind::Programs {
        programs::mix_of_file(args, 1)?;
    }
    prices::check(&args.costs, kind)
}

/// Options without effect, a line each.
pub(super) fn useless(given: &Given, kind: Kind) -> Vec<String> {
    let args = &given.args;
    let is_useless =
        |option: &&GivenOption| option.scope.is_some_and(|scope| !scope.kinds.contains(&kind));
    let useless = given.options.iter().filter(is_useless);
    let mut lines: Vec<String> =
        useless.map(|option| format!("{} changes nothing in {kind}", option.name)).collect();
    let counts_workers = matches!(kind, Kind::Loop | Kind::Worklist);
    if counts_workers && args.machine.is_some() && !args.workers.is_empty() {
        lines.push(format!(
            "--machine says only how many workers there are in {kind}, and --workers says it \
             already"
        ));
    }
    if matches!(kind, Kind::Tasks | Kind::Graph)
        && args.machine.is_none()
        && let Some(list) = prices::by_distance(&args.costs)
    {
        lines.push(format!(
            "--cost {list} changes nothing without --machine: all workers are equally far apart \
             then"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::args::given;
    use super::*;

    /// Catches: a default that counts as given, or an option that applies to other kinds.
    #[test]
    fn options_that_are_given_and_do_not_count_are_useless() {
        let given = given(&[
            "loop:10,heavy",
            "--schedule=static",
            "--victims=nearest",
            "--seed=0",
            "--cost=steal=5",
        ]);
        let kind = given.args.kind().expect("a program");
        assert_eq!(useless(&given, kind), ["--victims changes nothing in loops with a schedule"]);
    }
}
