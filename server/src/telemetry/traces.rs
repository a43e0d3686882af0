//! One trace per fire: claim, hand-off, run, task, target.
//!
//! A run's key is its trace id, and the id of a span is derived from the object that it describes.
//! So each node can report its own work when it is complete. The spans of several nodes, of a run
//! that was taken over, and of the target then form one trace without passing a context along. No
//! span contains user data: no URL, no output, no error.

use std::{fmt, sync::Arc};

use chrono::{DateTime, Utc};
use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor},
};
use uuid::Uuid;

use super::export::FLUSH;

/// The destination of spans. Cheap to clone; without a collector, no spans are created.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<TraceExporter>>);

struct TraceExporter {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
    /// The share of runs that are traced.
    ratio: f64,
}

/// The run to which spans belong.
#[derive(Clone, Debug)]
pub struct TracedRun {
    /// The run.
    pub id: Uuid,
    /// Whether a fire started the run: if so, its span is the child of the fire's span.
    pub by_fire: bool,
    /// The namespace's name.
    pub namespace: String,
    /// The schedule, if the run has one.
    pub schedule: Option<(Uuid, String)>,
    /// The instant that the run represents.
    pub stands_for: DateTime<Utc>,
    /// The start of its first attempt.
    pub started_at: DateTime<Utc>,
}

/// A fire between its due time and its run.
#[derive(Clone, Copy, Debug)]
pub struct TracedFire<'a> {
    /// The id of the fire, and of the run that it became.
    pub id: Uuid,
    /// The namespace's name.
    pub namespace: &'a str,
    /// The schedule.
    pub schedule: (Uuid, &'a str),
    /// The scheduled instant.
    pub scheduled_at: DateTime<Utc>,
    /// When the fire was due.
    pub due_at: DateTime<Utc>,
    /// When the fire was claimed.
    pub claimed_at: DateTime<Utc>,
    /// When the fire's hand-off began.
    pub handed_from: DateTime<Utc>,
    /// When the hand-off was committed.
    pub handed_at: DateTime<Utc>,
    /// The reason why the fire started, as the ledger names it.
    pub reason: &'a str,
}

/// An attempt at a task.
#[derive(Clone, Copy, Debug)]
pub struct TracedAttempt<'a> {
    /// The run.
    pub run: Uuid,
    /// The task's index in its run combined with the attempt, as passed to [`Traces::traceparent`].
    pub number: u64,
    /// The task.
    pub task: &'a str,
    /// The attempt's number.
    pub attempt: i32,
    /// The kind of its target.
    pub target: &'static str,
    /// When the attempt began and ended, including its preparation and the wait for an answer.
    pub at: (DateTime<Utc>, DateTime<Utc>),
    /// When its target started and stopped working, if it did.
    pub at_target: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// The outcome, as a word.
    pub outcome: &'static str,
    /// The HTTP status of the response.
    pub status: Option<i64>,
}

/// The first half-byte of a span's id encodes what the span describes. For the target it is 0, so
/// that the target's span id is the number that the target receives.
const FIRE: u64 = 1 << 60;
const CLAIM: u64 = 2 << 60;
const HANDOFF: u64 = 3 << 60;
const RUN: u64 = 4 << 60;
const TASK: u64 = 5 << 60;
const NUMBER: u64 = FIRE - 1;

/// The outcome of a successful task.
const SUCCEEDED: &str = "succeeded";

impl Traces {
    pub(super) fn exported(processor: BatchSpanProcessor, ratio: f64) -> Self {
        let scope = InstrumentationScope::builder("carillon")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Self(Some(Arc::new(TraceExporter { processor, scope, ratio })))
    }

    pub(super) fn shutdown(&self) -> OTelSdkResult {
        self.0.as_ref().map_or(Ok(()), |to| to.processor.shutdown_with_timeout(FLUSH))
    }

    /// The `traceparent` header for an attempt's target, which continues the run's trace. The
    /// sampling decision is the same for the whole run, on every node, even on a node without a
    /// collector.
    pub fn traceparent(&self, run: Uuid, number: u64) -> String {
        let flags = u8::from(self.0.as_ref().is_none_or(|to| to.is_traced(run)));
        format!("00-{}-{number:016x}-{flags:02x}", run.simple())
    }

    /// Records a fire that was handed over.
    pub fn fire(&self, fire: &TracedFire<'_>) {
        let Some(to) = self.to(fire.id) else { return };
        let (id, name) = fire.schedule;
        let about = vec![
            KeyValue::new("carillon.namespace", fire.namespace.to_owned()),
            KeyValue::new("carillon.schedule", name.to_owned()),
            KeyValue::new("carillon.schedule_id", id.to_string()),
            KeyValue::new("carillon.scheduled_at", fire.scheduled_at.to_rfc3339()),
            KeyValue::new("carillon.reason", fire.reason.to_owned()),
        ];
        let span = RecordedSpan::of("fire", fire.due_at, fire.handed_at).with(about);
        to.send(fire.id, FIRE, 0, span);
        to.send(fire.id, CLAIM, FIRE, RecordedSpan::of("claim", fire.claimed_at, fire.handed_from));
        to.send(
            fire.id,
            HANDOFF,
            FIRE,
            RecordedSpan::of("hand-off", fire.handed_from, fire.handed_at),
        );
    }

    /// Records an attempt that ended.
    pub fn attempt(&self, attempt: &TracedAttempt<'_>) {
        let Some(to) = self.to(attempt.run) else { return };
        let number = attempt.number & NUMBER;
        let about = || {
            vec![
                KeyValue::new("carillon.task", attempt.task.to_owned()),
                KeyValue::new("carillon.attempt", i64::from(attempt.attempt)),
            ]
        };
        let (from, until) = attempt.at;
        let span = RecordedSpan::of("task", from, until).with(about()).ended(attempt.outcome);
        to.send(attempt.run, TASK | number, RUN, span);
        if let Some((from, until)) = attempt.at_target {
            let mut about = about();
            about.push(KeyValue::new("carillon.target", attempt.target));
            if let Some(status) = attempt.status {
                about.push(KeyValue::new("http.response.status_code", status));
            }
            let span = RecordedSpan::of("target", from, until).with(about);
            let span = span.ended(attempt.outcome).at_others();
            to.send(attempt.run, number, TASK | number, span);
        }
    }

    /// Records a run that settled in `state`, in the ledger's words.
    pub fn run(&self, run: &TracedRun, state: &str, at: DateTime<Utc>) {
        let Some(to) = self.to(run.id) else { return };
        let mut about = vec![
            KeyValue::new("carillon.namespace", run.namespace.clone()),
            KeyValue::new("carillon.run_id", run.id.to_string()),
            KeyValue::new("carillon.scheduled_at", run.stands_for.to_rfc3339()),
        ];
        if let Some((id, name)) = &run.schedule {
            about.push(KeyValue::new("carillon.schedule", name.clone()));
            about.push(KeyValue::new("carillon.schedule_id", id.to_string()));
        }
        let parent = if run.by_fire { FIRE } else { 0 };
        let span = RecordedSpan::of("run", run.started_at, at).with(about).ended(state);
        to.send(run.id, RUN, parent, span);
    }

    fn to(&self, run: Uuid) -> Option<&TraceExporter> {
        self.0.as_deref().filter(|to| to.is_traced(run))
    }
}

impl TraceExporter {
    /// Decides by the random part of the key, so that all nodes agree.
    fn is_traced(&self, run: Uuid) -> bool {
        const RANDOM: u64 = (1 << 62) - 1;
        let (_, low) = run.as_u64_pair();
        ((low & RANDOM) as f64) < self.ratio * RANDOM as f64 || self.ratio >= 1.0
    }

    fn send(&self, run: Uuid, id: u64, parent: u64, span: RecordedSpan) {
        let context = SpanContext::new(
            TraceId::from_bytes(*run.as_bytes()),
            SpanId::from_bytes(id.to_be_bytes()),
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        );
        self.processor.on_end(SpanData {
            span_context: context,
            parent_span_id: SpanId::from_bytes(parent.to_be_bytes()),
            parent_span_is_remote: false,
            span_kind: span.kind,
            name: span.name.into(),
            start_time: span.from.into(),
            // The two instants may come from two clocks, or from one that was stepped.
            end_time: span.to.max(span.from).into(),
            attributes: span.about,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: span.status,
            instrumentation_scope: self.scope.clone(),
        });
    }
}

struct RecordedSpan {
    name: &'static str,
    kind: SpanKind,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    about: Vec<KeyValue>,
    status: Status,
}

impl RecordedSpan {
    fn of(name: &'static str, from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        let (kind, status) = (SpanKind::Internal, Status::Unset);
        Self { name, kind, from, to, about: Vec::new(), status }
    }

    fn with(self, about: Vec<KeyValue>) -> Self {
        Self { about, ..self }
    }

    fn at_others(self) -> Self {
        Self { kind: SpanKind::Client, ..self }
    }

    fn ended(mut self, outcome: &str) -> Self {
        self.about.push(KeyValue::new("carillon.state", outcome.to_owned()));
        if outcome != SUCCEEDED {
            self.status = Status::error(outcome.to_owned());
        }
        self
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Traces(exported)" } else { "Traces(none)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_run_is_its_trace_and_its_attempt_the_parent_of_what_follows() {
        let run = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0007);
        assert_eq!(
            Traces::default().traceparent(run, (2 << 32) | 3),
            "00-01920000000070008000000000000007-0000000200000003-01"
        );
    }
}
