//! The terminal of `sinew top`: a table of programs, a list of decisions, and a few keys.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, List, Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};

use super::view::{TITLES, View};
use super::{failed, find_again};
use crate::failure::Failure;

/// Columns of a program's name that are shown before other columns are left out.
const NAME: u16 = 12;

const HELP: &str = "up/down choose   + heavier   - lighter   = weight 1   q quit";

/// Updates the screen until the user quits.
pub(super) fn run(interval: Duration) -> Result<(), Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "`sinew top` needs a terminal: use --once, and --json for scripts",
        ));
    }
    let table = sinew_coord::Table::find_default().map_err(|error| failed(&error))?;
    let mut terminal = ratatui::try_init()?;
    let result = Screen::new(table).run(&mut terminal, interval);
    ratatui::restore();
    result
}

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Action {
    Nothing,
    Quit,
    Choose(isize),
    Weigh { factor: f64 },
    Reset,
}

fn action(key: KeyEvent) -> Action {
    match key.code {
        _ if key.kind == KeyEventKind::Release => Action::Nothing,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Action::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Action::Quit,
        KeyCode::Up | KeyCode::Char('k') => Action::Choose(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Choose(1),
        KeyCode::Char('+') | KeyCode::Right => Action::Weigh { factor: 2.0 },
        KeyCode::Char('-') | KeyCode::Left => Action::Weigh { factor: 0.5 },
        KeyCode::Char('=') => Action::Reset,
        _ => Action::Nothing,
    }
}

struct Screen {
    table: Option<sinew_coord::Table>,
    view: View,
    chosen: TableState,
    message: String,
}

impl Screen {
    fn new(table: Option<sinew_coord::Table>) -> Self {
        let chosen = TableState::default().with_selected(0);
        Self { view: View::new(table.as_ref()), table, chosen, message: HELP.into() }
    }

    fn run(mut self, terminal: &mut DefaultTerminal, interval: Duration) -> Result<(), Failure> {
        loop {
            terminal.draw(|frame| self.draw(frame))?;
            let until = Instant::now() + interval;
            while event::poll(until.saturating_duration_since(Instant::now()))? {
                if let Event::Key(key) = event::read()?
                    && !self.follow(action(key))
                {
                    return Ok(());
                }
                terminal.draw(|frame| self.draw(frame))?;
            }
            find_again(&mut self.table);
            self.view.look(self.table.as_ref());
        }
    }

    /// Executes the action. Returns false to quit.
    fn follow(&mut self, action: Action) -> bool {
        match action {
            Action::Nothing => {}
            Action::Quit => return false,
            Action::Choose(step) => self.choose(step),
            Action::Weigh { factor } => self.weigh(|weight| weight * factor),
            Action::Reset => self.weigh(|_| 1.0),
        }
        true
    }

    fn choose(&mut self, step: isize) {
        let last = self.view.rows.len().saturating_sub(1);
        let at = self.chosen.selected().unwrap_or(0).min(last);
        self.chosen.select(Some(at.saturating_add_signed(step).min(last)));
    }

    fn weigh(&mut self, change: impl Fn(f64) -> f64) {
        let Some(table) = &self.table else { return };
        let Some(row) = self.chosen.selected().and_then(|at| self.view.rows.get(at)) else {
            return;
        };
        let (pid, weight) = (row.program.pid, change(row.weight));
        self.message = match table.set_weight(pid, weight) {
            Ok(()) => HELP.into(),
            Err(error) => failed(&error).to_line(),
        };
        self.view.rows = table.read();
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let heights = [
            Constraint::Length(1),
            Constraint::Min(4),
            Constraint::Percentage(40),
            Constraint::Length(1),
        ];
        let [title, programs, decisions, help] = Layout::vertical(heights).areas(frame.area());
        frame.render_widget(Paragraph::new(self.view.title()), title);
        self.draw_programs(frame, programs);
        self.draw_decisions(frame, decisions);
        frame.render_widget(Paragraph::new(self.message.as_str()), help);
    }

    fn draw_programs(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let bold = Style::default().add_modifier(Modifier::BOLD);
        let block = Block::bordered().title("programs");
        let rows: Vec<Vec<String>> =
            self.view.rows.iter().map(|row| self.view.cells(row)).collect();
        let widths = widths(&rows, block.inner(area).width);
        let row =
            |cells: Vec<String>| Row::new(cells.into_iter().take(widths.len()).map(Cell::from));
        let table = Table::new(rows.into_iter().map(row), &widths)
            .header(Row::new(TITLES.into_iter().take(widths.len())).style(bold))
            .row_highlight_style(Style::default().add_modifier(Modifier::REVERSED))
            .block(block);
        frame.render_stateful_widget(table, area, &mut self.chosen);
    }

    fn draw_decisions(&self, frame: &mut Frame<'_>, area: Rect) {
        let lines = self.view.decisions.iter().rev().map(|decision| {
            let ago = self.view.seconds_ago(decision.at_ns);
            Line::from(format!(
                "{ago:8.1} s ago  {:<15} {} ({}), {} shares changed",
                decision.reason, decision.name, decision.subject, decision.changed
            ))
        });
        frame.render_widget(List::new(lines).block(Block::bordered().title("decisions")), area);
    }
}

/// The columns that fit into `room`, each as wide as its widest cell. The last columns are left out
/// if they do not fit, because a number that is cut is another number. Only a program's name is
/// cut.
fn widths(rows: &[Vec<String>], room: u16) -> Vec<Constraint> {
    let widest = |at: usize| {
        let cells = rows.iter().map(|cells| cells[at].as_str()).chain([TITLES[at]]);
        cells.map(|cell| cell.chars().count() as u16).max().unwrap_or(0)
    };
    let (name, rest) = (widest(0), room.saturating_sub(widest(0).min(NAME)));
    let others = (1..TITLES.len()).scan(rest, |rest, at| {
        // One blank between two columns.
        *rest = rest.checked_sub(widest(at) + 1)?;
        Some((widest(at), *rest))
    });
    let others: Vec<(u16, u16)> = others.collect();
    let left = others.last().map_or(rest, |(_, left)| *left);
    let name = name.min(name.min(NAME) + left);
    std::iter::once(name)
        .chain(others.into_iter().map(|(width, _)| width))
        .map(Constraint::Length)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use sinew::Schedule;
    use sinew_coord::{CpuSet, Member, Offer, OwnSettings};

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    /// Catches: a program or a decision that is not drawn, and keys that change another program or
    /// nothing.
    #[test]
    fn programs_are_drawn_and_keys_change_the_chosen_ones_weight() {
        let folder = tempfile::tempdir().unwrap();
        let table = sinew_coord::Table::open(&folder.path().join("shared")).unwrap();
        let offer = |name| Offer::on(name, CpuSet::first(2), 2);
        let own =
            OwnSettings { schedule: Some(Schedule::Static), cores: [1].into_iter().collect() };
        let _members = ["first", "second"]
            .map(|name| Member::join(&table, offer(name).own_settings(own.clone())).unwrap());
        let mut screen = Screen::new(Some(table.clone()));
        // Both rows belong to this process, so both change: a program's rows have one weight.
        for code in [
            KeyCode::Down,
            KeyCode::Down,
            KeyCode::Char('+'),
            KeyCode::Char('+'),
            KeyCode::Char('-'),
        ] {
            assert!(screen.follow(action(key(code))));
        }
        assert_eq!(table.read().iter().map(|row| row.weight).collect::<Vec<_>>(), [2.0, 2.0]);
        let mut terminal = Terminal::new(TestBackend::new(120, 20)).unwrap();
        screen.view.look(Some(&table));
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let drawn = format!("{}", terminal.backend());
        for part in [
            "2 programs",
            "first",
            "second",
            "2.00",
            "weight set",
            "arrived",
            "q quit",
            "static on 1",
        ] {
            assert!(drawn.contains(part), "{part} is not in {drawn}");
        }
        // On a narrow terminal columns are left out, and no number is cut.
        let pid = std::process::id().to_string();
        for columns in [60, 40] {
            let mut terminal = Terminal::new(TestBackend::new(columns, 20)).unwrap();
            terminal.draw(|frame| screen.draw(frame)).unwrap();
            let drawn = format!("{}", terminal.backend());
            for row in &screen.view.rows {
                let words = |line: &str| {
                    line.trim_matches(['"', '│'])
                        .split_whitespace()
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                };
                let shown = drawn
                    .lines()
                    .map(words)
                    .find(|words| words.first() == Some(&row.name.to_string()));
                let (shown, whole) = (shown.unwrap_or_default(), screen.view.cells(row));
                assert!(
                    shown.len() >= 4 && shown[1] == pid && whole.starts_with(&shown),
                    "{drawn}"
                );
            }
            assert_eq!(drawn.contains("2.00"), columns == 60, "{drawn}");
        }
        assert!(screen.follow(action(key(KeyCode::Char('=')))));
        assert!(!screen.follow(action(key(KeyCode::Char('q')))));
        assert_eq!(table.read()[0].weight, 1.0);
    }
}
