//! The hand-off: phase 2 of a fire. Intents that this node owns become runs; those that can start
//! at once do so in the same transaction.

use std::{
    collections::HashSet,
    ops::AddAssign,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::fire::{Reason, Verdict};
use sea_orm::ActiveEnum;
use serde_json::{Value, json};

use super::{
    Definition, EngineError,
    attempt::{self, Attempt, Times},
    cluster::Tenure,
    core::Core,
};
use crate::{
    store::{
        buffers::Queue,
        handoffs::{Current, Decided, Intent, NewRun, Start},
        holds::Hold,
    },
    target::Invocation,
};

/// What recovery may still do; nothing for a first hand-off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Tries for one fire.
    pub(super) attempts: i32,
    /// Age of its scheduled time.
    pub(super) age: TimeDelta,
}

/// Recovery at work.
#[derive(Clone, Debug)]
pub(super) struct Recovering {
    /// What it may still do.
    pub(super) limits: Limits,
    /// The term under which it does so.
    pub(super) tenure: Tenure,
}

/// What must still be so of a schedule for its intents to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    version: i32,
    enabled: bool,
    deleted: bool,
    start_deadline_ms: Option<i64>,
    jitter_ms: i64,
}

impl From<&Current> for Standing {
    fn from(schedule: &Current) -> Self {
        Self {
            version: schedule.version,
            enabled: schedule.enabled,
            deleted: schedule.deleted_at.is_some(),
            start_deadline_ms: schedule.start_deadline_ms,
            jitter_ms: schedule.jitter_ms,
        }
    }
}

impl From<&Queue> for Standing {
    fn from(queue: &Queue) -> Self {
        Self {
            version: queue.version,
            enabled: queue.enabled,
            deleted: queue.deleted_at.is_some(),
            start_deadline_ms: queue.start_deadline_ms,
            jitter_ms: queue.jitter_ms,
        }
    }
}

/// What became of intents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HandedOver {
    /// Started here.
    pub(super) started: usize,
    /// Queued for whoever has room.
    pub(super) queued: usize,
    /// Not run, with a verdict.
    pub(super) refused: usize,
}

impl AddAssign for HandedOver {
    fn add_assign(&mut self, other: Self) {
        self.started += other.started;
        self.queued += other.queued;
        self.refused += other.refused;
    }
}

/// A hand-off that fails is tried this often, for about a minute: longer than a fail-over takes.
/// Then the intents are left to recovery.
const TRIES: u32 = 64;
/// Between two tries lies so much time at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Hands over `intents`, all of them owned by this node, a batch in a transaction. One that fails
/// does not hold up the others.
pub(super) async fn hand_over(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&Recovering>,
) -> Result<HandedOver, EngineError> {
    let mut handed = HandedOver::default();
    let mut failed = None;
    for batch in intents.chunks(usize::try_from(core.settings.batch).unwrap_or(usize::MAX)) {
        match hand_over_batch(core, batch, recovery).await {
            Ok(more) => handed += more,
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(handed), Err)
}

async fn hand_over_batch(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&Recovering>,
) -> Result<HandedOver, EngineError> {
    let mut pause = Duration::from_millis(50);
    let mut round = 1;
    loop {
        match try_hand_over(core, intents, recovery).await {
            Err(error) if round < TRIES && error.is_transient() => {
                tracing::warn!(intents = intents.len(), "failed to hand over: {error}");
                core.clock.sleep(pause).await;
                pause = (pause * 4).min(LONGEST_PAUSE);
                round += 1;
            }
            answer => return answer,
        }
    }
}

async fn try_hand_over(
    core: &Arc<Core>,
    intents: &[Intent],
    recovery: Option<&Recovering>,
) -> Result<HandedOver, EngineError> {
    let start = core.clock.instant();
    let node = core.node_id().await;
    let tx = core.store.begin_handoff().await?;
    if let Some(Recovering { tenure, .. }) = recovery
        && (tenure.is_over(&core.clock) || !core.store.holds_lease(&tx, &tenure.fence).await?)
    {
        tx.rollback().await?;
        return Ok(HandedOver::default());
    }
    let limits = recovery.map(|recovery| recovery.limits);
    let schedules: HashSet<_> = intents.iter().map(|intent| intent.schedule_id).collect();
    let current = core.store.current_schedules(&tx, &schedules, node).await?;
    // Not before the tables have answered: short runs of the batch before have ended by then.
    let mut slots = core.free_slots(intents.len());
    let now = core.clock.now();

    let mut runs = Vec::with_capacity(intents.len());
    let mut works = Vec::with_capacity(intents.len());
    let mut refused = Vec::new();
    let mut started = 0;
    for intent in intents {
        let schedule = current.get(&intent.schedule_id);
        let (schedule, reason) = match (decide(intent, schedule, now, limits), schedule) {
            (Ok(reason), Some(schedule)) => (schedule, reason),
            (Ok(_), None) => continue,
            (Err(decided), _) => {
                refused.push(decided);
                continue;
            }
        };
        let key = (schedule.workflow_id, schedule.workflow_version);
        let known = match core.definitions.known(&core.store, &tx, key).await? {
            Ok(known) => known,
            Err(error) => {
                // It stays an intent: recovery tries again, and gives up in the end.
                tracing::error!(fire = %intent.id, "failed to {error}");
                continue;
            }
        };
        // The dispatcher alone starts runs of a group: it keeps their limit and their order. And
        // what a life that was declared dead started would be taken from it at once.
        let has_room = started < slots.len()
            && schedule.group_id.is_none()
            && schedule.node_is_alive
            && core.cluster.takes(&known.definition.runs_on)
            && !core.cluster.lets_others_go_first(&known.definition.runs_on);
        let start = has_room.then(|| {
            let (task, hard_limit) = known.start(core.settings.heartbeat_expiry);
            Start { task, hard_limit }
        });
        started += usize::from(has_room);
        runs.push(new_run(intent, schedule, &known.definition, reason, now, start));
        works.push((known, schedule));
    }

    let linked = core.store.start_fires_if_pending(&tx, &runs, now.into()).await?;
    let (runs, works): (Vec<_>, Vec<_>) =
        runs.into_iter().zip(works).filter(|(run, _)| linked.contains(&run.id)).unzip();
    core.store.decide_fires_if_pending(&tx, &refused, now.into()).await?;
    core.store.insert_fired_runs(&tx, &runs, node, now.into()).await?;
    core.store.commit(tx).await?;
    core.metrics.handed_over(intents.len(), start.elapsed());
    for run in &runs {
        let late = core.clock.now() - run.due_at.utc();
        core.metrics.lateness(late.to_std().unwrap_or_default());
        core.metrics.fires(Verdict::Started.to_value(), run.reason.to_value(), 1);
    }
    for fire in &refused {
        core.metrics.fires(fire.verdict.to_value(), fire.reason.to_value(), 1);
    }

    let mut handed = HandedOver { refused: refused.len(), ..HandedOver::default() };
    for (run, (known, schedule)) in runs.into_iter().zip(works) {
        let slot = if run.start.is_some() { slots.pop() } else { None };
        let Some(slot) = slot else {
            handed.queued += 1;
            continue;
        };
        handed.started += 1;
        let hold = Hold { run_id: run.id, attempt: 1, node_id: node, epoch: 1 };
        let task = known.task(0);
        let invocation = Invocation {
            run_id: run.id,
            attempt: 1,
            task: task.name.clone(),
            namespace: schedule.namespace.clone(),
            schedule: Some(schedule.name.clone()),
            schedule_id: Some(run.schedule_id),
            scheduled_at: Some(run.scheduled_at.utc()),
            idempotency_key: run.idempotency_key,
            traceparent: Some(attempt::traceparent(&hold)),
            context: run.context.unwrap_or_else(|| schedule.context.clone()),
            timeout: task.timeout(),
            kill_grace: task.kill_grace(),
        };
        let max_attempts = run.max_attempts;
        let run = Times { stands_for: run.scheduled_at.utc(), started_at: now };
        attempt::spawn(core, Attempt { hold, max_attempts, known, invocation, run, slot });
    }
    if handed.queued > 0 {
        core.backlog.store(true, Ordering::Relaxed);
        core.signals.wake_dispatcher();
    }
    Ok(handed)
}

/// Why an intent is not to run as things are now, if it is not.
pub(super) fn refusal(
    intent: &Intent,
    schedule: Option<Standing>,
    now: DateTime<Utc>,
) -> Option<Decided> {
    outdated(intent, schedule, Verdict::Skipped).or_else(|| overdue(intent, schedule?, now))
}

/// The refusal of an intent whose schedule is not what it was.
fn outdated(intent: &Intent, schedule: Option<Standing>, verdict: Verdict) -> Option<Decided> {
    let (id, scheduled_at) = (intent.id, intent.scheduled_at);
    let refuse = |reason, detail| Some(Decided { id, scheduled_at, verdict, reason, detail });
    let Some(schedule) = schedule.filter(|schedule| !schedule.deleted) else {
        return refuse(Reason::Deleted, None);
    };
    if !schedule.enabled {
        return refuse(Reason::Disabled, None);
    }
    if schedule.version != intent.schedule_version {
        let detail = format!("version {} is in force", schedule.version);
        return refuse(Reason::StaleVersion, Some(detail));
    }
    None
}

/// The refusal of an intent that has waited beyond its deadline.
fn overdue(intent: &Intent, schedule: Standing, now: DateTime<Utc>) -> Option<Decided> {
    let (scheduled_at, due_at) = (intent.scheduled_at.utc(), intent.due_at.utc());
    let Standing { jitter_ms, start_deadline_ms, .. } = schedule;
    let late = past_deadline(scheduled_at, due_at, jitter_ms, start_deadline_ms, now);
    let (verdict, reason) = (Verdict::Skipped, Reason::Deadline);
    let (id, scheduled_at) = (intent.id, intent.scheduled_at);
    late.then_some(Decided { id, scheduled_at, verdict, reason, detail: None })
}

/// Whether an intent may run as things are now, and why it does or does not.
fn decide(
    intent: &Intent,
    schedule: Option<&Current>,
    now: DateTime<Utc>,
    recovery: Option<Limits>,
) -> Result<Reason, Decided> {
    let refuse = |verdict, reason, detail: Option<String>| {
        let (id, scheduled_at) = (intent.id, intent.scheduled_at);
        Err(Decided { id, scheduled_at, verdict, reason, detail })
    };
    // What recovery gives up was promised: it is abandoned, not skipped.
    let gone = if recovery.is_some() { Verdict::Abandoned } else { Verdict::Skipped };
    if let Some(decided) = outdated(intent, schedule.map(Standing::from), gone) {
        return Err(decided);
    }
    let Some(schedule) = schedule else { return refuse(gone, Reason::Deleted, None) };
    if let Some(limits) = recovery {
        if intent.recovery_attempts >= limits.attempts {
            let detail = format!("{} attempts", intent.recovery_attempts);
            return refuse(Verdict::Abandoned, Reason::AttemptsExhausted, Some(detail));
        }
        if now - intent.scheduled_at.utc() > limits.age {
            return refuse(Verdict::Abandoned, Reason::TooOld, None);
        }
    }
    if let Some(decided) = overdue(intent, Standing::from(schedule), now) {
        return Err(decided);
    }
    let grace = TimeDelta::milliseconds(schedule.grace_ms.saturating_add(schedule.jitter_ms));
    Ok(match recovery {
        Some(_) => Reason::Recovered,
        None if intent.waited => Reason::Buffered,
        None if now - intent.scheduled_at.utc() > grace => Reason::CaughtUp,
        None => Reason::OnTime,
    })
}

/// Whether a fire would start after its deadline. That counts from when the fire was to run: for
/// the late run of a catch-up, which is due only now, from the latest moment that the jitter
/// allowed.
pub(super) fn past_deadline(
    scheduled_at: DateTime<Utc>,
    due_at: DateTime<Utc>,
    jitter_ms: i64,
    deadline_ms: Option<i64>,
    now: DateTime<Utc>,
) -> bool {
    let from = due_at.min(scheduled_at + TimeDelta::milliseconds(jitter_ms));
    deadline_ms.is_some_and(|deadline| now - from > TimeDelta::milliseconds(deadline))
}

fn new_run(
    intent: &Intent,
    schedule: &Current,
    definition: &Definition,
    reason: Reason,
    now: DateTime<Utc>,
    start: Option<Start>,
) -> NewRun {
    let is_recovery = reason == Reason::Recovered;
    let context = is_recovery.then(|| {
        let mut context = schedule.context.clone();
        mark_recovery(&mut context, intent.id, intent.scheduled_at.utc(), now);
        context
    });
    NewRun {
        id: intent.id,
        namespace_id: intent.namespace_id,
        schedule_id: intent.schedule_id,
        workflow_id: schedule.workflow_id,
        workflow_version: schedule.workflow_version,
        scheduled_at: intent.scheduled_at,
        due_at: intent.due_at,
        max_attempts: definition.max_attempts(),
        runs_on: definition.asked_tags(),
        context,
        is_recovery,
        idempotency_key: idempotency_key(intent.schedule_id, intent.scheduled_at.utc()),
        reason,
        group_id: schedule.group_id,
        priority: schedule.priority,
        start,
    }
}

/// What a context says when recovery sends it.
const RECOVERY_KEYS: [&str; 4] =
    ["is_recovery", "original_scheduled_time", "recovery_attempt_time", "execution_id"];

/// Tells the tasks that recovery sends them.
pub(super) fn mark_recovery(
    context: &mut Value,
    execution: uuid::Uuid,
    scheduled_at: DateTime<Utc>,
    now: DateTime<Utc>,
) {
    if let Value::Object(map) = context {
        let values = [
            json!(true),
            json!(scheduled_at.to_rfc3339()),
            json!(now.to_rfc3339()),
            json!(execution),
        ];
        map.extend(RECOVERY_KEYS.map(str::to_owned).into_iter().zip(values));
    }
}

/// Takes that away again: a run that repeats a recovered one was not recovered itself.
pub(super) fn unmark_recovery(context: &mut Value) {
    if let Value::Object(map) = context {
        for key in RECOVERY_KEYS {
            map.remove(key);
        }
    }
}

/// How a receiver recognises that it was sent the same fire before: the same over all attempts.
pub(super) fn idempotency_key(schedule: uuid::Uuid, scheduled_at: DateTime<Utc>) -> String {
    let seconds = scheduled_at.timestamp();
    match scheduled_at.timestamp_subsec_millis() {
        0 => format!("{schedule}-{seconds}"),
        millis => format!("{schedule}-{seconds}.{millis:03}"),
    }
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;
    use uuid::Uuid;

    use super::*;

    const LIMITS: Limits = Limits { attempts: 3, age: TimeDelta::hours(24) };

    fn intent() -> Intent {
        Intent {
            id: Uuid::from_u128(1),
            namespace_id: Uuid::nil(),
            schedule_id: Uuid::from_u128(2),
            schedule_version: 4,
            scheduled_at: Timestamp(0),
            due_at: Timestamp(0),
            claimed_at: Timestamp(0),
            recovery_attempts: 0,
            queue_position: None,
            waited: false,
        }
    }

    fn schedule() -> Current {
        Current {
            id: Uuid::from_u128(2),
            name: "nightly".to_owned(),
            version: 4,
            enabled: true,
            deleted_at: None,
            start_deadline_ms: None,
            grace_ms: 300_000,
            jitter_ms: 0,
            workflow_id: Uuid::nil(),
            workflow_version: 1,
            namespace: "default".to_owned(),
            context: json!({}),
            group_id: None,
            priority: 0,
            node_is_alive: true,
        }
    }

    fn after(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_fire_that_is_claimed_in_time_starts_on_time() {
        let decided = decide(&intent(), Some(&schedule()), after(1), None);
        assert_eq!(decided.unwrap(), Reason::OnTime);
    }

    #[test]
    fn a_fire_that_waited_for_a_run_in_its_way_says_so() {
        let waited = Intent { waited: true, ..intent() };
        let decided = decide(&waited, Some(&schedule()), after(4_000), None);
        assert_eq!(decided.unwrap(), Reason::Buffered);
    }

    #[test]
    fn nothing_runs_on_stale_knowledge() {
        let cases = [
            (None, Reason::Deleted),
            (Some(Current { deleted_at: Some(Timestamp(1)), ..schedule() }), Reason::Deleted),
            (Some(Current { enabled: false, ..schedule() }), Reason::Disabled),
            (Some(Current { version: 5, ..schedule() }), Reason::StaleVersion),
            (Some(Current { start_deadline_ms: Some(500), ..schedule() }), Reason::Deadline),
        ];
        for (schedule, reason) in cases {
            let decided = decide(&intent(), schedule.as_ref(), after(1), None).unwrap_err();
            assert_eq!((decided.verdict, decided.reason), (Verdict::Skipped, reason));
        }
    }

    #[test]
    fn the_deadline_of_a_late_run_counts_from_when_it_was_to_run() {
        let late = |due, now| past_deadline(after(0), after(due), 10_000, Some(30_000), after(now));
        // With a jitter of four seconds.
        assert!(!late(4, 34));
        assert!(late(4, 35));
        // Made up for after an hour, due at once.
        assert!(late(3_600, 3_600));
        assert!(!past_deadline(after(0), after(0), 0, None, after(3_600)));
    }

    #[test]
    fn recovery_gives_up_after_its_attempts_or_its_age_and_says_so() {
        let tired = Intent { recovery_attempts: 3, ..intent() };
        let decided = decide(&tired, Some(&schedule()), after(1), Some(LIMITS)).unwrap_err();
        assert_eq!(decided.reason, Reason::AttemptsExhausted);
        assert_eq!(decided.verdict, Verdict::Abandoned);
        let late = after(24 * 3600 + 1);
        let decided = decide(&intent(), Some(&schedule()), late, Some(LIMITS)).unwrap_err();
        assert_eq!(decided.reason, Reason::TooOld);
        let decided = decide(&intent(), Some(&schedule()), after(400), Some(LIMITS));
        assert_eq!(decided.unwrap(), Reason::Recovered);
    }

    #[test]
    fn the_idempotency_key_names_schedule_and_second() {
        let key = idempotency_key(Uuid::nil(), after(1_647_067_401));
        assert_eq!(key, "00000000-0000-0000-0000-000000000000-1647067401");
        let key = idempotency_key(Uuid::nil(), after(1) + TimeDelta::milliseconds(7));
        assert!(key.ends_with("-1.007"), "{key}");
    }
}
