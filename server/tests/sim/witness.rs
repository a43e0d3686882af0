//! The conditions that must hold after each step. Triggers in the database keep a journal of all
//! changes, which is read after each step.

use carillon::store::{DatabaseTransaction, Store};
use chrono::{DateTime, Utc};
use entity::{fire::Verdict, run, task_run};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter,
};
use uuid::Uuid;

use super::{
    lives::Lives,
    workshop::{self, Execution},
};

/// The states of a run that has not settled.
pub(crate) const LIVE: &str = "('queued', 'running', 'retrying')";

/// The number of live runs beside which a fire's new run must not start.
const BESIDE: &str = "(SELECT count(*) FROM run r JOIN schedule s ON s.id = r.schedule_id \
   WHERE r.schedule_id = NEW.schedule_id AND r.id <> NEW.id AND s.overlap <> 'allow' \
     AND NEW.trigger = 'schedule' AND r.trigger = 'schedule' AND r.state IN {live})";

/// Whether a run is in progress although its group is full.
const CROWD: &str = "(SELECT CASE WHEN NEW.state = 'running' AND NEW.group_id IS NOT NULL AND \
     (SELECT count(*) FROM run r WHERE r.group_id = NEW.group_id AND r.state = 'running' \
        AND r.id <> NEW.id) \
     >= (SELECT max_runs FROM concurrency_group g WHERE g.id = NEW.group_id) \
   THEN 1 ELSE 0 END)";

/// Whether a backfill must not start this run: another run is live for the instant, the backfill
/// has its maximum of live runs, or it is not active now.
const TWIN: &str = "(SELECT CASE WHEN NEW.trigger = 'backfill' AND ( \
     EXISTS (SELECT 1 FROM run r WHERE r.schedule_id = NEW.schedule_id \
       AND r.scheduled_at = NEW.scheduled_at AND r.id <> NEW.id AND r.state IN {live}) \
     OR NOT EXISTS (SELECT 1 FROM backfill b WHERE b.id = NEW.backfill_id AND b.state = 'running' \
       AND b.concurrency >= (SELECT count(*) FROM run r \
         WHERE r.backfill_id = b.id AND r.state IN {live}))) \
   THEN 1 ELSE 0 END)";

/// Whether the node that works on an attempt counts as alive.
const ALIVE: &str = "(SELECT count(*) FROM node n WHERE n.id = NEW.node_id AND n.state = 'alive')";

const INTO: &str = "INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, \
   epoch, beside, crowd, twin)";

/// Creates the journal.
pub(crate) async fn install(store: &Store, tx: &DatabaseTransaction) {
    let made = format!(
        "{INTO} SELECT 'run', NEW.id, '', NEW.state, 0, NEW.attempt, 0, NEW.epoch, {BESIDE}, \
           {CROWD}, {TWIN};"
    )
    .replace("{live}", LIVE);
    let moved = format!(
        "{INTO} SELECT 'run', NEW.id, OLD.state, NEW.state, OLD.attempt, NEW.attempt, OLD.epoch, \
           NEW.epoch, 0, {CROWD}, 0;"
    );
    let is_moved = "OLD.state <> NEW.state OR OLD.attempt <> NEW.attempt OR OLD.epoch <> NEW.epoch";
    let fire =
        format!("{INTO} SELECT 'fire', NEW.id, OLD.verdict, NEW.verdict, 0, 0, 0, 0, 0, 0, 0;");
    let attempt = format!(
        "{INTO} SELECT 'attempt', NEW.run_id, OLD.state, NEW.state, 0, NEW.attempt, 0, 0, {ALIVE}, \
           0, 0;"
    );
    // In the journal, the columns for a run's epochs contain a node's heartbeats.
    let life =
        |was: &str| format!("{INTO} SELECT 'node', NEW.id, {was}, NEW.heartbeat_at, 0, 0, 0;");
    let begun = life("'', NEW.state, 0, 0, 0");
    let lived = life("OLD.state, NEW.state, 0, 0, OLD.heartbeat_at");
    let beats = "OLD.heartbeat_at <> NEW.heartbeat_at OR OLD.state <> NEW.state";
    let statements = if store.dialect().is_postgres() {
        let function = |name: &str, body: &str| {
            format!(
                "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} \
                   RETURN NULL; END $$"
            )
        };
        let when = |condition: &str, body: &str| format!("IF {condition} THEN {body} END IF;");
        // A row that moves to another partition already has its shadow copy.
        let is_new = "NOT EXISTS (SELECT 1 FROM gone_run s WHERE s.id = NEW.id)";
        let trigger = |name: &str, event: &str, table: &str| {
            format!(
                "CREATE TRIGGER {name} AFTER {event} ON {table} \
                   FOR EACH ROW EXECUTE FUNCTION {name}()"
            )
        };
        vec![
            format!("CREATE TABLE journal (seq bigserial PRIMARY KEY, {})", columns("uuid")),
            function("sim_a_run_made", &when(is_new, &made)),
            function("sim_run_moved", &when(is_moved, &moved)),
            function("sim_fire_moved", &when("OLD.verdict <> NEW.verdict", &fire)),
            function("sim_attempt_moved", &when("OLD.state <> NEW.state", &attempt)),
            function("sim_node_made", &begun),
            function("sim_node_lived", &when(beats, &lived)),
            trigger("sim_a_run_made", "INSERT", "run"),
            trigger("sim_run_moved", "UPDATE", "run"),
            trigger("sim_fire_moved", "UPDATE", "fire"),
            trigger("sim_attempt_moved", "UPDATE", "task_run"),
            trigger("sim_node_made", "INSERT", "node"),
            trigger("sim_node_lived", "UPDATE", "node"),
        ]
    } else {
        let seq = "seq INTEGER PRIMARY KEY AUTOINCREMENT";
        let trigger = |name: &str, event: &str, condition: &str, body: &str| {
            format!("CREATE TRIGGER {name} AFTER {event} WHEN {condition} BEGIN {body} END")
        };
        let (fire_moved, attempt_moved) = ("OLD.verdict <> NEW.verdict", "OLD.state <> NEW.state");
        vec![
            format!("CREATE TABLE journal ({seq}, {})", columns("BLOB")),
            trigger("sim_run_made", "INSERT ON run", "true", &made),
            trigger("sim_run_moved", "UPDATE ON run", is_moved, &moved),
            trigger("sim_fire_moved", "UPDATE ON fire", fire_moved, &fire),
            trigger("sim_attempt_moved", "UPDATE ON task_run", attempt_moved, &attempt),
            trigger("sim_node_made", "INSERT ON node", "true", &begun),
            trigger("sim_node_lived", "UPDATE ON node", beats, &lived),
        ]
    };
    for statement in statements {
        tx.execute_unprepared(&statement).await.unwrap();
    }
}

fn columns(key: &str) -> String {
    let words = ["what", "was", "became"].map(|name| format!("{name} text NOT NULL"));
    let numbers = ["was_attempt", "attempt", "was_epoch", "epoch", "beside", "crowd", "twin"];
    let numbers = numbers.map(|name| format!("{name} bigint NOT NULL"));
    format!("id {key} NOT NULL, {}, {}", words.join(", "), numbers.join(", "))
}

#[derive(Debug, FromQueryResult)]
struct Line {
    seq: i64,
    what: String,
    id: Uuid,
    was: String,
    became: String,
    was_attempt: i64,
    attempt: i64,
    was_epoch: i64,
    epoch: i64,
    beside: i64,
    crowd: i64,
    twin: i64,
}

/// A reader of the journal and of the workshop's records, which continues where its last read
/// stopped.
#[derive(Default)]
pub(crate) struct Witness {
    read: i64,
    executions: usize,
    lives: Lives,
}

impl Witness {
    /// Checks all conditions at `now`, the time by a clock that is never stepped; returns the first
    /// violation. `noted` is the end of the journal.
    pub(crate) async fn look(
        &mut self,
        store: &Store,
        noted: i64,
        now: DateTime<Utc>,
    ) -> Result<(), String> {
        let lines = if noted > self.read { self.lines(store).await } else { vec![] };
        for line in lines {
            self.read = line.seq;
            judge(&line)?;
            if line.what == "attempt" && line.became == "lost" && line.beside > 0 {
                is_lost(store, &line).await?;
            }
            if line.what == "node" && line.was_epoch != line.epoch {
                self.lives.beats(line.id, now);
            }
            if line.what == "node" && line.became == "dead" {
                self.lives.ends(store, line.id, now).await?;
            }
        }
        for execution in workshop::seen_after(self.executions) {
            recorded(store, &execution).await?;
            self.executions += 1;
        }
        Ok(())
    }

    async fn lines(&self, store: &Store) -> Vec<Line> {
        let statement = store.dialect().statement(
            "SELECT seq, what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, \
               crowd, twin FROM journal WHERE seq > $1 ORDER BY seq",
            [self.read.into()],
        );
        Line::find_by_statement(statement).all(store.read()).await.unwrap()
    }
}

fn judge(line: &Line) -> Result<(), String> {
    let Line { id, was, became, .. } = line;
    match line.what.as_str() {
        "run" => {
            let settled = state(was).is_some_and(|state| !state.is_live());
            if settled && was != became {
                return Err(format!("run {id} settled as {was}, and became {became}"));
            }
            if line.epoch < line.was_epoch {
                let (was, epoch) = (line.was_epoch, line.epoch);
                return Err(format!("run {id}: its epoch went from {was} back to {epoch}"));
            }
            if !(line.was_attempt..=line.was_attempt + 1).contains(&line.attempt) {
                let (was, attempt) = (line.was_attempt, line.attempt);
                return Err(format!("run {id}: attempt {attempt} followed attempt {was}"));
            }
            if line.beside > 0 {
                let beside = line.beside;
                return Err(format!(
                    "run {id} started beside {beside} live runs in spite of its policy"
                ));
            }
            if line.crowd > 0 {
                return Err(format!("run {id} is in progress although its group is full"));
            }
            if line.twin > 0 {
                return Err(format!("run {id} of a backfill is one too many"));
            }
            Ok(())
        }
        "fire" => match (verdict(was), verdict(became)) {
            (Verdict::Pending, _) | (Verdict::Started, Verdict::Abandoned | Verdict::Skipped) => {
                Ok(())
            }
            (was, became) => {
                Err(format!("fire {id} was decided as {was:?}, and became {became:?}"))
            }
        },
        "node" if was != "dead" => Ok(()),
        "attempt" if was == "running" => Ok(()),
        "node" => Err(format!("node {id} lives after its death")),
        "attempt" => {
            let attempt = line.attempt;
            Err(format!("attempt {attempt} of run {id} ended as {was}, and became {became}"))
        }
        what => Err(format!("{what}: {was} {id}")),
    }
}

fn state(word: &str) -> Option<run::State> {
    (!word.is_empty()).then(|| run::State::try_from_value(&word.to_owned()).unwrap())
}

fn verdict(word: &str) -> Verdict {
    Verdict::try_from_value(&word.to_owned()).unwrap()
}

/// Checks that every execution was recorded before it began.
async fn recorded(store: &Store, execution: &Execution) -> Result<(), String> {
    let key = (execution.run, execution.task.clone(), execution.attempt);
    let row = task_run::Entity::find_by_id(key).one(store.read()).await.unwrap();
    if row.is_some() {
        return Ok(());
    }
    Err(format!(
        "attempt {} of run {} is carried out without a row",
        execution.attempt, execution.run
    ))
}

/// Checks that an attempt that was declared lost while its node counts as alive is not in progress
/// anywhere: either it was never started, or its node has stopped it.
async fn is_lost(store: &Store, line: &Line) -> Result<(), String> {
    let attempts = task_run::Entity::find()
        .filter(task_run::Column::RunId.eq(line.id))
        .filter(task_run::Column::State.eq(task_run::State::Lost));
    for row in attempts.all(store.read()).await.unwrap() {
        let (run, task, attempt) = (row.run_id, &row.task, row.attempt);
        if i64::from(attempt) == line.attempt && workshop::is_open(run, task, attempt) {
            return Err(format!(
                "attempt {attempt} at {task} of run {run} is called lost, and is in progress"
            ));
        }
    }
    Ok(())
}
