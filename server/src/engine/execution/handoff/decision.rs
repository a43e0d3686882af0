//! Decides whether an intent may run under the current conditions, without IO.

use chrono::{DateTime, TimeDelta, Utc};
use entity::fire::{MadeUpFor, Reason, Verdict};
use timetable::misfire::ON_TIME;

use crate::store::{
    buffers::BufferQueue,
    handoffs::{CurrentSchedule, DecidedFire, Intent},
};

/// The limits of recovery: when it gives a fire up.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct HandoffLimits {
    /// Maximum number of tries to hand over one fire.
    pub(in crate::engine) attempts: i32,
    /// Maximum time since the fire was claimed.
    /// Its instant may be far older if the fire runs late or was buffered.
    pub(in crate::engine) age: TimeDelta,
}

/// The state of a schedule that its intents need in order to run.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct SchedulePrecondition {
    version: i32,
    fires_version: i32,
    enabled: bool,
    deleted: bool,
    start_deadline_ms: Option<i64>,
    jitter_ms: i64,
}

impl From<&CurrentSchedule> for SchedulePrecondition {
    fn from(schedule: &CurrentSchedule) -> Self {
        Self {
            version: schedule.version,
            fires_version: schedule.fires_version,
            enabled: schedule.enabled,
            deleted: schedule.deleted_at.is_some(),
            start_deadline_ms: schedule.start_deadline_ms,
            jitter_ms: schedule.jitter_ms,
        }
    }
}

impl From<&BufferQueue> for SchedulePrecondition {
    fn from(queue: &BufferQueue) -> Self {
        Self {
            version: queue.version,
            fires_version: queue.fires_version,
            enabled: queue.enabled,
            deleted: queue.deleted_at.is_some(),
            start_deadline_ms: queue.start_deadline_ms,
            jitter_ms: queue.jitter_ms,
        }
    }
}

/// Why an intent must not run under the current conditions; `None` if it may run.
pub(in crate::engine) fn refusal(
    intent: &Intent,
    schedule: Option<SchedulePrecondition>,
    now: DateTime<Utc>,
) -> Option<DecidedFire> {
    outdated(intent, schedule, Verdict::Skipped).or_else(|| overdue(intent, schedule?, now))
}

/// The refusal of an intent whose schedule was paused, deleted or edited.
fn outdated(
    intent: &Intent,
    schedule: Option<SchedulePrecondition>,
    verdict: Verdict,
) -> Option<DecidedFire> {
    let (id, scheduled_at) = (intent.id, intent.scheduled_at);
    let refuse = |reason, detail| Some(DecidedFire { id, scheduled_at, verdict, reason, detail });
    let Some(schedule) = schedule.filter(|schedule| !schedule.deleted) else {
        return refuse(Reason::Deleted, None);
    };
    if !schedule.enabled {
        return refuse(Reason::Disabled, None);
    }
    if intent.schedule_version < schedule.fires_version {
        let detail = format!("version {} is in force", schedule.version);
        return refuse(Reason::StaleVersion, Some(detail));
    }
    None
}

/// The refusal of an intent that has waited beyond its deadline.
fn overdue(
    intent: &Intent,
    schedule: SchedulePrecondition,
    now: DateTime<Utc>,
) -> Option<DecidedFire> {
    let (scheduled_at, due_at) = (intent.scheduled_at.utc(), intent.due_at.utc());
    let SchedulePrecondition { jitter_ms, start_deadline_ms, .. } = schedule;
    let late = past_deadline(scheduled_at, due_at, jitter_ms, start_deadline_ms, now);
    let (verdict, reason) = (Verdict::Skipped, Reason::Deadline);
    let (id, scheduled_at) = (intent.id, intent.scheduled_at);
    late.then_some(DecidedFire { id, scheduled_at, verdict, reason, detail: None })
}

/// Decides whether an intent may run under the current conditions, and for which reason.
pub(super) fn decide(
    intent: &Intent,
    schedule: Option<&CurrentSchedule>,
    now: DateTime<Utc>,
    recovery: Option<HandoffLimits>,
) -> Result<Reason, DecidedFire> {
    let refuse = |verdict, reason, detail: Option<String>| {
        let (id, scheduled_at) = (intent.id, intent.scheduled_at);
        Err(DecidedFire { id, scheduled_at, verdict, reason, detail })
    };
    // A fire that recovery gives up was promised to run,
    // so its verdict is `abandoned`, not `skipped`.
    let gone = if recovery.is_some() { Verdict::Abandoned } else { Verdict::Skipped };
    if let Some(decided) = outdated(intent, schedule.map(SchedulePrecondition::from), gone) {
        return Err(decided);
    }
    let Some(schedule) = schedule else { return refuse(gone, Reason::Deleted, None) };
    if let Some(limits) = recovery {
        if intent.recovery_attempts >= limits.attempts {
            let detail = format!("{} attempts", intent.recovery_attempts);
            return refuse(Verdict::Abandoned, Reason::AttemptsExhausted, Some(detail));
        }
        if now - intent.claimed_at.utc() > limits.age {
            return refuse(Verdict::Abandoned, Reason::TooOld, None);
        }
    }
    if let Some(decided) = overdue(intent, SchedulePrecondition::from(schedule), now) {
        return Err(decided);
    }
    let was_missed = match intent.made_up_for {
        Some(MadeUpFor::Outage | MadeUpFor::Pause) => true,
        Some(MadeUpFor::Follows) | None => false,
    };
    Ok(match recovery {
        Some(_) => Reason::Recovered,
        // The decision made at the claim still holds, however long the hand-off took and whether or
        // not the fire waited for its turn.
        None if was_missed => Reason::CaughtUp,
        None if intent.waited => Reason::Buffered,
        None if now - intent.due_at.utc() > ON_TIME => Reason::Late,
        None => Reason::OnTime,
    })
}

/// The detail that a starting fire records beside its reason.
/// `was_away` means that the database failed during the hand-off.
pub(super) fn detail(intent: &Intent, reason: Reason, was_away: bool) -> Option<String> {
    let claimed_in_time = intent.claimed_at.utc() - intent.due_at.utc() <= ON_TIME;
    if reason != Reason::Late || !claimed_in_time {
        return intent.detail.clone();
    }
    let text = match was_away {
        true => {
            "it was claimed in time, but the database was not available when it was handed over"
        }
        false => "it was claimed in time, but its hand-off took that long",
    };
    Some(text.to_owned())
}

/// Whether a fire would start after its deadline.
/// The deadline counts from the time for which the fire was planned. For a late run,
/// which becomes due only now, it counts from the latest moment that the jitter permits.
pub(in crate::engine) fn past_deadline(
    scheduled_at: DateTime<Utc>,
    due_at: DateTime<Utc>,
    jitter_ms: i64,
    deadline_ms: Option<i64>,
    now: DateTime<Utc>,
) -> bool {
    let from = due_at.min(scheduled_at + TimeDelta::milliseconds(jitter_ms));
    deadline_ms.is_some_and(|deadline| now - from > TimeDelta::milliseconds(deadline))
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    const LIMITS: HandoffLimits = HandoffLimits { attempts: 3, age: TimeDelta::hours(24) };

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
            made_up_for: None,
            detail: None,
        }
    }

    fn schedule() -> CurrentSchedule {
        CurrentSchedule {
            id: Uuid::from_u128(2),
            name: "nightly".to_owned(),
            version: 4,
            fires_version: 4,
            enabled: true,
            deleted_at: None,
            start_deadline_ms: None,
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
    fn a_fire_that_starts_more_than_two_seconds_late_says_so_and_why() {
        let decided = decide(&intent(), Some(&schedule()), after(2), None);
        assert_eq!(decided.unwrap(), Reason::OnTime);
        let late = decide(&intent(), Some(&schedule()), after(3), None).unwrap();
        assert_eq!(late, Reason::Late);
        let said = detail(&intent(), late, true).unwrap();
        assert!(said.contains("the database was not available"), "{said}");
        // The claim was already late, and recorded the cause.
        let detail_of = Intent {
            claimed_at: after(60).into(),
            detail: Some("no scheduler was running".to_owned()),
            ..intent()
        };
        assert_eq!(detail(&detail_of, late, true), detail_of.detail);
    }

    #[test]
    fn a_fire_is_made_up_for_as_its_claim_says_however_long_the_hand_off_took() {
        let slow = decide(&intent(), Some(&schedule()), after(4_000), None);
        assert_eq!(slow.unwrap(), Reason::Late);
        let made_up = Intent { made_up_for: Some(MadeUpFor::Pause), ..intent() };
        let decided = decide(&made_up, Some(&schedule()), after(1), None);
        assert_eq!(decided.unwrap(), Reason::CaughtUp);
    }

    #[test]
    fn a_fire_that_waited_for_a_run_in_its_way_says_so() {
        let waited = Intent { waited: true, ..intent() };
        let decided = decide(&waited, Some(&schedule()), after(4_000), None);
        assert_eq!(decided.unwrap(), Reason::Buffered);
        // The reason for the delay matters more than the fact that the fire waited for its turn.
        let behind = |made_up_for| Intent { waited: true, made_up_for, ..intent() };
        let caught_up = behind(Some(MadeUpFor::Outage));
        let decided = decide(&caught_up, Some(&schedule()), after(4_000), None);
        assert_eq!(decided.unwrap(), Reason::CaughtUp);
        // This fire was on time, but waited for those that were missed.
        let follows = behind(Some(MadeUpFor::Follows));
        let decided = decide(&follows, Some(&schedule()), after(4_000), None);
        assert_eq!(decided.unwrap(), Reason::Buffered);
    }

    #[test]
    fn a_version_that_leaves_fires_as_they_are_lets_them_run() {
        let noted = CurrentSchedule { version: 7, ..schedule() };
        let decided = decide(&intent(), Some(&noted), after(1), None);
        assert_eq!(decided.unwrap(), Reason::OnTime);
    }

    #[test]
    fn nothing_runs_on_stale_knowledge() {
        let cases = [
            (None, Reason::Deleted),
            (
                Some(CurrentSchedule { deleted_at: Some(Timestamp(1)), ..schedule() }),
                Reason::Deleted,
            ),
            (Some(CurrentSchedule { enabled: false, ..schedule() }), Reason::Disabled),
            (
                Some(CurrentSchedule { version: 6, fires_version: 5, ..schedule() }),
                Reason::StaleVersion,
            ),
            (
                Some(CurrentSchedule { start_deadline_ms: Some(500), ..schedule() }),
                Reason::Deadline,
            ),
        ];
        for (schedule, reason) in cases {
            let decided = decide(&intent(), schedule.as_ref(), after(1), None).unwrap_err();
            assert_eq!((decided.verdict, decided.reason), (Verdict::Skipped, reason));
        }
    }

    #[test]
    fn the_deadline_of_a_late_run_counts_from_when_it_was_to_run() {
        let late = |due, now| past_deadline(after(0), after(due), 10_000, Some(30_000), after(now));
        // This schedule has a jitter of four seconds.
        assert!(!late(4, 34));
        assert!(late(4, 35));
        // This fire was missed for an hour, and is due at once.
        assert!(late(3_600, 3_600));
        assert!(!past_deadline(after(0), after(0), 0, None, after(3_600)));
    }

    #[test]
    fn recovery_gives_up_after_its_attempts_or_long_after_the_claim_and_says_so() {
        let tired = Intent { recovery_attempts: 3, ..intent() };
        let decided = decide(&tired, Some(&schedule()), after(1), Some(LIMITS)).unwrap_err();
        assert_eq!(decided.reason, Reason::AttemptsExhausted);
        assert_eq!(decided.verdict, Verdict::Abandoned);
        let late = after(24 * 3600 + 1);
        let decided = decide(&intent(), Some(&schedule()), late, Some(LIMITS)).unwrap_err();
        assert_eq!(decided.reason, Reason::TooOld);
        let decided = decide(&intent(), Some(&schedule()), after(400), Some(LIMITS));
        assert_eq!(decided.unwrap(), Reason::Recovered);
        // This fire was claimed long after its instant.
        let caught_up = Intent { claimed_at: late.into(), ..intent() };
        let decided = decide(&caught_up, Some(&schedule()), late, Some(LIMITS));
        assert_eq!(decided.unwrap(), Reason::Recovered);
    }
}
