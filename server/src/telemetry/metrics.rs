//! Every instrument of the server, named once.

use std::{fmt, sync::Arc, time::Duration};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Histogram, Meter},
};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use uuid::Uuid;

use super::{
    BrokerCounts, ConnectionRefusal, Sampled, Traces, brokers::Brokers,
    connections::OpenConnections, fleet::FleetFigures, labels::Labels, rates::MinuteRates,
};
use crate::clock::Clock;

/// Histogram bounds in seconds for lateness and durations: a millisecond to an hour.
const SECONDS: [f64; 16] = [
    0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0,
    3600.0,
];

/// Histogram bounds for the number of rows per statement.
const ROWS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 350.0, 500.0];

/// The action of recovery on a fire or run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// A claimed fire without a run was handed over.
    LostHandoff,
    /// A run on a dead node was queued again.
    OrphanedRun,
    /// A run past its hard timeout was ended.
    HardTimeout,
    /// The fire or run was given up because recovery reached its limits.
    Abandoned,
}

/// The outcome of a sign-in attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// A session was created.
    Accepted,
    /// The name is unknown, the password wrong, or the user disabled.
    Refused,
    /// There were too many attempts.
    Limited,
}

/// All instruments. Cheap to clone; recording never waits and never fails.
///
/// Names in this file have no unit: Prometheus shows `carillon.fire_lateness` as
/// `carillon_fire_lateness_seconds`, whether it scrapes the metric or receives it over OTLP.
#[derive(Clone)]
pub struct Instruments {
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
    live_runs: Gauge<u64>,
    places: Gauge<u64>,
    places_held: Gauge<u64>,
    held_back: Counter<u64>,
    info: Gauge<u64>,
    schedule_fires: Counter<u64>,
    schedule_executions: Counter<u64>,
    sign_ins: Counter<u64>,
    retention_rows: Counter<u64>,
    retention_partitions: Counter<u64>,
    retention_chunk_duration: Histogram<f64>,
    history_cut_rows: Counter<u64>,
    log_lines_left_out: Counter<u64>,
    connections: OpenConnections,
    brokers: Arc<Brokers>,
    minute: Arc<MinuteRates>,
    fleet: Arc<FleetFigures>,
    labels: Labels,
    traces: Traces,
}

impl Instruments {
    /// Instruments that nothing reads, for tests and tools.
    pub fn unread(clock: Clock) -> Self {
        use opentelemetry::metrics::MeterProvider;
        let meters = SdkMeterProvider::builder().build();
        Self::new(&meters.meter("carillon"), clock, Traces::default())
    }

    pub(super) fn new(meter: &Meter, clock: Clock, traces: Traces) -> Self {
        let this = Self::of(meter, clock, traces);
        this.begin();
        this
    }

    /// Counters of events that must never happen exist from the start with the value 0, because an
    /// absent counter cannot rise.
    fn begin(&self) {
        let zero = |counter: &Counter<u64>, label: &'static str, words: &[&'static str]| {
            for word in words {
                counter.add(0, &[KeyValue::new(label, *word)]);
            }
        };
        let states = ["succeeded", "failed", "timed_out", "cancelled"];
        zero(&self.executions, "state", &states);
        zero(&self.attempts, "state", &states);
        let kinds = ["lost_handoff", "orphaned_run", "hard_timeout", "abandoned"];
        zero(&self.recovery_events, "kind", &kinds);
        zero(&self.held_back, "share", &["origin", "schedule", "namespace"]);
        zero(&self.sign_ins, "outcome", &["accepted", "refused", "limited"]);
        let tables = ["fire", "run", "task_run", "task_log"];
        zero(&self.retention_rows, "table", &tables);
        zero(&self.history_cut_rows, "table", &tables);
        zero(&self.log_lines_left_out, "quota", &["run", "kept", "day"]);
        zero(&self.retention_partitions, "change", &["made", "dropped"]);
    }

    fn of(meter: &Meter, clock: Clock, traces: Traces) -> Self {
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
        let minute = MinuteRates::observed(meter, clock);
        Self {
            fires: counter("carillon.fires", "Fires by verdict and reason."),
            fire_lateness: seconds("carillon.fire_lateness", "From the due time to the hand-off."),
            claim_batch: rows("carillon.claim_batch_size", "Schedules claimed in one transaction."),
            claim_duration: seconds("carillon.claim_duration", "One claim transaction."),
            handoff_batch: rows(
                "carillon.handoff_batch_size",
                "Fires handed over in one transaction.",
            ),
            handoff_duration: seconds("carillon.handoff_duration", "One hand-off transaction."),
            settle_batch: rows(
                "carillon.settle_batch_size",
                "Attempts settled in one transaction.",
            ),
            settle_duration: seconds("carillon.settle_duration", "One settlement transaction."),
            executions: counter("carillon.executions", "Runs that ended, by state."),
            execution_duration: seconds(
                "carillon.execution_duration",
                "From a run's start to its end.",
            ),
            attempts: counter("carillon.attempts", "Attempts at tasks that ended, by state."),
            recovery_events: counter("carillon.recovery_events", "Actions of recovery, by kind."),
            live_runs: gauge("carillon.live_runs", "Runs in progress on this node."),
            places: gauge("carillon.places", "Places for runs on this node: its capacity."),
            places_held: gauge("carillon.places_held", "Places that runs hold on this node."),
            held_back: counter(
                "carillon.held_back",
                "Runs that could not have a free place, by the share or quota that was used up.",
            ),
            info: gauge("carillon.info", "Version, database and zone data, as labels: always 1."),
            schedule_fires: counter(
                "carillon.schedule_fires",
                "Fires of the schedules of metrics.schedules, by verdict and reason.",
            ),
            schedule_executions: counter(
                "carillon.schedule_executions",
                "Runs of the schedules of metrics.schedules that ended, by state.",
            ),
            sign_ins: counter("carillon.sign_ins", "Attempts to sign in, by outcome."),
            retention_rows: counter(
                "carillon.retention_rows",
                "Rows that retention removed, by table.",
            ),
            retention_partitions: counter(
                "carillon.retention_partitions",
                "Partitions created and dropped.",
            ),
            retention_chunk_duration: seconds(
                "carillon.retention_chunk_duration",
                "One transaction that removes old rows.",
            ),
            history_cut_rows: counter(
                "carillon.history_cut_rows",
                "Rows removed before their retention, for a namespace's quota, by table.",
            ),
            log_lines_left_out: counter(
                "carillon.log_lines_left_out",
                "Log lines that were not kept, by the quota that was used up.",
            ),
            connections: OpenConnections::of(meter),
            brokers: Brokers::observed(meter),
            minute,
            fleet: FleetFigures::observed(meter),
            labels: Labels::default(),
            traces,
        }
    }

    /// The traces.
    pub fn traces(&self) -> &Traces {
        &self.traces
    }

    /// Counts fires of a schedule with this verdict and reason, in the ledger's words.
    pub fn fires(&self, schedule: Option<Uuid>, verdict: String, reason: String, count: u64) {
        let labels = [KeyValue::new("verdict", verdict), KeyValue::new("reason", reason)];
        self.fires.add(count, &labels);
        if let Some(labels) = self.labels.of(schedule, &labels) {
            self.schedule_fires.add(count, &labels);
        }
    }

    /// Records how long after its due time a fire was handed over.
    pub fn lateness(&self, late: Duration) {
        self.fire_lateness.record(late.as_secs_f64(), &[]);
    }

    /// Records a committed claim of `schedules`.
    pub fn claimed(&self, schedules: usize, took: Duration) {
        self.claim_batch.record(schedules as u64, &[]);
        self.claim_duration.record(took.as_secs_f64(), &[]);
    }

    /// Records a committed hand-off of `fires`.
    pub fn handed_over(&self, fires: usize, took: Duration) {
        self.handoff_batch.record(fires as u64, &[]);
        self.handoff_duration.record(took.as_secs_f64(), &[]);
    }

    /// Records a committed settlement of `attempts`.
    pub fn settled(&self, attempts: usize, took: Duration) {
        self.settle_batch.record(attempts as u64, &[]);
        self.settle_duration.record(took.as_secs_f64(), &[]);
    }

    /// Counts a run that ended in `state` after this time, for its schedule if it has one.
    pub fn execution(&self, schedule: Option<Uuid>, state: String, took: Duration, failed: bool) {
        let labels = [KeyValue::new("state", state)];
        self.executions.add(1, &labels);
        self.execution_duration.record(took.as_secs_f64(), &labels);
        if let Some(labels) = self.labels.of(schedule, &labels) {
            self.schedule_executions.add(1, &labels);
        }
        self.minute.ended(took, failed);
    }

    /// Counts an attempt that ended in `state`.
    pub fn attempt(&self, state: String) {
        self.attempts.add(1, &[KeyValue::new("state", state)]);
    }

    /// Counts the fires or runs that recovery handled.
    pub fn recovered(&self, what: RecoveryKind, count: usize) {
        let kind = match what {
            RecoveryKind::LostHandoff => "lost_handoff",
            RecoveryKind::OrphanedRun => "orphaned_run",
            RecoveryKind::HardTimeout => "hard_timeout",
            RecoveryKind::Abandoned => "abandoned",
        };
        self.recovery_events.add(count as u64, &[KeyValue::new("kind", kind)]);
    }

    /// Counts the rows of a table that retention removed.
    pub fn retention_rows(&self, table: &'static str, rows: u64) {
        self.retention_rows.add(rows, &[KeyValue::new("table", table)]);
    }

    /// Counts the partitions that retention has `made` or `dropped`.
    pub fn partitions(&self, change: &'static str, count: u64) {
        self.retention_partitions.add(count, &[KeyValue::new("change", change)]);
    }

    /// Records how long a retention transaction held the writer.
    pub fn retention_chunk(&self, took: Duration) {
        self.retention_chunk_duration.record(took.as_secs_f64(), &[]);
    }

    /// Counts rows of a table that were removed for a namespace's quota of history.
    pub fn history_cut(&self, table: &'static str, rows: u64) {
        self.history_cut_rows.add(rows, &[KeyValue::new("table", table)]);
    }

    /// Counts log lines that were left out because this quota was used up.
    pub fn log_lines_left_out(&self, quota: &'static str, lines: u64) {
        self.log_lines_left_out.add(lines, &[KeyValue::new("quota", quota)]);
    }

    /// Sets the number of runs in progress on this node.
    pub fn live_runs(&self, count: usize) {
        self.live_runs.record(count as u64, &[]);
    }

    /// Sets the number of this node's places that are in use.
    pub fn places(&self, held: usize, capacity: usize) {
        self.places_held.record(held as u64, &[]);
        self.places.record(capacity as u64, &[]);
    }

    /// Counts a run that could not get a free place, because its origin, schedule or namespace has
    /// used up its share.
    pub fn held_back(&self, share: &'static str) {
        self.held_back.add(1, &[KeyValue::new("share", share)]);
    }

    /// Sets the figures just counted in the database; `None` if it did not answer.
    pub fn sampled(&self, sampled: Option<Sampled>) {
        self.fleet.found(sampled);
    }

    /// Sets the labels of the running database and zone data.
    pub fn runs_on(&self, database: &'static str, zone_data: String) {
        let labels = [
            KeyValue::new("version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("database", database),
            KeyValue::new("zone_data", zone_data),
        ];
        self.info.record(1, &labels);
    }

    /// Gives these schedules their own series: id, namespace, name.
    pub fn tell_apart(&self, schedules: impl IntoIterator<Item = (Uuid, String, String)>) {
        self.labels.set(schedules);
    }

    /// Sets the source of the counts of published events; it is read on each scrape.
    pub fn brokers(&self, source: impl Fn() -> Vec<BrokerCounts> + Send + Sync + 'static) {
        self.brokers.tell(source);
    }

    /// Sets the number of `open` HTTP connections, and their `limit`.
    pub fn connections(&self, open: usize, limit: usize) {
        self.connections.record(open, limit);
    }

    /// Counts a refused connection.
    pub fn no_place(&self, reason: ConnectionRefusal) {
        self.connections.refused(reason);
    }

    /// Counts an attempt to sign in.
    pub fn sign_in(&self, outcome: SignIn) {
        let outcome = match outcome {
            SignIn::Accepted => "accepted",
            SignIn::Refused => "refused",
            SignIn::Limited => "limited",
        };
        self.sign_ins.add(1, &[KeyValue::new("outcome", outcome)]);
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Instruments")
    }
}
