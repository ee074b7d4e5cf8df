//! Statements of the publications that a number of ours can be held against, and the one rule that
//! judges all of them.
//!
//! The noise is that of the reports: see [`is_beyond`]. Words of a publication that name no side
//! stand beside our number, which is not judged then.

use std::fmt;

use crate::report::number;
use crate::statistics::{ENOUGH_ROUNDS, is_beyond, median, spread};

/// A value is near a published one within this part of it; an effect, within this part of its
/// distance from no effect.
const NEAR: f64 = 0.25;

/// Nothing has changed within this part.
const SAME: f64 = 0.05;

/// A side counts from this distance from no effect on.
const LEAST: f64 = 0.01;

/// A statement that something brings no gain, in per cent.
pub(crate) const NO_GAIN: Said = Said::LessThan(SAME * 100.0);

/// The kind of a number, and so the value that stands for no effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// One value over another: 1 is no effect.
    Ratio,
    /// A gain, a loss or a part in per cent: 0 is no effect.
    Percent,
    /// A plain value in this unit, without an effect.
    Plain(&'static str),
}

/// A publication's statement about a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Said {
    /// A plain value.
    Value(f64),
    /// An effect of this size.
    Effect(f64),
    /// An effect, the largest of which has this size.
    UpTo(f64),
    /// More than no effect.
    More,
    /// Less than no effect.
    Less,
    /// No effect.
    Same,
    /// More than this.
    MoreThan(f64),
    /// Less than this.
    LessThan(f64),
    /// Words that name neither a value nor a side.
    Words(&'static str),
}

/// A number of ours, and what a publication says about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The number, in words.
    pub what: String,
    /// The kind of the number.
    pub unit: Unit,
    /// The statement.
    pub said: Said,
    /// Ours, a value a round.
    pub ours: Vec<f64>,
    /// A distance from no effect up to which a round says nothing.
    pub noise: f64,
}

/// The outcome of the comparison of our number with the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verdict {
    /// The side is the published one beyond the noise, and the value near if one is published.
    Agrees,
    /// The side is the published one beyond the noise; no value is published, or it is not near.
    SameSide,
    /// The value is not near, beyond the noise.
    OtherValue,
    /// The other side, beyond the noise.
    Contrary,
    /// The rounds do not say.
    WithinNoise,
    /// The publication says nothing that could be held against ours.
    NotJudged,
    /// Fewer rounds than a judgement takes.
    TooFewRounds,
    /// The run has no such number.
    NotMeasured,
}

impl Verdict {
    /// All of them, in the order in which they are counted.
    pub(crate) const ALL: [Self; 8] = [
        Self::Agrees,
        Self::SameSide,
        Self::OtherValue,
        Self::Contrary,
        Self::WithinNoise,
        Self::NotJudged,
        Self::TooFewRounds,
        Self::NotMeasured,
    ];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agrees => "agrees",
            Self::SameSide => "same direction",
            Self::OtherValue => "another value",
            Self::Contrary => "contrary",
            Self::WithinNoise => "within the noise",
            Self::NotJudged => "not judged",
            Self::TooFewRounds => "too few rounds",
            Self::NotMeasured => "not measured",
        })
    }
}

/// The rule in words, as the page of all tables and figures says it.
pub(crate) fn rule() -> Vec<String> {
    let (near, same) = (NEAR * 100.0, SAME * 100.0);
    vec![
        format!(
            "A side counts if it lies **beyond the noise**: there are {ENOUGH_ROUNDS} rounds at \
             least, and three quarters of them lie on it, {} % away from no effect. If a case ran \
             twice in each round, its largest difference from itself counts instead if it is more.",
            LEAST * 100.0
        ),
        format!(
            "**Agrees**: the side is the published one beyond the noise, and three quarters of \
             the rounds are near the published value. Near is within {near} % of a plain value, \
             and of an effect within {near} % of its distance from no effect."
        ),
        "**Same direction**: the side is the published one beyond the noise; no value is \
         published, or it is not near."
            .to_owned(),
        "**Contrary**: the other side, beyond the noise. **Another value**: a plain value that \
         three quarters of the rounds miss on one side."
            .to_owned(),
        format!(
            "Where no effect is published, ours agrees if three quarters of the rounds lie within \
             {same} % of none, and is contrary if they lie farther away on one side. No gain is \
             one of less than {same} %."
        ),
        "**Within the noise**: none of these. **Too few rounds**: fewer than a side takes. **Not \
         judged**: the publication names neither a value nor a side."
            .to_owned(),
    ]
}

impl Claim {
    /// A ratio of ours, a value a round.
    pub(crate) fn ratio(what: impl Into<String>, said: Said, ours: Vec<f64>) -> Self {
        Self { what: what.into(), unit: Unit::Ratio, said, ours, noise: LEAST }
    }

    /// A number of per cent, a value a round.
    pub(crate) fn percent(what: impl Into<String>, said: Said, ours: Vec<f64>) -> Self {
        Self { what: what.into(), unit: Unit::Percent, said, ours, noise: LEAST * 100.0 }
    }

    /// A plain value in this unit, a value a round.
    pub(crate) fn plain(
        what: impl Into<String>,
        unit: &'static str,
        said: Said,
        ours: Vec<f64>,
    ) -> Self {
        Self { what: what.into(), unit: Unit::Plain(unit), said, ours, noise: 0.0 }
    }

    /// The gains of a version over a base in per cent, from the ratios of their times, which are
    /// the base's over the version's.
    pub(crate) fn gain(what: impl Into<String>, said: Said, speed_ups: &[f64]) -> Self {
        Self::percent(what, said, speed_ups.iter().map(|ratio| (ratio - 1.0) * 100.0).collect())
    }

    /// The same, whose rounds say nothing up to this distance from no effect.
    pub(crate) fn beyond(self, noise: f64) -> Self {
        Self { noise: self.noise.max(noise), ..self }
    }

    /// No effect, and the size of an effect that counts as none.
    fn none(&self) -> (f64, f64) {
        match self.unit {
            Unit::Ratio => (1.0, SAME),
            Unit::Percent => (0.0, SAME * 100.0),
            Unit::Plain(_) => (0.0, 0.0),
        }
    }

    /// Ours against the statement, by the rule.
    pub fn verdict(&self) -> Verdict {
        let (none, same) = self.none();
        match self.said {
            _ if self.ours.is_empty() => Verdict::NotMeasured,
            Said::Words(_) => Verdict::NotJudged,
            _ if self.ours.len() < ENOUGH_ROUNDS => Verdict::TooFewRounds,
            Said::Value(value) => self.near(value, NEAR * value.abs(), Verdict::OtherValue),
            Said::Same => self.near(none, same, Verdict::Contrary),
            Said::Effect(value) | Said::UpTo(value) => {
                let published = if value < none { Said::Less } else { Said::More };
                let side = self.side(none, self.noise, published == Said::More);
                let within = NEAR * (value - none).abs();
                match self.near(value, within, Verdict::OtherValue) {
                    Verdict::Agrees if side == Verdict::SameSide => Verdict::Agrees,
                    _ => side,
                }
            }
            Said::More => self.side(none, self.noise, true),
            Said::Less => self.side(none, self.noise, false),
            Said::MoreThan(least) => self.side(least, 0.0, true),
            Said::LessThan(most) => self.side(most, 0.0, false),
        }
    }

    /// How many three quarters of the rounds are at least.
    fn most_rounds(&self) -> usize {
        (3 * self.ours.len()).div_ceil(4)
    }

    /// Whether most rounds lie within this distance of the value, or beyond it on one side.
    fn near(&self, value: f64, within: f64, otherwise: Verdict) -> Verdict {
        let differences: Vec<f64> = self.ours.iter().map(|ours| ours - value).collect();
        let near = differences.iter().filter(|difference| difference.abs() <= within).count();
        match () {
            () if near >= self.most_rounds() => Verdict::Agrees,
            () if is_beyond(&differences, within) => otherwise,
            () => Verdict::WithinNoise,
        }
    }

    /// Whether the rounds lie above a value, or below it, as published.
    fn side(&self, value: f64, noise: f64, above: bool) -> Verdict {
        let differences: Vec<f64> = self.ours.iter().map(|ours| ours - value).collect();
        let is_above = differences.iter().filter(|difference| **difference > 0.0).count();
        match is_beyond(&differences, noise) {
            false => Verdict::WithinNoise,
            true if (is_above >= self.most_rounds()) == above => Verdict::SameSide,
            true => Verdict::Contrary,
        }
    }

    /// A number in its unit; a gain or a loss with its sign.
    fn number(&self, value: f64) -> String {
        match self.unit {
            Unit::Ratio | Unit::Plain("") => number(value),
            Unit::Percent => format!("{} %", number(value)),
            Unit::Plain(unit) => format!("{} {unit}", number(value)),
        }
    }

    /// The statement, as a line of a table has it.
    pub(crate) fn paper(&self) -> String {
        let said = match self.said {
            Said::Value(value) | Said::Effect(value) => self.number(value),
            Said::UpTo(value) => format!("up to {}", self.number(value)),
            Said::More => "more".to_owned(),
            Said::Less => "less".to_owned(),
            Said::Same => "the same".to_owned(),
            Said::MoreThan(least) => format!("more than {}", self.number(least)),
            Said::LessThan(most) => format!("less than {}", self.number(most)),
            Said::Words(words) => words.to_owned(),
        };
        match self.unit {
            Unit::Ratio if matches!(self.said, Said::More | Said::Less | Said::Same) => {
                let than = if self.said == Said::Same { ", 1" } else { " than 1" };
                format!("{}: {said}{than}", self.what)
            }
            _ => format!("{}: {said}", self.what),
        }
    }

    /// Ours, as a line of a table has it: the median, and half the distance of the quartiles.
    pub(crate) fn ours(&self) -> String {
        let Some(middle) = median(&self.ours) else { return "-".to_owned() };
        match spread(&self.ours) {
            Some(spread) => format!("{} ± {}", number(middle), self.number(spread)),
            None => self.number(middle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(said: Said, ours: &[f64]) -> Verdict {
        Claim::ratio("a over b", said, ours.to_vec()).verdict()
    }

    /// Catches: a side that two of four rounds decide, one turned round, and a judgement from two
    /// rounds.
    #[test]
    fn a_side_counts_beyond_the_noise_only() {
        assert_eq!(ratio(Said::More, &[1.2, 1.1, 1.3]), Verdict::SameSide);
        assert_eq!(ratio(Said::Less, &[1.2, 1.1, 1.3]), Verdict::Contrary);
        assert_eq!(ratio(Said::Less, &[0.9, 0.8, 0.9, 1.1]), Verdict::SameSide);
        assert_eq!(ratio(Said::More, &[1.2, 0.9, 1.3, 0.8]), Verdict::WithinNoise);
        assert_eq!(ratio(Said::More, &[1.2, 1.2]), Verdict::TooFewRounds);
        assert_eq!(ratio(Said::More, &[]), Verdict::NotMeasured);
        assert_eq!(ratio(Said::Words("rises"), &[1.0]), Verdict::NotJudged);
    }

    /// Catches: a difference of a thousandth that is a finding, and one that the same case has from
    /// itself.
    #[test]
    fn a_small_difference_and_one_of_a_case_from_itself_are_noise() {
        assert_eq!(ratio(Said::Less, &[0.999, 0.998, 0.999]), Verdict::WithinNoise);
        let gain = Claim::percent("gain", Said::More, vec![6.0, 5.0, 7.0]);
        assert_eq!(gain.clone().beyond(4.0).verdict(), Verdict::SameSide);
        assert_eq!(gain.beyond(9.0).verdict(), Verdict::WithinNoise);
    }

    /// Catches: a small gain that agrees with a large one, since 1.1 is near 1.3, and a loss that
    /// is near a gain.
    #[test]
    fn an_effect_is_near_by_its_distance_from_no_effect() {
        assert_eq!(ratio(Said::Effect(2.0), &[1.8, 2.2, 1.9]), Verdict::Agrees);
        assert_eq!(ratio(Said::Effect(1.3), &[1.1, 1.1, 1.1]), Verdict::SameSide);
        assert_eq!(ratio(Said::Effect(0.67), &[0.7, 0.7, 0.6]), Verdict::Agrees);
        assert_eq!(ratio(Said::Effect(1.3), &[0.9, 0.9, 0.9]), Verdict::Contrary);
        let gains = Claim::gain("gain", Said::UpTo(50.0), &[1.5, 1.375, 1.625]);
        assert_eq!((gains.verdict(), gains.ours().as_str()), (Verdict::Agrees, "50 ± 6.25 %"));
        assert_eq!(gains.paper(), "gain: up to 50 %");
    }

    /// Catches: noise around a value that is taken for it, or for another one.
    #[test]
    fn a_value_and_no_effect_need_rounds_that_are_near() {
        let speed = |ours: &[f64]| {
            Claim::plain("speed", "MLUP/s", Said::Value(100.0), ours.to_vec()).verdict()
        };
        assert_eq!(speed(&[80.0, 110.0, 120.0]), Verdict::Agrees);
        assert_eq!(speed(&[50.0, 60.0, 70.0]), Verdict::OtherValue);
        assert_eq!(speed(&[50.0, 160.0, 100.0]), Verdict::WithinNoise);
        assert_eq!(ratio(Said::Same, &[1.01, 0.99, 1.04]), Verdict::Agrees);
        assert_eq!(ratio(Said::Same, &[1.2, 1.3, 1.1]), Verdict::Contrary);
        assert_eq!(ratio(Said::Same, &[1.2, 0.8, 1.0]), Verdict::WithinNoise);
    }

    /// Catches: a threshold that is taken for no effect.
    #[test]
    fn a_threshold_is_a_side_of_its_own() {
        let part = |said| Claim::percent("part", said, vec![1.5, 1.8, 1.6]);
        assert_eq!(part(Said::LessThan(2.0)).verdict(), Verdict::SameSide);
        assert_eq!(part(Said::MoreThan(50.0)).verdict(), Verdict::Contrary);
        assert_eq!(part(Said::LessThan(2.0)).paper(), "part: less than 2 %");
    }
}
