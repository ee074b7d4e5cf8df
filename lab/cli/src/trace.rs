//! The timeline of `--trace`: the activities of each worker, as events for Perfetto and Chrome.
//! Each rank of a job is a process there, with its own number.
//!
//! Source: Google, "Trace Event Format". Times are in microseconds.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sinew::Pool;
use sinew::profile::{Doing, Profiler, Timeline, TimelineSpan};

use sinew_console::Failure;
use sinew_dist::World;

/// The file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    trace_events: Vec<Event>,
    display_time_unit: &'static str,
}

/// An event of the format: `X` is a span, `M` names something.
#[derive(Serialize, Deserialize)]
struct Event {
    name: Cow<'static, str>,
    ph: char,
    pid: u32,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Name>,
}

#[derive(Serialize, Deserialize)]
struct Name {
    name: String,
}

/// The timeline of a pool up to now.
fn read(pool: &Pool) -> Timeline {
    Profiler::of(pool)
        .and_then(Profiler::read_timeline)
        .unwrap_or_else(|| unreachable!("the pool was built to keep a timeline"))
}

/// The timeline of a pool up to now, as a file.
pub(crate) fn json(program: &str, pool: &Pool) -> Result<String, Failure> {
    trace(events(1, program.to_owned(), &read(pool)))
}

fn trace(trace_events: Vec<Event>) -> Result<String, Failure> {
    let trace = Trace { trace_events, display_time_unit: "ns" };
    serde_json::to_string(&trace).map_err(|error| Failure::Output(error.into()))
}

/// The timelines of the pools of all ranks up to now, as a file, on all ranks.
///
/// Their clocks begin with their pools. All read them at the end of a barrier, which is the same
/// moment but for the way of a message, and earlier clocks are moved by the difference.
pub(crate) fn of_ranks(program: &str, world: &World) -> Result<String, Failure> {
    world.barrier();
    let timeline = read(world.pool());
    // The present activity of each worker ends now.
    let now = timeline.workers.iter().filter_map(|spans| spans.last()).map(|span| span.to_ns);
    let now = now.max().unwrap_or(0);
    let late_us = (world.all_reduce(now, u64::max) - now) as f64 / 1e3;
    let rank = world.rank();
    let mut own = events(rank + 1, format!("{program}, rank {rank}"), &timeline);
    own.iter_mut().filter_map(|event| event.ts.as_mut()).for_each(|ts| *ts += late_us);
    // As text, since the events leave out fields, which the format of messages cannot.
    let failed = |error: serde_json::Error| Failure::Output(error.into());
    let lists = world.all_gather(&serde_json::to_string(&own).map_err(failed)?);
    let lists: Result<Vec<Vec<Event>>, _> =
        lists.iter().map(|list| serde_json::from_str(list)).collect();
    trace(lists.map_err(failed)?.into_iter().flatten().collect())
}

fn events(process: u32, program: String, timeline: &Timeline) -> Vec<Event> {
    let mut events = vec![called("process_name", process, 0, program)];
    for (worker, spans) in timeline.workers.iter().enumerate() {
        events.push(called("thread_name", process, worker, format!("worker {worker}")));
        let spans = spans.iter().filter(|span| span.doing != Doing::Away);
        events.extend(spans.map(|span| event(process, worker, span)));
    }
    events
}

fn called(what: &'static str, process: u32, worker: usize, name: String) -> Event {
    Event {
        name: what.into(),
        ph: 'M',
        pid: process,
        tid: worker,
        ts: None,
        dur: None,
        args: Some(Name { name }),
    }
}

fn event(process: u32, worker: usize, span: &TimelineSpan) -> Event {
    let us = |ns: u64| Some(ns as f64 / 1e3);
    let (ts, dur) = (us(span.from_ns), us(span.to_ns - span.from_ns));
    let name = span.doing.name().into();
    Event { name, ph: 'X', pid: process, tid: worker, ts, dur, args: None }
}
