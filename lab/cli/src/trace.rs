//! The timeline of `--trace`: the activities of each worker, as events for Perfetto and Chrome.
//!
//! Source: Google, "Trace Event Format". Times are in microseconds.

use serde::Serialize;
use sinew::Pool;
use sinew::profile::{Doing, Profiler, Timeline, TimelineSpan};

use sinew_console::Failure;

/// The file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    trace_events: Vec<Event>,
    display_time_unit: &'static str,
}

/// An event of the format: `X` is a span, `M` names something.
#[derive(Serialize)]
struct Event {
    name: &'static str,
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

#[derive(Serialize)]
struct Name {
    name: String,
}

/// The timeline of a pool up to now.
pub(crate) fn json(program: &str, pool: &Pool) -> Result<String, Failure> {
    let timeline = Profiler::of(pool)
        .and_then(Profiler::read_timeline)
        .unwrap_or_else(|| unreachable!("the pool was built to keep a timeline"));
    let trace = Trace { trace_events: events(program, &timeline), display_time_unit: "ns" };
    serde_json::to_string(&trace).map_err(|error| Failure::Output(error.into()))
}

fn events(program: &str, timeline: &Timeline) -> Vec<Event> {
    let mut events = vec![called("process_name", 0, program.to_owned())];
    for (worker, spans) in timeline.workers.iter().enumerate() {
        events.push(called("thread_name", worker, format!("worker {worker}")));
        events.extend(
            spans.iter().filter(|span| span.doing != Doing::Away).map(|span| event(worker, span)),
        );
    }
    events
}

fn called(what: &'static str, worker: usize, name: String) -> Event {
    Event {
        name: what,
        ph: 'M',
        pid: 1,
        tid: worker,
        ts: None,
        dur: None,
        args: Some(Name { name }),
    }
}

fn event(worker: usize, span: &TimelineSpan) -> Event {
    let us = |ns: u64| Some(ns as f64 / 1e3);
    let (ts, dur) = (us(span.from_ns), us(span.to_ns - span.from_ns));
    Event { name: span.doing.name(), ph: 'X', pid: 1, tid: worker, ts, dur, args: None }
}
