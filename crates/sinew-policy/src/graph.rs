//! Recorded task graphs: the tasks that a run spawned, and the work between spawns.
//!
//! A recording is a list of *calls* into a pool. Each call is a sequence of tokens: work, and parts
//! that may run in parallel, which are such sequences again. So a recording describes the program,
//! not the schedule of the run. `sinew-observe` writes recordings; `lab/sim` replays them.
//!
//! As text, each line is a call: the time since the last call, a colon, and the tokens. Times are
//! in picoseconds. The last line marks a recording as complete.
//!
//! ```text
//! sinew graph 1
//! 2500: 500(100|200(50|50)30)70
//! 0: 10{5|5|6}
//! end 2
//! ```
//!
//! `(a|b|c)` are tasks: all but the first were spawned, the first was called. `{a|b|c}` are pieces
//! of a loop, without an order.
//!
//! # Invariants
//!
//! - G1: brackets are balanced in every call of a [`Graph`], and parts are inside of them.
//!
//! # Tests
//!
//! A property test writes and reads random graphs; another corrupts a recording in every way.

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::span;

/// The first line of a recording.
const HEAD: &str = "sinew graph 1";

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// Work, in picoseconds.
    Work(u64),
    /// Start of tasks that may run in parallel.
    Fork,
    /// Start of pieces of a loop.
    Loop,
    /// The next task or piece.
    Next,
    /// End of the innermost tasks or pieces; the next token waits for all of them.
    Join,
}

/// One call into the pool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// Picoseconds outside of the pool since the last call.
    pub gap: u64,
    tokens: Vec<Token>,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    calls: Vec<Call>,
}

/// The error for a text that is not a complete recording.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// Its first line is wrong.
    NoGraph,
    /// Its last line is missing.
    CutOff,
    /// A line cannot be read.
    Line {
        /// Its number, from 1 on.
        line: usize,
        /// The column, from 1 on.
        column: usize,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGraph => {
                write!(
                    f,
                    "not a recorded task graph: its first line must be `{HEAD}` (see sinew-lab run \
                     --record)"
                )
            }
            Self::CutOff => f.write_str(
                "the recorded task graph is cut off: its last line is missing; record it again",
            ),
            Self::Line { line, column } => {
                write!(
                    f,
                    "line {line} of the recorded task graph cannot be read from column {column} \
                     on; record it again"
                )
            }
        }
    }
}

impl std::error::Error for GraphError {}

/// The parts of an open bracket so far.
struct Parts {
    /// The path to the bracket.
    before: u64,
    is_loop: bool,
    count: u64,
    /// The path through the tasks, or the longest piece.
    longest: u64,
    total: u64,
}

impl Parts {
    fn new(before: u64, is_loop: bool) -> Self {
        Self { before, is_loop, count: 0, longest: 0, total: 0 }
    }

    fn add(&mut self, part: u64, burden: u64) {
        self.longest = match (self.is_loop, self.count) {
            (false, 1..) => span::join(self.longest, part, burden),
            _ => self.longest.max(part),
        };
        self.total = self.total.saturating_add(part);
        self.count += 1;
    }

    /// The path to the end of the bracket.
    fn end(&self, burden: u64) -> u64 {
        let through = match self.is_loop {
            true => span::tree(self.longest, self.total, self.count, burden),
            false => self.longest,
        };
        self.before.saturating_add(through)
    }
}

impl Call {
    /// A call of these tokens; `None` if brackets do not match (G1).
    pub fn new(gap: u64, tokens: Vec<Token>) -> Option<Self> {
        let mut depth = 0_usize;
        for token in &tokens {
            match token {
                Token::Work(_) => {}
                Token::Fork | Token::Loop => depth += 1,
                Token::Next if depth > 0 => {}
                Token::Join if depth > 0 => depth -= 1,
                Token::Next | Token::Join => return None,
            }
        }
        (depth == 0).then_some(Self { gap, tokens })
    }

    /// The tokens, in order.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The work between other tokens, each with the token after it, or `None` at the end.
    fn stretches(&self) -> Vec<(u64, Option<Token>)> {
        let (mut all, mut sum) = (Vec::new(), 0);
        for &token in &self.tokens {
            match token {
                Token::Work(work) => sum += work,
                other => all.push((std::mem::take(&mut sum), Some(other))),
            }
        }
        all.push((sum, None));
        all
    }

    /// The longest path through it at a burden.
    fn span(&self, burden: u64) -> u64 {
        let (mut path, mut open) = (0_u64, Vec::new());
        for token in &self.tokens {
            match token {
                Token::Work(work) => path = path.saturating_add(*work),
                Token::Fork | Token::Loop => {
                    open.push(Parts::new(std::mem::take(&mut path), *token == Token::Loop));
                }
                Token::Next | Token::Join => {
                    // G1: parts are inside of brackets.
                    let Some(mut parts) = open.pop() else { continue };
                    parts.add(std::mem::take(&mut path), burden);
                    match token {
                        Token::Next => open.push(parts),
                        _ => path = parts.end(burden),
                    }
                }
            }
        }
        path
    }

    /// The call with the shorter one of each stretch of work; `None` if the calls differ in
    /// anything else.
    fn least(&self, other: &Self) -> Option<Self> {
        let (ours, theirs) = (self.stretches(), other.stretches());
        let is_same =
            ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(a, b)| a.1 == b.1);
        let both = ours.iter().zip(&theirs).flat_map(|(&(a, token), &(b, _))| {
            let work = Some(a.min(b)).filter(|&work| work > 0).map(Token::Work);
            work.into_iter().chain(token)
        });
        is_same.then(|| Self { gap: self.gap.min(other.gap), tokens: both.collect() })
    }
}

impl Graph {
    /// A recording of these calls.
    pub fn new(calls: Vec<Call>) -> Self {
        Self { calls }
    }

    /// The calls, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Combines two recordings of one program: takes each stretch of work from the recording in
    /// which it was shorter, since disturbances only make a run longer. `None` if the tasks differ.
    ///
    /// ```
    /// use sinew_policy::graph::Graph;
    ///
    /// let text = |calls: &str| format!("sinew graph 1\n{calls}\nend 1\n");
    /// let read = |calls: &str| text(calls).parse::<Graph>().unwrap();
    /// let least = read("0: 5(7|2)3").least(&read("0: 4(9|1)")).unwrap();
    /// assert_eq!(least, read("0: 4(7|1)"));
    /// assert_eq!(read("0: 5(7|2)").least(&read("0: 5{7|2}")), None);
    /// ```
    pub fn least(&self, other: &Self) -> Option<Self> {
        let is_same = self.calls.len() == other.calls.len();
        let calls: Option<Vec<Call>> =
            self.calls.iter().zip(&other.calls).map(|(a, b)| a.least(b)).collect();
        calls.filter(|_| is_same).map(Self::new)
    }

    /// The span in picoseconds at a burden: the longest path through each call, one after the
    /// other, without the gaps between calls; see [`span`].
    ///
    /// ```
    /// use sinew_policy::graph::Graph;
    ///
    /// let graph: Graph = "sinew graph 1\n3: 5(7(4|6)|2)3\n0: 1{8|9}\nend 2\n".parse().unwrap();
    /// assert_eq!((graph.span(0), graph.span(1)), (5 + 13 + 3 + 1 + 9, 5 + 14 + 3 + 1 + 10));
    /// assert_eq!(graph.span(1_000), graph.work());
    /// ```
    pub fn span(&self, burden: u64) -> u64 {
        self.calls.iter().map(|call| call.span(burden)).sum()
    }

    /// Number of tasks that were spawned: pieces of loops are none.
    pub fn spawned(&self) -> u64 {
        let mut loops = Vec::new();
        let tokens = self.calls.iter().flat_map(|call| &call.tokens);
        let spawns = tokens.filter(|token| {
            match token {
                Token::Fork | Token::Loop => loops.push(**token == Token::Loop),
                Token::Join => {
                    loops.pop();
                }
                Token::Work(_) | Token::Next => {}
            }
            **token == Token::Next && loops.last() == Some(&false)
        });
        spawns.count() as u64
    }

    /// All work in picoseconds, without the gaps between calls.
    pub fn work(&self) -> u64 {
        let tokens = self.calls.iter().flat_map(|call| &call.tokens);
        tokens.map(|token| if let Token::Work(work) = token { *work } else { 0 }).sum()
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        for call in &self.calls {
            write!(f, "{}: ", call.gap)?;
            write_tokens(f, &call.tokens)?;
            f.write_char('\n')?;
        }
        writeln!(f, "end {}", self.calls.len())
    }
}

fn write_tokens(f: &mut fmt::Formatter<'_>, tokens: &[Token]) -> fmt::Result {
    let mut open = Vec::new();
    let mut after_work = false;
    for token in tokens {
        match token {
            // Adjacent numbers would be read as one.
            Token::Work(time) if after_work => write!(f, "+{time}")?,
            Token::Work(time) => write!(f, "{time}")?,
            Token::Fork => {
                open.extend([')']);
                f.write_char('(')?;
            }
            Token::Loop => {
                open.extend(['}']);
                f.write_char('{')?;
            }
            Token::Next => f.write_char('|')?,
            Token::Join => f.write_char(open.pop().unwrap_or(')'))?,
        }
        after_work = matches!(token, Token::Work(_));
    }
    Ok(())
}

impl FromStr for Graph {
    type Err = GraphError;

    /// Reads the form that [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// See [`GraphError`].
    fn from_str(text: &str) -> Result<Self, GraphError> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, head)| head.trim_end()) != Some(HEAD) {
            return Err(GraphError::NoGraph);
        }
        let mut calls = Vec::new();
        let is_whole = text.ends_with('\n');
        let last = text.lines().count();
        for (at, line) in lines {
            if let Some(count) = line.strip_prefix("end ") {
                let is_last = is_whole && count.trim().parse() == Ok(calls.len());
                return if is_last { Ok(Self { calls }) } else { Err(GraphError::CutOff) };
            }
            calls.push(call(line).map_err(|column| match at + 1 == last {
                true => GraphError::CutOff,
                false => GraphError::Line { line: at + 1, column },
            })?);
        }
        Err(GraphError::CutOff)
    }
}

/// Reads one line; the error is the column at which it cannot be read.
fn call(line: &str) -> Result<Call, usize> {
    let (gap, rest) = line.split_once(':').ok_or(1_usize)?;
    let gap = gap.trim().parse().map_err(|_| 1_usize)?;
    let offset = line.len() - rest.len();
    let tokens = tokens(rest).map_err(|at| offset + at + 1)?;
    Call::new(gap, tokens).ok_or(line.len())
}

fn tokens(text: &str) -> Result<Vec<Token>, usize> {
    let bytes = text.as_bytes();
    let (mut tokens, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        let token = match bytes[at] {
            b' ' | b'+' => None,
            b'0'..=b'9' => {
                let end = bytes[at..]
                    .iter()
                    .position(|byte| !byte.is_ascii_digit())
                    .map_or(bytes.len(), |n| at + n);
                let work = text[at..end].parse().map_err(|_| at)?;
                at = end - 1;
                Some(Token::Work(work))
            }
            bracket @ (b'(' | b'{') => {
                open.extend([if bracket == b'(' { b')' } else { b'}' }]);
                Some(if bracket == b'(' { Token::Fork } else { Token::Loop })
            }
            b'|' => Some(Token::Next),
            bracket @ (b')' | b'}') if open.last() == Some(&bracket) => {
                open.pop();
                Some(Token::Join)
            }
            _ => return Err(at),
        };
        tokens.extend(token);
        at += 1;
    }
    if open.is_empty() { Ok(tokens) } else { Err(bytes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A random call: numbers below 4 open, continue and close brackets as far as possible.
    fn grown(steps: &[(u8, u64)]) -> Vec<Token> {
        let (mut tokens, mut depth) = (Vec::new(), 0);
        for &(step, work) in steps {
            let token = match step % 5 {
                0 => Token::Fork,
                1 => Token::Loop,
                2 if depth > 0 => Token::Next,
                3 if depth > 0 => Token::Join,
                _ => Token::Work(work),
            };
            depth += usize::from(matches!(token, Token::Fork | Token::Loop));
            depth -= usize::from(token == Token::Join);
            tokens.push(token);
        }
        tokens.extend(std::iter::repeat_n(Token::Join, depth));
        tokens
    }

    proptest! {
        /// Catches: a lost token, and numbers that run together.
        #[test]
        fn graphs_are_read_as_they_are_written(
            calls in proptest::collection::vec(
                (any::<u64>(), proptest::collection::vec(any::<(u8, u64)>(), 0..40)),
                0..5,
            ),
        ) {
            let calls = calls
                .iter()
                .map(|(gap, steps)| Call::new(*gap, grown(steps)).expect("balanced"))
                .collect();
            let graph = Graph::new(calls);
            prop_assert_eq!(graph.to_string().parse(), Ok(graph));
        }

        /// Catches: a path that leaves a part out or counts one twice, and a span that falls as the
        /// burden rises.
        #[test]
        fn a_span_lies_between_the_longest_stretch_and_all_work(
            steps in proptest::collection::vec((any::<u8>(), 0..1_000_u64), 0..60),
            burden in 0..500_u64,
        ) {
            let graph = Graph::new(vec![Call::new(0, grown(&steps)).expect("balanced")]);
            let stretches = graph.calls[0].stretches();
            let longest = stretches.iter().map(|(work, _)| *work).max().unwrap_or(0);
            prop_assert!(longest <= graph.span(0) && graph.span(0) <= graph.span(burden));
            prop_assert!(graph.span(burden) <= graph.work());
            let serial: Vec<Token> = graph.calls[0].tokens.iter().copied()
                .filter(|token| matches!(token, Token::Work(_))).collect();
            let serial = Graph::new(vec![Call::new(0, serial).expect("no brackets")]);
            prop_assert_eq!(serial.span(burden), graph.work());
        }

        /// Catches: a part of a recording that is read as the whole.
        #[test]
        fn no_recording_can_be_cut_off_unseen(cut in 0..39_usize) {
            let text = "sinew graph 1\n25: 5(1|2(5|5)3)7\n0: {1|2}\nend 2\n";
            let cut = cut.min(text.len() - 1);
            let error = text[..cut].parse::<Graph>().expect_err("a part");
            prop_assert!(matches!(error, GraphError::CutOff | GraphError::NoGraph), "{error}");
        }
    }

    /// Catches: a corrupted recording that is read as another, or an error without its place.
    #[test]
    fn a_corrupted_recording_is_named_by_line_and_column() {
        for (call, column) in
            [("5: 1)", 5), ("5: (1}", 6), ("5: |", 4), ("x: 1", 1), ("5 1", 1), ("5: 1x", 5)]
        {
            let text = format!("sinew graph 1\n{call}\nend 1\n");
            let error = text.parse::<Graph>().expect_err(call);
            assert_eq!(error, GraphError::Line { line: 2, column }, "{call}");
            assert!(!error.to_string().contains('\n'));
        }
        assert_eq!("a tree\n".parse::<Graph>(), Err(GraphError::NoGraph));
    }
}
