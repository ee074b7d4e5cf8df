//! The terminal of `sinew top`: a table of programs, a list of decisions, and a few keys.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};
use sinew_console::Failure;

use super::columns::table;
use super::view::{DECISIONS, View};
use super::{failed, find_again};

const HELP: &str = "up/down choose   + heavier   - lighter   = weight 1   q quit";

/// Updates the screen until the user quits.
pub(super) fn run(interval: Duration) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "`sinew top` needs a terminal: use --once, and --json for scripts",
        ));
    }
    let table = sinew_coord::Table::find_default().map_err(|error| failed(&error))?;
    let _restored = FullScreen::enter()?;
    Screen::new(table).run(interval)
}

/// The whole terminal, without line editing; its end restores what was shown before.
struct FullScreen;

impl FullScreen {
    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        // From here on, an error restores the terminal.
        let entered = Self;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(entered)
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// A line of the screen.
struct Line {
    text: String,
    look: Attribute,
}

impl Line {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Attribute::Reset }
    }

    fn bold(text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Attribute::Bold }
    }
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
    /// The row of the chosen program.
    chosen: usize,
    message: String,
}

impl Screen {
    fn new(table: Option<sinew_coord::Table>) -> Self {
        Self { view: View::new(table.as_ref()), table, chosen: 0, message: HELP.into() }
    }

    fn run(mut self, interval: Duration) -> Result<(), Failure> {
        loop {
            self.draw()?;
            let until = Instant::now() + interval;
            while event::poll(until.saturating_duration_since(Instant::now()))? {
                if let Event::Key(key) = event::read()?
                    && !self.follow(action(key))
                {
                    return Ok(());
                }
                self.draw()?;
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
        self.chosen = self.chosen.min(last).saturating_add_signed(step).min(last);
    }

    fn weigh(&mut self, change: impl Fn(f64) -> f64) {
        let Some(table) = &self.table else { return };
        let Some(row) = self.view.rows.get(self.chosen) else { return };
        let (pid, weight) = (row.program.pid, change(row.weight));
        self.message = match table.set_weight(pid, weight) {
            Ok(()) => HELP.into(),
            Err(error) => failed(&error).to_line(),
        };
        self.view.rows = table.read();
    }

    fn draw(&self) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let lines = self.lines(width.into(), height.into());
        let mut out = io::stdout().lock();
        for (row, line) in lines.iter().enumerate() {
            queue!(
                out,
                cursor::MoveTo(0, row as u16),
                SetAttribute(line.look),
                Print(&line.text),
                SetAttribute(Attribute::Reset),
                Clear(ClearType::UntilNewLine)
            )?;
        }
        out.flush()
    }

    /// A screen of `height` lines, none of which is longer than `width`.
    fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        // The title, the heading and the rule of each list, and the message.
        let room = height.saturating_sub(6);
        let decisions = room * 2 / 5;
        let mut lines = vec![Line::plain(self.view.title())];
        lines.extend(self.programs(width, room - decisions));
        lines.extend(self.decisions(width, decisions));
        lines.resize_with(height.saturating_sub(1), || Line::plain(""));
        lines.push(Line::plain(self.message.as_str()));
        for line in &mut lines {
            line.text = line.text.chars().take(width).collect();
        }
        lines
    }

    /// The heading, the rule, and `room` lines of programs, the chosen one among them.
    fn programs(&self, width: usize, room: usize) -> Vec<Line> {
        let (titles, rows) = self.view.programs();
        let mut text = table(&titles, &rows, width).into_iter();
        let mut lines: Vec<Line> = text.by_ref().take(2).map(Line::bold).collect();
        let first = (self.chosen + 1).saturating_sub(room);
        let shown = text.enumerate().skip(first).take(room).map(|(row, text)| Line {
            text,
            look: if row == self.chosen { Attribute::Reverse } else { Attribute::Reset },
        });
        lines.extend(shown);
        lines.resize_with(room + 2, || Line::plain(""));
        lines
    }

    /// The heading, the rule, and the last `room` decisions, the last one first.
    fn decisions(&self, width: usize, room: usize) -> Vec<Line> {
        let last = self.view.decisions.iter().rev().take(room);
        let rows: Vec<Vec<String>> = last.map(|one| self.view.cells_of(one)).collect();
        let mut text = table(&DECISIONS, &rows, width).into_iter();
        let heading: Vec<Line> = text.by_ref().take(2).map(Line::bold).collect();
        heading.into_iter().chain(text.map(Line::plain)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let own = OwnSettings {
            schedule: Some(Schedule::Static),
            cores: [1].into_iter().collect(),
            job: 0,
        };
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
        screen.view.look(Some(&table));
        let drawn = drawn(&screen, 120);
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
        for columns in [60, 28] {
            let drawn = self::drawn(&screen, columns);
            for row in screen.view.programs().1 {
                let words =
                    |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                let shown = drawn.lines().map(words).find(|words| words.first() == row.first());
                let shown = shown.unwrap_or_default();
                let mut cells = row.into_iter();
                let are_whole = shown.iter().all(|word| cells.any(|cell| cell == *word));
                assert!(shown.len() >= 3 && shown[1] == pid && are_whole, "{drawn}");
            }
            assert_eq!(drawn.contains("2.00"), columns == 60, "{drawn}");
            // The decisions have the process number as well.
            let decisions = drawn.lines().skip_while(|line| !line.contains("decision"));
            let arrived = decisions.filter(|line| line.contains("arrived")).count();
            assert!(columns < 60 || arrived == 2, "{drawn}");
            assert!(drawn.matches(&pid).count() >= 4, "{drawn}");
            assert!(drawn.lines().all(|line| line.chars().count() <= columns), "{drawn}");
        }
        assert!(screen.follow(action(key(KeyCode::Char('=')))));
        assert!(!screen.follow(action(key(KeyCode::Char('q')))));
        assert_eq!(table.read()[0].weight, 1.0);
    }

    /// Catches: a chosen program outside the screen, and lines that are too many or too long.
    #[test]
    fn the_chosen_program_is_on_a_small_screen() {
        let folder = tempfile::tempdir().unwrap();
        let table = sinew_coord::Table::open(&folder.path().join("shared")).unwrap();
        let offer = |number| Offer::on(&format!("p{number}"), CpuSet::first(1), 1);
        let _members: Vec<Member> =
            (0..20).map(|number| Member::join(&table, offer(number)).unwrap()).collect();
        let mut screen = Screen::new(Some(table));
        for _ in 0..15 {
            screen.choose(1);
        }
        for (width, height) in [(80, 12), (20, 8), (5, 3), (0, 0)] {
            let lines = screen.lines(width, height);
            assert_eq!(lines.len(), height.max(1));
            assert!(lines.iter().all(|line| line.text.chars().count() <= width));
            let chosen: Vec<&str> = lines
                .iter()
                .filter(|line| line.look == Attribute::Reverse)
                .map(|line| line.text.as_str())
                .collect();
            assert_eq!(chosen.len(), usize::from(height > 5), "{width} x {height}");
            assert!(chosen.iter().all(|line| line.starts_with("p15")), "{chosen:?}");
        }
    }

    /// The lines of a screen of 20 lines.
    fn drawn(screen: &Screen, width: usize) -> String {
        screen.lines(width, 20).into_iter().map(|line| line.text + "\n").collect()
    }
}
