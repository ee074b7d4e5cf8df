//! Programs from the output of `sinew top --once --json`: kinds with measured speeds.

use std::collections::HashSet;

use serde::Deserialize;
use sinew_sim::programs::{Kind, SpeedUp};

/// The fields of the output that are read.
#[derive(Deserialize)]
struct Seen {
    programs: Vec<Program>,
}

#[derive(Deserialize)]
struct Program {
    program: String,
    #[serde(default = "one")]
    min: u32,
    max: u32,
    #[serde(default = "even")]
    weight: f64,
    speeds: Vec<(u32, f64)>,
}

const fn one() -> u32 {
    1
}

const fn even() -> f64 {
    1.0
}

/// A kind for each name with known speeds; of several programs of a name the one with the most
/// speeds.
///
/// # Errors
///
/// A text of another form, or without any speed.
pub(super) fn kinds(text: &str) -> Result<Vec<Kind>, String> {
    let seen: Seen = serde_json::from_str(text)
        .map_err(|error| format!("not what `sinew top --once --json` prints: {error}"))?;
    let mut programs: Vec<Program> =
        seen.programs.into_iter().filter(|program| !program.speeds.is_empty()).collect();
    programs.sort_by_key(|program| std::cmp::Reverse(program.speeds.len()));
    let mut names = HashSet::new();
    programs.retain(|program| names.insert(program.program.clone()));
    if programs.is_empty() {
        return Err("no program's speed is known: start `sinew coordinator --policy efficiency`, \
            and look again after some decisions"
            .to_owned());
    }
    Ok(programs.into_iter().map(kind).collect())
}

fn kind(program: Program) -> Kind {
    let Program { program: name, min, max, weight, speeds } = program;
    let max = max.max(1);
    Kind {
        speed_up: SpeedUp::Measured(speeds),
        min: min.clamp(1, max),
        max,
        weight,
        ..Kind::new(&name, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: speeds of another program, a program without speeds, or a duplicate kind.
    #[test]
    fn measured_programs_become_kinds() {
        let text = r#"{"cpus": 4, "programs": [
            {"program": "new", "pid": 1, "min": 1, "max": 4, "weight": 1.0, "speeds": []},
            {"program": "solver", "pid": 2, "min": 1, "max": 4, "weight": 2.0,
             "speeds": [[1, 10.0]]},
            {"program": "solver", "pid": 3, "min": 0, "max": 4, "weight": 2.0,
             "speeds": [[1, 10.0], [2, 18.5]]}
        ], "decisions": []}"#;
        let kinds = kinds(text).expect("kinds");
        assert_eq!(kinds.len(), 1);
        assert_eq!(
            (kinds[0].name.as_str(), kinds[0].min, kinds[0].max, kinds[0].weight),
            ("solver", 1, 4, 2.0)
        );
        assert_eq!(kinds[0].speed_up, SpeedUp::Measured(vec![(1, 10.0), (2, 18.5)]));
        assert_eq!(kinds[0].speed_up.at(2), 1.85);
    }

    /// Catches: an incomplete or empty file that is accepted as no programs.
    #[test]
    fn what_shows_no_speeds_is_refused_in_one_line() {
        for (text, says) in [
            (r#"{"programs": [{"program": "a", "#, "sinew top"),
            (r#"{"programs": []}"#, "no program's speed"),
            (r#"{"application": "fib"}"#, "programs"),
        ] {
            let error = kinds(text).expect_err(text);
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
    }
}
