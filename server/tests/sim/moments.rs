//! The states of fires and runs and their context, at each change. Triggers in the database record
//! them in the order of the changes, without judging them.

use std::collections::HashMap;

use carillon::store::{DatabaseTransaction, Store};
use entity::{
    fire::{Reason, Verdict},
    run,
    schedule::Overlap,
};
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult};
use uuid::Uuid;

/// The columns of a moment, each with its expression for a fire and for a run. They include the
/// state of the schedule at that moment.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("word", "NEW.verdict", "NEW.state"),
    ("why", "NEW.reason", "NEW.trigger"),
    ("detail", "coalesce(NEW.detail, '')", "''"),
    ("overlap", "coalesce(s.overlap, '')", "coalesce(s.overlap, '')"),
    ("scheduled_at", "NEW.scheduled_at", "NEW.scheduled_at"),
    ("due_at", "NEW.due_at", "NEW.due_at"),
    ("claimed_at", "NEW.claimed_at", "NEW.created_at"),
    ("decided_at", "coalesce(NEW.decided_at, 0)", "coalesce(NEW.finished_at, 0)"),
    ("version", "NEW.schedule_version", "0"),
    ("in_force", "coalesce(s.version, 0)", "0"),
    ("attempt", "0", "NEW.attempt"),
    ("available_at", "0", "NEW.available_at"),
    ("recoveries", "NEW.recovery_attempts", "NEW.recovery_attempts"),
    ("owned", "CASE WHEN NEW.claimed_by IS NULL THEN 0 ELSE 1 END", "0"),
    ("waits", "CASE WHEN NEW.queue_position IS NULL THEN 0 ELSE 1 END", "0"),
    ("enabled", "CASE WHEN s.enabled THEN 1 ELSE 0 END", "CASE WHEN s.enabled THEN 1 ELSE 0 END"),
    ("deleted", "CASE WHEN s.deleted_at IS NULL THEN 0 ELSE 1 END", "0"),
    ("fires_version", "coalesce(s.fires_version, 0)", "0"),
    ("buffer_limit", "coalesce(s.buffer_limit, 100)", "0"),
    ("deadline_ms", "coalesce(s.start_deadline_ms, -1)", "coalesce(s.start_deadline_ms, -1)"),
    ("jitter_ms", "coalesce(s.jitter_ms, 0)", "coalesce(s.jitter_ms, 0)"),
    ("max_fires", "coalesce(s.max_fires, -1)", "0"),
    ("made_up", "CASE WHEN NEW.made_up_for IS NULL THEN 0 ELSE 1 END", "0"),
];

/// How long after its instant a fire starts on time, in milliseconds.
pub(crate) const ON_TIME_MS: i64 = 2_000;

/// The number of leading columns that are texts.
const WORDS: usize = 4;

/// Makes the database record the moments.
pub(crate) async fn install(store: &Store, tx: &DatabaseTransaction) {
    let (seq, key) = match store.dialect().is_postgres() {
        true => ("bigserial PRIMARY KEY", "uuid"),
        false => ("INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"),
    };
    let columns = COLUMNS.iter().enumerate().map(|(place, (name, ..))| {
        let kind = if place < WORDS { "text" } else { "bigint" };
        format!("{name} {kind} NOT NULL")
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let table = format!(
        "CREATE TABLE moment (seq {seq}, what text NOT NULL, id {key} NOT NULL, \
           schedule_id {key} NOT NULL, is_new bigint NOT NULL, {columns})"
    );
    let mut statements = vec![table];
    let fire_moved = "OLD.verdict <> NEW.verdict OR (OLD.claimed_by IS NULL) <> \
        (NEW.claimed_by IS NULL) OR (OLD.queue_position IS NULL) <> (NEW.queue_position IS NULL)";
    let run_moved = "OLD.state <> NEW.state";
    for (table, moved) in [("fire", fire_moved), ("run", run_moved)] {
        let names = COLUMNS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        let values = COLUMNS.iter().map(|(_, fire, run)| if table == "fire" { fire } else { run });
        let values = values.copied().collect::<Vec<_>>().join(", ");
        let events = [("made", "INSERT", "true", 1), ("moved", "UPDATE", moved, 0)];
        for (name, event, when, is_new) in events {
            let note = format!(
                "INSERT INTO moment (what, id, schedule_id, is_new, {names}) \
                   SELECT '{table}', NEW.id, NEW.schedule_id, {is_new}, {values} \
                   FROM (SELECT 1 AS one) x LEFT JOIN schedule s ON s.id = NEW.schedule_id \
                   WHERE NEW.schedule_id IS NOT NULL;"
            );
            let name = format!("sim_moment_{table}_{name}");
            if store.dialect().is_postgres() {
                statements.push(format!(
                    "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                       IF {when} THEN {note} END IF; RETURN NULL; END $$"
                ));
                statements.push(format!(
                    "CREATE TRIGGER {name} AFTER {event} ON {table} \
                       FOR EACH ROW EXECUTE FUNCTION {name}()"
                ));
            } else {
                statements.push(format!(
                    "CREATE TRIGGER {name} AFTER {event} ON {table} WHEN {when} BEGIN {note} END"
                ));
            }
        }
    }
    for statement in statements {
        tx.execute_unprepared(&statement).await.unwrap();
    }
}

/// A ledger row or a run, in its state at some moment.
#[derive(Clone, Debug, FromQueryResult)]
pub(crate) struct Moment {
    what: String,
    pub(crate) id: Uuid,
    pub(crate) schedule_id: Uuid,
    is_new: i64,
    word: String,
    why: String,
    pub(crate) detail: String,
    overlap: String,
    pub(crate) scheduled_at: i64,
    pub(crate) due_at: i64,
    /// For a run: when the run was created.
    pub(crate) claimed_at: i64,
    pub(crate) decided_at: i64,
    pub(crate) version: i64,
    /// The version of the schedule at that moment.
    pub(crate) in_force: i64,
    /// For a run: the number of its last attempt, and when the next one may begin.
    pub(crate) attempt: i64,
    pub(crate) available_at: i64,
    pub(crate) recoveries: i64,
    owned: i64,
    waits: i64,
    enabled: i64,
    deleted: i64,
    pub(crate) fires_version: i64,
    pub(crate) buffer_limit: i64,
    deadline_ms: i64,
    jitter_ms: i64,
    max_fires: i64,
    made_up: i64,
}

impl Moment {
    /// Whether this is a moment of a run.
    pub(crate) fn is_of_run(&self) -> bool {
        self.what == "run"
    }

    /// Whether the row was written at that moment, and not before.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new == 1
    }

    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::try_from_value(&self.word).expect("a verdict")
    }

    pub(crate) fn reason(&self) -> Reason {
        Reason::try_from_value(&self.why).expect("a reason")
    }

    pub(crate) fn state(&self) -> run::State {
        run::State::try_from_value(&self.word).expect("a state")
    }

    pub(crate) fn trigger(&self) -> run::Trigger {
        run::Trigger::try_from_value(&self.why).expect("a trigger")
    }

    /// The policy of the schedule, if it existed.
    pub(crate) fn overlap(&self) -> Option<Overlap> {
        (!self.overlap.is_empty())
            .then(|| Overlap::try_from_value(&self.overlap).expect("a policy"))
    }

    /// Whether the fire was waiting to be handed over.
    pub(crate) fn is_owned(&self) -> bool {
        self.verdict() == Verdict::Pending && self.owned == 1
    }

    /// Whether the fire was waiting in the buffer.
    pub(crate) fn waits(&self) -> bool {
        self.verdict() == Verdict::Pending && self.waits == 1
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled == 1
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted == 1
    }

    /// Whether the fire was past its deadline at `now`. The deadline counts from the time when the
    /// fire was due, and for a caught-up fire from the latest time that its jitter allowed.
    pub(crate) fn is_too_late(&self, now: i64) -> bool {
        self.makes_too_late(self, now)
    }

    /// Whether another fire of the schedule is past its deadline at `now`, by the schedule's state
    /// at this moment.
    pub(crate) fn makes_too_late(&self, other: &Self, now: i64) -> bool {
        let from = other.due_at.min(other.scheduled_at + self.jitter_ms);
        self.deadline_ms >= 0 && now - from > self.deadline_ms
    }

    /// Whether the fire starts on time at `now`.
    pub(crate) fn is_on_time(&self, now: i64) -> bool {
        now - self.due_at <= ON_TIME_MS
    }

    /// Whether the fire is caught up on, or follows such fires. Then it waits for other runs: it is
    /// not skipped and stops none of them.
    pub(crate) fn is_made_up(&self) -> bool {
        self.made_up == 1
    }

    /// The maximum number of fires that the schedule had.
    pub(crate) fn max_fires(&self) -> Option<i64> {
        (self.max_fires >= 0).then_some(self.max_fires)
    }
}

/// All moments, in order.
pub(crate) async fn all(store: &Store) -> Vec<Moment> {
    let statement = store.dialect().statement("SELECT * FROM moment ORDER BY seq", []);
    Moment::find_by_statement(statement).all(store.read()).await.unwrap()
}

/// The first state of each ledger row, and its state when it started. If a row moves to another
/// partition, it is recorded again.
pub(crate) struct Turns {
    pub(crate) made: HashMap<Uuid, Moment>,
    pub(crate) started: HashMap<Uuid, Moment>,
}

impl Turns {
    pub(crate) fn of(all: &[Moment]) -> Self {
        let first = |is_it: &dyn Fn(&Moment) -> bool| {
            let mut first = HashMap::new();
            for moment in all.iter().filter(|moment| !moment.is_of_run() && is_it(moment)) {
                first.entry(moment.id).or_insert_with(|| moment.clone());
            }
            first
        };
        Self { made: first(&|_| true), started: first(&|it| it.verdict() == Verdict::Started) }
    }
}
