use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Histogram, Meter},
};
use opentelemetry_sdk::metrics::SdkMeterProvider;

use super::window::Window;
use crate::clock::Clock;

/// Upper bounds in seconds for how late or how long something was: a millisecond to an hour.
const SECONDS: [f64; 16] = [
    0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0,
    3600.0,
];

/// Upper bounds for how many rows a statement took.
const ROWS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 350.0, 500.0];

/// What recovery did for a fire or run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// A claimed fire without a run was handed over.
    LostHandoff,
    /// A run on a dead node was queued again.
    OrphanedRun,
    /// A run over its hard timeout was ended.
    HardTimeout,
    /// It was given up: the limits of recovery are reached.
    Abandoned,
    /// A due schedule that nobody had claimed was claimed.
    Unclaimed,
}

/// How an attempt to sign in ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// With a session.
    Accepted,
    /// Unknown name, wrong password, or a disabled user.
    Refused,
    /// Too many attempts.
    Limited,
}

/// Every instrument. Cheap to clone; recording never waits and never fails.
///
/// Names here are without prefix and unit: Prometheus shows `fire_lateness` as
/// `carillon_fire_lateness_seconds`.
#[derive(Clone)]
pub struct Metrics {
    fires: Counter<u64>,
    fire_lateness: Histogram<f64>,
    claim_batch: Histogram<u64>,
    claim_duration: Histogram<f64>,
    handoff_batch: Histogram<u64>,
    handoff_duration: Histogram<f64>,
    settle_batch: Histogram<u64>,
    settle_duration: Histogram<f64>,
    executions: Counter<u64>,
    execution_duration: Histogram<f64>,
    attempts: Counter<u64>,
    recovery_events: Counter<u64>,
    queue_depth: Gauge<u64>,
    live_runs: Gauge<u64>,
    total_schedules: Gauge<u64>,
    active_schedules: Gauge<u64>,
    sign_ins: Counter<u64>,
    retention_rows: Counter<u64>,
    retention_partitions: Counter<u64>,
    retention_chunk_duration: Histogram<f64>,
    minute: Arc<Minute>,
}

struct Minute {
    clock: Clock,
    start: Instant,
    window: Mutex<Window>,
}

impl Metrics {
    /// Instruments that nobody reads: for tests and tools.
    pub fn unread(clock: Clock) -> Self {
        use opentelemetry::metrics::MeterProvider;
        Self::new(&SdkMeterProvider::builder().build().meter("carillon"), clock)
    }

    pub(super) fn new(meter: &Meter, clock: Clock) -> Self {
        let counter = |name, text| meter.u64_counter(name).with_description(text).build();
        let gauge = |name, text| meter.u64_gauge(name).with_description(text).build();
        let seconds = |name, text| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(text);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        let rows = |name, text| {
            let histogram = meter.u64_histogram(name).with_description(text);
            histogram.with_boundaries(ROWS.to_vec()).build()
        };
        let minute = Arc::new(Minute { start: clock.instant(), clock, window: Mutex::default() });
        observe_rates(meter, &minute);
        Self {
            fires: counter("fires", "Fires by verdict and reason."),
            fire_lateness: seconds("fire_lateness", "From the due time to the hand-off."),
            claim_batch: rows("claim_batch_size", "Schedules claimed in one transaction."),
            claim_duration: seconds("claim_duration", "One claim transaction."),
            handoff_batch: rows("handoff_batch_size", "Fires handed over in one transaction."),
            handoff_duration: seconds("handoff_duration", "One hand-off transaction."),
            settle_batch: rows("settle_batch_size", "Attempts settled in one transaction."),
            settle_duration: seconds("settle_duration", "One settlement transaction."),
            executions: counter("executions", "Runs that ended, by state."),
            execution_duration: seconds("execution_duration", "From a run's start to its end."),
            attempts: counter("attempts", "Attempts at tasks that ended, by state."),
            recovery_events: counter("recovery_events", "What recovery did, by kind."),
            queue_depth: gauge("queue_depth", "Runs that wait for a place."),
            live_runs: gauge("live_runs", "Runs at work on this node."),
            total_schedules: gauge("total_schedules", "Schedules that are not deleted."),
            active_schedules: gauge("active_schedules", "Schedules that will fire."),
            sign_ins: counter("sign_ins", "Attempts to sign in, by outcome."),
            retention_rows: counter("retention_rows", "Rows that retention removed, by table."),
            retention_partitions: counter("retention_partitions", "Partitions made and dropped."),
            retention_chunk_duration: seconds(
                "retention_chunk_duration",
                "One transaction that removes old rows.",
            ),
            minute,
        }
    }

    /// So many fires have this verdict, for this reason: the words of the ledger.
    pub fn fires(&self, verdict: String, reason: String, count: u64) {
        let labels = [KeyValue::new("verdict", verdict), KeyValue::new("reason", reason)];
        self.fires.add(count, &labels);
    }

    /// A fire was handed over so long after it was due.
    pub fn lateness(&self, late: Duration) {
        self.fire_lateness.record(late.as_secs_f64(), &[]);
    }

    /// A claim of `schedules` was committed.
    pub fn claimed(&self, schedules: usize, took: Duration) {
        self.claim_batch.record(schedules as u64, &[]);
        self.claim_duration.record(took.as_secs_f64(), &[]);
    }

    /// A hand-off of `fires` was committed.
    pub fn handed_over(&self, fires: usize, took: Duration) {
        self.handoff_batch.record(fires as u64, &[]);
        self.handoff_duration.record(took.as_secs_f64(), &[]);
    }

    /// A settlement of `attempts` was committed.
    pub fn settled(&self, attempts: usize, took: Duration) {
        self.settle_batch.record(attempts as u64, &[]);
        self.settle_duration.record(took.as_secs_f64(), &[]);
    }

    /// A run ended in `state`, so long after it started.
    pub fn execution(&self, state: String, took: Duration, failed: bool) {
        let labels = [KeyValue::new("state", state)];
        self.executions.add(1, &labels);
        self.execution_duration.record(took.as_secs_f64(), &labels);
        let second = self.minute.second();
        self.minute.locked().record(second, took, failed);
    }

    /// An attempt at a task ended in `state`.
    pub fn attempt(&self, state: String) {
        self.attempts.add(1, &[KeyValue::new("state", state)]);
    }

    /// Recovery dealt with so many.
    pub fn recovered(&self, what: Recovery, count: usize) {
        let kind = match what {
            Recovery::LostHandoff => "lost_handoff",
            Recovery::OrphanedRun => "orphaned_run",
            Recovery::HardTimeout => "hard_timeout",
            Recovery::Abandoned => "abandoned",
            Recovery::Unclaimed => "unclaimed",
        };
        self.recovery_events.add(count as u64, &[KeyValue::new("kind", kind)]);
    }

    /// Retention removed rows of a table.
    pub fn retention_rows(&self, table: &'static str, rows: u64) {
        self.retention_rows.add(rows, &[KeyValue::new("table", table)]);
    }

    /// Retention has `made` or `dropped` partitions.
    pub fn partitions(&self, change: &'static str, count: u64) {
        self.retention_partitions.add(count, &[KeyValue::new("change", change)]);
    }

    /// A transaction of retention held the writer for so long.
    pub fn retention_chunk(&self, took: Duration) {
        self.retention_chunk_duration.record(took.as_secs_f64(), &[]);
    }

    /// So many runs are at work on this node.
    pub fn live_runs(&self, count: usize) {
        self.live_runs.record(count as u64, &[]);
    }

    /// So many runs wait for a place.
    pub fn queue_depth(&self, count: u64) {
        self.queue_depth.record(count, &[]);
    }

    /// So many schedules are there, and so many of them will fire.
    pub fn schedules(&self, total: u64, active: u64) {
        self.total_schedules.record(total, &[]);
        self.active_schedules.record(active, &[]);
    }

    /// Somebody tried to sign in.
    pub fn sign_in(&self, outcome: SignIn) {
        let outcome = match outcome {
            SignIn::Accepted => "accepted",
            SignIn::Refused => "refused",
            SignIn::Limited => "limited",
        };
        self.sign_ins.add(1, &[KeyValue::new("outcome", outcome)]);
    }
}

/// The rates are computed when they are read.
fn observe_rates(meter: &Meter, minute: &Arc<Minute>) {
    let of = Arc::clone(minute);
    meter
        .u64_observable_gauge("executions_per_minute")
        .with_description("Runs that ended on this node in the last minute.")
        .with_callback(move |gauge| gauge.observe(of.summary().per_minute, &[]))
        .build();
    let of = Arc::clone(minute);
    meter
        .f64_observable_gauge("average_execution_time")
        .with_unit("s")
        .with_description("Their mean time from start to end.")
        .with_callback(move |gauge| gauge.observe(of.summary().average_seconds, &[]))
        .build();
    let of = Arc::clone(minute);
    meter
        .f64_observable_gauge("failed_executions_rate")
        .with_description("The share of them that ended badly, 0 to 1.")
        .with_callback(move |gauge| gauge.observe(of.summary().failed_share, &[]))
        .build();
}

impl Minute {
    fn second(&self) -> u64 {
        self.clock.instant().duration_since(self.start).as_secs() + 1
    }

    fn summary(&self) -> super::window::Summary {
        self.locked().summary(self.second())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
