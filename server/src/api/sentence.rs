//! Why a fire has its verdict, as a sentence with the facts.

use chrono::TimeDelta;
use entity::{
    Timestamp,
    fire::{MadeUpFor, Model, Reason, Verdict},
};
use timetable::misfire::ON_TIME;
use uuid::Uuid;

/// The sentence for a ledger row.
pub(crate) fn of(fire: &Model) -> String {
    let is_made_up = match fire.verdict {
        Verdict::Skipped | Verdict::Missed | Verdict::Collapsed => fire.run_id.is_some(),
        Verdict::Pending | Verdict::Started | Verdict::Abandoned => false,
    };
    let said = by_itself(fire);
    if is_made_up { format!("{said} A backfill made up for it.") } else { said }
}

fn by_itself(fire: &Model) -> String {
    match fire.reason {
        Reason::AwaitingHandoff => awaiting(fire),
        Reason::OnTime => "Started when it was due.".to_owned(),
        Reason::Late => started_late(fire),
        Reason::CaughtUp => made_up_for(fire),
        Reason::Recovered => {
            let attempt = fire.recovery_attempts.max(1);
            format!("Started by recovery after its hand-off was lost (attempt {attempt}).")
        }
        Reason::Overlap => overlapped(fire),
        Reason::Buffered => buffered(fire),
        Reason::BufferFull => {
            skipped(fire, "the maximum number of fires were already waiting", |limit| {
                format!(
                    "a run was still running, and {limit} fires, the maximum, were already waiting \
                     for it"
                )
            })
        }
        Reason::Quota => over_quota(fire),
        Reason::Purged => skipped(fire, "it was taken out of the buffer", |who| {
            format!("{who} took it out of the buffer")
        }),
        Reason::Replaced => skipped(fire, "a later fire took its place", |fire| {
            format!("the later fire {fire} took its place")
        }),
        Reason::Paused if fire.verdict == Verdict::Collapsed => format!(
            "{}: the schedule was paused, and a later fire stands for {}.",
            head(fire, "Collapsed"),
            it_or_them(fire)
        ),
        Reason::Paused => skipped(fire, "the schedule was paused", |why| {
            format!("the schedule was paused ({why})")
        }),
        Reason::Deadline => format!(
            "{}: {} after it was due, its start deadline had passed.",
            head(fire, "Skipped"),
            decided_after(fire, fire.scheduled_at)
        ),
        Reason::Disabled => {
            format!("{}: the schedule was paused just before it started.", head(fire, "Skipped"))
        }
        Reason::Deleted => {
            let when = just_before_or_unclaimed(fire);
            format!("{}: the schedule was deleted {when}.", head(fire, "Skipped"))
        }
        Reason::StaleVersion if fire.claimed_by.is_none() => {
            let head = head(fire, "Skipped");
            format!("{head}: the schedule was edited before any node claimed it.")
        }
        Reason::StaleVersion => format!(
            "{}: the schedule was edited after version {} was claimed.",
            head(fire, "Skipped"),
            fire.schedule_version
        ),
        Reason::Outage => lost_to_an_outage(fire),
        Reason::CatchUpWindow => {
            let (head, late) = (head(fire, "Missed"), claimed_late(fire));
            format!("{head}: {late} ago is longer than the catch-up window.")
        }
        Reason::CatchUpLimit => {
            format!("{}: more were missed than the catch-up policy runs.", head(fire, "Missed"))
        }
        Reason::Calendar => skipped(fire, "the calendar of the schedule suppresses it", |name| {
            format!("the calendar {name} suppresses it")
        }),
        Reason::ByRequest => match &fire.detail {
            Some(asked) => format!("{} by request of {asked}.", head(fire, "Skipped")),
            None => format!("{} by request.", head(fire, "Skipped")),
        },
        Reason::AttemptsExhausted => exhausted(fire),
        Reason::Backfilled => {
            format!("Started {} after its time, by a backfill.", claimed_late(fire))
        }
        Reason::TooOld => format!(
            "Abandoned: recovery found it {} after its claim, too late to start it.",
            decided_after(fire, fire.claimed_at)
        ),
    }
}

/// The outcome of the fire, or of the fires that its row covers.
fn head(fire: &Model, word: &str) -> String {
    match fire.count {
        ..=1 => word.to_owned(),
        many => format!("{many} fires were {}", lower(word)),
    }
}

fn it_or_them(fire: &Model) -> &'static str {
    if fire.count > 1 { "them" } else { "it" }
}

/// Says that it was skipped, and why: from its detail, or from a text for rows without one.
fn skipped(fire: &Model, without: &str, with: impl FnOnce(&str) -> String) -> String {
    let why = fire.detail.as_deref().map_or_else(|| without.to_owned(), with);
    format!("{}: {why}.", head(fire, "Skipped"))
}

/// How long after its scheduled time it was claimed.
fn claimed_late(fire: &Model) -> String {
    span((fire.claimed_at.utc() - fire.scheduled_at.utc()).num_seconds())
}

/// How long after `from` it was decided.
fn decided_after(fire: &Model, from: Timestamp) -> String {
    let decided = fire.decided_at.unwrap_or(fire.claimed_at);
    span((decided.utc() - from.utc()).num_seconds())
}

fn just_before_or_unclaimed(fire: &Model) -> &'static str {
    match fire.claimed_by {
        Some(_) => "just before it started",
        None => "before any node claimed it",
    }
}

fn awaiting(fire: &Model) -> String {
    match &fire.detail {
        Some(error) if fire.recovery_at.is_some() => {
            format!("Claimed; the last attempt to start it failed: {error}.")
        }
        Some(why) => format!("Claimed late, and about to be started: {why}."),
        None => "Claimed, and about to be started.".to_owned(),
    }
}

/// The run named in its detail.
fn named_run(fire: &Model) -> String {
    fire.detail.as_ref().map_or_else(|| "a run".to_owned(), |run| format!("run {run}"))
}

fn overlapped(fire: &Model) -> String {
    let (head, run) = (head(fire, "Skipped"), named_run(fire));
    let late = fire.claimed_at.utc() - fire.due_at.utc();
    if late > ON_TIME {
        let late = span(late.num_seconds());
        return format!("{head}: when it was claimed, {late} late, {run} was running.");
    }
    format!("{head}: {run} was still running.")
}

fn buffered(fire: &Model) -> String {
    let run = named_run(fire);
    match fire.verdict {
        Verdict::Pending => WAITS_ITS_TURN.to_owned(),
        Verdict::Started => format!("Started after it had waited for {run} to settle."),
        Verdict::Skipped | Verdict::Missed | Verdict::Collapsed | Verdict::Abandoned => {
            format!("Waited for {run} to settle.")
        }
    }
}

fn over_quota(fire: &Model) -> String {
    skipped(fire, "the namespace's quota of fires was used up", |limit| {
        format!(
            "{limit} fires of the namespace had started in that minute, as many as its quota allows"
        )
    })
}

fn lost_to_an_outage(fire: &Model) -> String {
    let detail = fire.detail.as_deref();
    match fire.verdict {
        Verdict::Collapsed => format!(
            "{}: {}; a later fire stands for {}.",
            head(fire, "Collapsed"),
            detail.unwrap_or(NOT_CLAIMED),
            it_or_them(fire)
        ),
        Verdict::Pending
        | Verdict::Started
        | Verdict::Skipped
        | Verdict::Missed
        | Verdict::Abandoned => match detail {
            Some(why) => format!("{}: {why}.", head(fire, "Missed")),
            None => {
                let (head, late) = (head(fire, "Missed"), claimed_late(fire));
                format!("{head}: no scheduler claimed it for {late}.")
            }
        },
    }
}

fn exhausted(fire: &Model) -> String {
    let attempts = fire.recovery_attempts;
    let failed = format!("Abandoned: it could not be started in {attempts} attempts");
    match &fire.detail {
        Some(error) => format!("{failed}; the last failed: {error}."),
        None => format!("{failed}."),
    }
}

/// The text for a fire that waits for other fires of its schedule.
const WAITS_ITS_TURN: &str = "Waits for its turn: the fires of this schedule run one at a time.";

/// The text for a late fire whose cause is unknown.
const NOT_CLAIMED: &str = "no scheduler claimed it in time";

/// The sentence for a fire that waits for a run known to be alive.
pub(crate) fn waits_for(run: Uuid) -> String {
    format!("Waits for run {run} to settle.")
}

/// The sentence for a fire that was handed over on time but whose run started late.
pub(crate) fn began_late(late: TimeDelta) -> String {
    let late = span(late.num_seconds());
    format!(
        "Handed over when it was due; its run began {late} late, because it waited for room on a \
         node or in its group."
    )
}

fn started_late(fire: &Model) -> String {
    let started = fire.decided_at.unwrap_or(fire.claimed_at).utc();
    let late = span((started - fire.due_at.utc()).num_seconds());
    format!("Started {late} late: {}.", fire.detail.as_deref().unwrap_or(NOT_CLAIMED))
}

fn made_up_for(fire: &Model) -> String {
    let started = fire.decided_at.unwrap_or(fire.claimed_at).utc();
    let late = span((started - fire.scheduled_at.utc()).num_seconds());
    match (fire.made_up_for, fire.detail.as_deref()) {
        (Some(MadeUpFor::Pause), _) => {
            format!("Started {late} late: it fell into a pause and was caught up on.")
        }
        (Some(MadeUpFor::Outage | MadeUpFor::Follows) | None, Some(why)) => {
            format!("Missed, and started {late} late to catch up: {why}.")
        }
        (Some(MadeUpFor::Outage | MadeUpFor::Follows) | None, None) => {
            format!("Missed, and started {late} late to catch up.")
        }
    }
}

fn lower(word: &str) -> String {
    word.to_lowercase()
}

/// A duration in its two largest units.
fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let seconds = seconds % 60;
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {seconds} s"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use entity::{Timestamp, fire::Kind};

    use super::*;

    fn fire(verdict: Verdict, reason: Reason) -> Model {
        Model {
            id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            schedule_id: Uuid::nil(),
            schedule_version: 3,
            scheduled_at: Timestamp(0),
            due_at: Timestamp(0),
            last_scheduled_at: Timestamp(0),
            count: 1,
            kind: Kind::Normal,
            verdict,
            reason,
            detail: None,
            claimed_by: None,
            claimed_at: Timestamp(3_725_000),
            decided_at: None,
            run_id: None,
            queue_position: None,
            recovery_attempts: 0,
            recovery_at: None,
            made_up_for: None,
            changed: None,
        }
    }

    #[test]
    fn a_fire_that_waits_says_for_what_and_one_that_waited_says_so() {
        let mut waits = fire(Verdict::Pending, Reason::Buffered);
        waits.detail = Some("0192".to_owned());
        // The row does not show whether that run is still alive.
        assert!(of(&waits).starts_with("Waits for its turn"));
        waits.verdict = Verdict::Started;
        assert_eq!(of(&waits), "Started after it had waited for run 0192 to settle.");
    }

    #[test]
    fn a_missed_fire_that_a_backfill_made_up_for_says_so() {
        let mut missed = fire(Verdict::Missed, Reason::Outage);
        missed.run_id = Some(Uuid::from_u128(7));
        assert!(of(&missed).ends_with(". A backfill made up for it."), "{}", of(&missed));
    }

    #[test]
    fn a_late_fire_says_how_late_and_why() {
        let mut late = fire(Verdict::Started, Reason::Late);
        assert_eq!(of(&late), "Started 1 h 2 min late: no scheduler claimed it in time.");
        late.detail = Some("the database was not available from A to B".to_owned());
        assert_eq!(
            of(&late),
            "Started 1 h 2 min late: the database was not available from A to B."
        );
        let mut made_up = fire(Verdict::Started, Reason::CaughtUp);
        assert_eq!(of(&made_up), "Missed, and started 1 h 2 min late to catch up.");
        made_up.made_up_for = Some(MadeUpFor::Pause);
        let told = "Started 1 h 2 min late: it fell into a pause and was caught up on.";
        assert_eq!(of(&made_up), told);
        let collapsed = fire(Verdict::Collapsed, Reason::Paused);
        assert!(of(&collapsed).starts_with("Collapsed: the schedule was paused, and a later"));
    }

    #[test]
    fn a_sentence_names_the_facts() {
        let mut overlap = fire(Verdict::Skipped, Reason::Overlap);
        overlap.detail = Some("0192".to_owned());
        overlap.due_at = overlap.claimed_at;
        assert_eq!(of(&overlap), "Skipped: run 0192 was still running.");
        overlap.due_at = Timestamp(overlap.claimed_at.0 - 67_000);
        let told = "Skipped: when it was claimed, 1 min 7 s late, run 0192 was running.";
        assert_eq!(of(&overlap), told);
        let mut outage = fire(Verdict::Missed, Reason::Outage);
        assert_eq!(of(&outage), "Missed: no scheduler claimed it for 1 h 2 min.");
        outage.count = 40;
        assert_eq!(of(&outage), "40 fires were missed: no scheduler claimed it for 1 h 2 min.");
        let mut too_old = fire(Verdict::Abandoned, Reason::TooOld);
        too_old.decided_at = Some(Timestamp(too_old.claimed_at.0 + 90_000_000));
        let told = "Abandoned: recovery found it 1 d 1 h after its claim, too late to start it.";
        assert_eq!(of(&too_old), told);
    }
}
