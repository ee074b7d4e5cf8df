//! The options of a run: the size, followed by comma-separated words for the form, the order and
//! the placement.

use sinew::locality::{Distribution, DomainOrder};
use sinew::{Placement, Schedule, TileOrder};

use super::lattice::Form;
use super::{NUMBERS, SIZES};
use crate::options::{Error, Options, Size};

/// The parameters of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub(super) side: usize,
    pub(super) form: Form,
    pub(super) order: TileOrder,
    /// The placement of pages, and their first touch; by default the field lies where the calling
    /// thread has made it.
    pub(super) placing: Option<(Placement, Distribution)>,
}

impl Choice {
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        let (size, words) = split(&options.size);
        let form = options.schedule.map_or(Form::Tasks(DomainOrder::Ring), Form::Loop);
        let side = NUMBERS.pick(&size)? as usize;
        let mut choice = Self { side, form, order: TileOrder::default(), placing: None };
        for word in words {
            let wrong = || Error::Size { app: NUMBERS.app, given: word.to_owned(), sizes: SIZES };
            choice.take(word, options.schedule).ok_or_else(wrong)?;
        }
        Ok(choice)
    }

    /// Does as a word says, if it says anything.
    fn take(&mut self, word: &str, schedule: Option<Schedule>) -> Option<()> {
        match word {
            "layers" => self.order = TileOrder::LayersOutside,
            "rows" => self.order = TileOrder::RowsOutside,
            "first-touch-cyclic" => {
                self.placing = Some((Placement::FirstTouch, Distribution::Cyclic));
            }
            _ => match queues(word).filter(|_| schedule.is_none()) {
                Some(order) => self.form = Form::Tasks(order),
                None => self.placing = Some((word.parse().ok()?, Distribution::Static)),
            },
        }
        Some(())
    }
}

/// The size, and the words after it.
fn split(size: &Size) -> (Size, Vec<&str>) {
    let Size::Exact(text) = size else { return (size.clone(), Vec::new()) };
    let mut parts = text.split(',').map(str::trim);
    let Ok(first) = parts.next().unwrap_or_default().parse();
    (first, parts.collect())
}

/// The queues in which tasks lie.
fn queues(word: &str) -> Option<DomainOrder> {
    Some(match word {
        "tasks" => DomainOrder::Together,
        "queues" => DomainOrder::Ring,
        "nearest" => DomainOrder::Nearest,
        "strict" => DomainOrder::Strict,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(size: &str, schedule: Option<Schedule>) -> Result<Choice, String> {
        let options = Options { size: size.parse().unwrap(), schedule, ..Options::default() };
        Choice::new(&options).map_err(|error| error.to_string())
    }

    /// Catches: a word that is read and does nothing, or something else.
    #[test]
    fn words_after_the_size_choose_form_order_and_placement() {
        let plain = choice("24", None).unwrap();
        assert_eq!(
            (plain.side, plain.form, plain.placing),
            (24, Form::Tasks(DomainOrder::Ring), None)
        );
        assert_eq!(choice("tiny", None), Ok(plain));
        let tasks = choice("tiny, tasks, rows, cyclic", None).unwrap();
        let placing = Some((Placement::Cyclic, Distribution::Static));
        let order = TileOrder::RowsOutside;
        assert_eq!(
            tasks,
            Choice { side: 24, form: Form::Tasks(DomainOrder::Together), order, placing }
        );
        let strict = choice("30,strict,layers,first-touch-cyclic", None).unwrap();
        let placing = Some((Placement::FirstTouch, Distribution::Cyclic));
        let order = TileOrder::LayersOutside;
        assert_eq!(
            strict,
            Choice { side: 30, form: Form::Tasks(DomainOrder::Strict), order, placing }
        );
        let schedule = Schedule::Dynamic { chunk: 1 };
        let over = choice("30,bind:3", Some(schedule)).unwrap();
        assert_eq!(
            (over.form, over.placing),
            (Form::Loop(schedule), Some((Placement::Bind(3), Distribution::Static)))
        );
    }

    /// Catches: a word that is passed over, or not named.
    #[test]
    fn a_word_that_says_nothing_is_named() {
        for (size, word) in
            [("24,queue", "queue"), ("24,bind:", "bind:"), ("2", "2"), ("24,,rows", "")]
        {
            let error = choice(size, None).unwrap_err();
            assert!(error.contains(&format!("`{word}`")) && error.contains("bind:NODE"), "{error}");
        }
        assert!(choice("24,queues", Some(Schedule::Static)).unwrap_err().contains("`queues`"));
    }
}
