//! What must hold after each step: the database itself keeps a journal of what became of what, by
//! triggers, and the journal is read after each step.

use carillon::store::Store;
use entity::{fire::Verdict, run, task_run};
use sea_orm::{ActiveEnum, ConnectionTrait, DatabaseTransaction, EntityTrait, FromQueryResult};
use uuid::Uuid;

use super::workshop::Execution;

/// Makes the journal.
pub(crate) async fn install(store: &Store, tx: &DatabaseTransaction) {
    let statements = if store.dialect().is_postgres() { POSTGRES } else { SQLITE };
    for statement in statements {
        tx.execute_unprepared(statement).await.unwrap();
    }
}

const SQLITE: &[&str] = &[
    "CREATE TABLE journal (seq INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT NOT NULL, \
       id BLOB NOT NULL, was TEXT NOT NULL, became TEXT NOT NULL, was_attempt BIGINT NOT NULL, \
       attempt BIGINT NOT NULL, was_epoch BIGINT NOT NULL, epoch BIGINT NOT NULL, \
       beside BIGINT NOT NULL, crowd BIGINT NOT NULL)",
    "CREATE TRIGGER sim_run_made AFTER INSERT ON run BEGIN \
       INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
       SELECT 'run', NEW.id, '', NEW.state, 0, NEW.attempt, 0, NEW.epoch, \
         (SELECT count(*) FROM run r JOIN schedule s ON s.id = r.schedule_id \
           WHERE r.schedule_id = NEW.schedule_id AND r.id <> NEW.id AND s.overlap <> 'allow' \
             AND NEW.trigger = 'schedule' AND r.trigger = 'schedule' \
             AND r.state IN ('queued', 'running', 'retrying')), \
         (SELECT CASE WHEN NEW.state = 'running' AND NEW.group_id IS NOT NULL AND \
           (SELECT count(*) FROM run r WHERE r.group_id = NEW.group_id AND r.state = 'running' \
              AND r.id <> NEW.id) \
           >= (SELECT max_runs FROM concurrency_group g WHERE g.id = NEW.group_id) \
         THEN 1 ELSE 0 END); END",
    "CREATE TRIGGER sim_run_moved AFTER UPDATE ON run \
     WHEN OLD.state <> NEW.state OR OLD.attempt <> NEW.attempt OR OLD.epoch <> NEW.epoch BEGIN \
       INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
       VALUES ('run', NEW.id, OLD.state, NEW.state, OLD.attempt, NEW.attempt, OLD.epoch, \
         NEW.epoch, 0, (SELECT CASE WHEN NEW.state = 'running' AND NEW.group_id IS NOT NULL AND \
           (SELECT count(*) FROM run r WHERE r.group_id = NEW.group_id AND r.state = 'running' \
              AND r.id <> NEW.id) \
           >= (SELECT max_runs FROM concurrency_group g WHERE g.id = NEW.group_id) \
         THEN 1 ELSE 0 END)); END",
    "CREATE TRIGGER sim_fire_moved AFTER UPDATE ON fire WHEN OLD.verdict <> NEW.verdict BEGIN \
       INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
       VALUES ('fire', NEW.id, OLD.verdict, NEW.verdict, 0, 0, 0, 0, 0, 0); END",
    "CREATE TRIGGER sim_attempt_moved AFTER UPDATE ON task_run WHEN OLD.state <> NEW.state BEGIN \
       INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
       VALUES ('attempt', NEW.run_id, OLD.state, NEW.state, 0, NEW.attempt, 0, 0, 0, 0); END",
    "CREATE TRIGGER sim_run_gone AFTER DELETE ON run BEGIN \
       INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
       VALUES ('gone', OLD.id, 'run', '', 0, 0, 0, 0, 0, 0); END",
    "CREATE TRIGGER sim_fire_gone AFTER DELETE ON fire BEGIN \
       INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
       VALUES ('gone', OLD.id, 'fire', '', 0, 0, 0, 0, 0, 0); END",
];

const POSTGRES: &[&str] = &[
    "CREATE TABLE journal (seq bigserial PRIMARY KEY, what text NOT NULL, id uuid NOT NULL, \
       was text NOT NULL, became text NOT NULL, was_attempt bigint NOT NULL, \
       attempt bigint NOT NULL, was_epoch bigint NOT NULL, epoch bigint NOT NULL, \
       beside bigint NOT NULL, crowd bigint NOT NULL)",
    "CREATE FUNCTION sim_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
       IF TG_OP = 'DELETE' THEN \
         INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
         VALUES ('gone', OLD.id, 'run', '', 0, 0, 0, 0, 0, 0); \
       ELSIF TG_OP = 'INSERT' THEN \
         INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
         SELECT 'run', NEW.id, '', NEW.state, 0, NEW.attempt, 0, NEW.epoch, \
           (SELECT count(*) FROM run r JOIN schedule s ON s.id = r.schedule_id \
             WHERE r.schedule_id = NEW.schedule_id AND r.id <> NEW.id AND s.overlap <> 'allow' \
               AND NEW.trigger = 'schedule' AND r.trigger = 'schedule' \
               AND r.state IN ('queued', 'running', 'retrying')), \
           (SELECT CASE WHEN NEW.state = 'running' AND NEW.group_id IS NOT NULL AND \
           (SELECT count(*) FROM run r WHERE r.group_id = NEW.group_id AND r.state = 'running' \
              AND r.id <> NEW.id) \
           >= (SELECT max_runs FROM concurrency_group g WHERE g.id = NEW.group_id) \
         THEN 1 ELSE 0 END); \
       ELSIF OLD.state <> NEW.state OR OLD.attempt <> NEW.attempt OR OLD.epoch <> NEW.epoch THEN \
         INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
         VALUES ('run', NEW.id, OLD.state, NEW.state, OLD.attempt, NEW.attempt, OLD.epoch, \
           NEW.epoch, 0, (SELECT CASE WHEN NEW.state = 'running' AND NEW.group_id IS NOT NULL AND \
           (SELECT count(*) FROM run r WHERE r.group_id = NEW.group_id AND r.state = 'running' \
              AND r.id <> NEW.id) \
           >= (SELECT max_runs FROM concurrency_group g WHERE g.id = NEW.group_id) \
         THEN 1 ELSE 0 END)); \
       END IF; RETURN NULL; END $$",
    "CREATE FUNCTION sim_fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
       IF TG_OP = 'DELETE' THEN \
         INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
         VALUES ('gone', OLD.id, 'fire', '', 0, 0, 0, 0, 0, 0); \
       ELSIF OLD.verdict <> NEW.verdict THEN \
         INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
         VALUES ('fire', NEW.id, OLD.verdict, NEW.verdict, 0, 0, 0, 0, 0, 0); \
       END IF; RETURN NULL; END $$",
    "CREATE FUNCTION sim_attempt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
       IF OLD.state <> NEW.state THEN \
         INSERT INTO journal (what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, crowd) \
         VALUES ('attempt', NEW.run_id, OLD.state, NEW.state, 0, NEW.attempt, 0, 0, 0, 0); \
       END IF; RETURN NULL; END $$",
    "CREATE TRIGGER sim_run AFTER INSERT OR UPDATE OR DELETE ON run \
       FOR EACH ROW EXECUTE FUNCTION sim_run()",
    "CREATE TRIGGER sim_fire AFTER UPDATE OR DELETE ON fire \
       FOR EACH ROW EXECUTE FUNCTION sim_fire()",
    "CREATE TRIGGER sim_attempt AFTER UPDATE ON task_run \
       FOR EACH ROW EXECUTE FUNCTION sim_attempt()",
];

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
}

/// Reads the journal, and what the workshop has seen, from where it stopped.
#[derive(Default)]
pub(crate) struct Witness {
    read: i64,
    executions: usize,
}

impl Witness {
    /// Whether all is as it must be; the first thing that is not.
    pub(crate) async fn look(&mut self, store: &Store, seen: &[Execution]) -> Result<(), String> {
        let statement = store.dialect().statement(
            "SELECT seq, what, id, was, became, was_attempt, attempt, was_epoch, epoch, beside, \
               crowd FROM journal WHERE seq > $1 ORDER BY seq",
            [self.read.into()],
        );
        let lines = Line::find_by_statement(statement).all(store.read()).await.unwrap();
        for line in lines {
            self.read = line.seq;
            judge(&line)?;
        }
        for execution in &seen[self.executions..] {
            recorded(store, execution).await?;
        }
        self.executions = seen.len();
        Ok(())
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
                return Err(format!("run {id} is at work although its group is full"));
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
        "attempt" if was == "running" => Ok(()),
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

/// Nothing is carried out that was not written down before.
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
