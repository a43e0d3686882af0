//! Computes what a rule would have reported in the past, without IO
//! and with the same decisions as for the present.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, VecDeque},
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    alert::{Kind, Model},
};
use uuid::Uuid;

use super::{
    clocks::AffectedSchedule,
    judge::{self, FailureFacts, recovery},
    preview::ForetoldMessage,
    quiet_hours::Silence,
    rule::ActiveRule,
    scope::RuleScopes,
    skips::WITHIN,
    slow::{SHORTEST, UsualDurations},
    words,
};
use crate::{
    model::UsualDuration,
    store::alerts::{
        feeds::{BadRun, LostFire, LostNode},
        past::{PastFailure, PastLongRun, PastLoss, PastSkip},
        pending::PendingAlerts,
        skips::SkippingSchedule,
    },
};

/// The recorded events of the period.
#[derive(Debug, Default)]
pub(super) struct PastEvents {
    pub(super) failures: Vec<PastFailure>,
    pub(super) late: Vec<BadRun>,
    pub(super) missed: Vec<LostFire>,
    pub(super) skipped: Vec<PastSkip>,
    /// Long runs with the durations that were usual then; most of them were not slow.
    pub(super) slow: Vec<PastSlowRun>,
    pub(super) changes: Vec<PastChange>,
    pub(super) lost: Vec<PastLoss>,
    /// Whether more rows exist than were read.
    pub(super) is_cut: bool,
}

/// A run that took longer than a minute, and what was usual when it started.
#[derive(Debug)]
pub(super) struct PastSlowRun {
    pub(super) long: PastLongRun,
    pub(super) usual: UsualDuration,
}

/// A clock change, and when a rule would have announced it.
#[derive(Debug)]
pub(super) struct PastChange {
    pub(super) affected: AffectedSchedule,
    pub(super) noticed_at: DateTime<Utc>,
}

/// A node whose next life began this many milliseconds after its loss, or sooner, was only
/// restarted.
const RESTART_MS: i64 = 1_000;

/// An alert that the rule would have recorded.
#[derive(Clone, Debug)]
pub(super) struct RecordedAlert {
    /// The latest state of the alert, open or over.
    alert: Model,
    /// How the count of failures or of skipped fires grew: the time and the new count of each step.
    grew: Vec<(Timestamp, i64)>,
}

impl RecordedAlert {
    fn happened(alert: Model) -> Self {
        Self { alert, grew: vec![] }
    }

    /// The alert's state at a given instant.
    fn at(&self, at: DateTime<Utc>) -> Model {
        let ended_at = self.alert.ended_at.filter(|ended| ended.utc() <= at);
        let grown = self.grew.iter().rev().find(|(since, _)| since.utc() <= at);
        let count = grown.map_or(self.alert.count, |(_, count)| *count);
        Model { ended_at, count, ..self.alert.clone() }
    }
}

/// The alerts that the rule would have recorded, including closed ones.
pub(super) fn alerts(
    active: &ActiveRule,
    scopes: &RuleScopes,
    past: &PastEvents,
    now: DateTime<Utc>,
) -> Vec<RecordedAlert> {
    let mut all = failures(active, scopes, &past.failures);
    all.extend(skipped(active, scopes, &past.skipped));
    all.extend(slow(active, scopes, &past.slow, now));
    all.extend(lost(active, &past.lost));
    // An alert that ended within its grace period is not reported.
    all.retain(|RecordedAlert { alert, .. }| {
        let graced = alert.tell_at.filter(|at| *at > alert.began_at);
        graced.is_none_or(|at| alert.ended_at.is_none_or(|ended| ended >= at))
    });
    let rules = std::slice::from_ref(active);
    for run in &past.late {
        let at = run.started_at.unwrap_or(run.due_at).utc();
        let late = judge::late(std::slice::from_ref(run), rules, scopes, at);
        all.extend(late.into_iter().map(RecordedAlert::happened));
    }
    for fire in &past.missed {
        let at = fire.decided_at.utc();
        let missed = judge::missed(std::slice::from_ref(fire), rules, scopes, at);
        all.extend(missed.into_iter().map(RecordedAlert::happened));
    }
    for PastChange { affected, noticed_at } in &past.changes {
        let changes = std::slice::from_ref(affected);
        let changes = judge::clock_changes(changes, rules, scopes, *noticed_at);
        all.extend(changes.into_iter().map(RecordedAlert::happened));
    }
    all
}

/// Records each slow run at the instant from which it was slow, until it settled.
fn slow(
    active: &ActiveRule,
    scopes: &RuleScopes,
    past: &[PastSlowRun],
    now: DateTime<Utc>,
) -> Vec<RecordedAlert> {
    let mut all = Vec::new();
    for PastSlowRun { long, usual } in past {
        let (run, ended_at) = (long.run, long.finished_at);
        let after = judge::slow_after_ms(usual, &active.rule).max(SHORTEST.num_milliseconds());
        let at = Timestamp(run.started_at.0.saturating_add(after).saturating_add(1));
        if at < active.row.since || at > ended_at.unwrap_or_else(|| now.into()) {
            continue;
        }
        let usual = UsualDurations::known(run.schedule_id, usual.clone());
        let new = judge::slow(&[run], &usual, std::slice::from_ref(active), scopes, at.utc());
        let ended = new.into_iter().map(|alert| Model { ended_at, ..alert });
        all.extend(ended.map(RecordedAlert::happened));
    }
    all
}

/// Records each lost node, until a node with its name began its next life.
fn lost(active: &ActiveRule, past: &[PastLoss]) -> Vec<RecordedAlert> {
    let mut all = Vec::new();
    for PastLoss { id, name, ended_at, back_at } in past {
        let is_back = back_at.is_some_and(|back| back.0 <= ended_at.0.saturating_add(RESTART_MS));
        let lost =
            LostNode { id: *id, name: name.clone(), ended_at: *ended_at, changed: 0, is_back };
        let new = judge::nodes(&[lost], std::slice::from_ref(active), ended_at.utc());
        let ended = new.into_iter().map(|alert| Model { ended_at: *back_at, ..alert });
        all.extend(ended.map(RecordedAlert::happened));
    }
    all
}

/// Groups failures into streaks: failures that are ended by the same success form one streak.
fn failures(active: &ActiveRule, scopes: &RuleScopes, past: &[PastFailure]) -> Vec<RecordedAlert> {
    let rules = std::slice::from_ref(active);
    let mut streaks: BTreeMap<(Uuid, Option<Timestamp>), Vec<&BadRun>> = BTreeMap::new();
    for failure in past {
        let streak = (failure.run.schedule_id, failure.mended_at);
        streaks.entry(streak).or_default().push(&failure.run);
    }
    let mut all: Vec<RecordedAlert> = Vec::new();
    for ((schedule, mended_at), mut runs) in streaks {
        runs.sort_unstable_by_key(|run| (run.finished_at, run.id));
        let (mut open, mut length): (Vec<Model>, i64) = (Vec::new(), 0);
        let mut grew = Vec::new();
        for run in runs {
            length += 1;
            let now = run.finished_at.unwrap_or(run.due_at).utc();
            let streaks = HashMap::from([(schedule, length.min(super::MAX_LOSING))]);
            let facts = FailureFacts { rules, scopes, streaks: &streaks, open: &open, now };
            let plan = judge::failures(std::slice::from_ref(run), &facts);
            for going in plan.going {
                if let Some(alert) = open.iter_mut().find(|alert| alert.id == going.id) {
                    (alert.last_at, alert.count) = (going.last_at, going.count);
                    (alert.run_id, alert.detail) = (going.run_id, going.detail);
                }
            }
            open.extend(plan.new);
            grew.push((now.into(), length.min(super::MAX_LOSING)));
        }
        for mut alert in open {
            // The run that succeeded may have ended before the alert began.
            alert.ended_at = mended_at.map(|at| at.max(alert.began_at));
            all.push(RecordedAlert { alert, grew: grew.clone() });
        }
    }
    all
}

/// Counts the skipped fires of each schedule within an hour, at each of them.
fn skipped(active: &ActiveRule, scopes: &RuleScopes, past: &[PastSkip]) -> Vec<RecordedAlert> {
    let rules = std::slice::from_ref(active);
    let mut schedules: BTreeMap<Uuid, Vec<&PastSkip>> = BTreeMap::new();
    for skip in past {
        schedules.entry(skip.schedule_id).or_default().push(skip);
    }
    let mut all: Vec<RecordedAlert> = Vec::new();
    for skips in schedules.into_values() {
        let mut open: Option<RecordedAlert> = None;
        let mut within: VecDeque<&PastSkip> = VecDeque::new();
        let (mut count, mut reasons): (i64, BTreeMap<&str, i64>) = (0, BTreeMap::new());
        for skip in skips {
            let now = skip.decided_at.utc();
            within.push_back(skip);
            count += skip.count;
            *reasons.entry(&skip.reason).or_default() += skip.count;
            while let Some(first) = within.front().copied()
                && first.decided_at.utc() <= now - WITHIN
            {
                within.pop_front();
                count -= first.count;
                *reasons.entry(&first.reason).or_default() -= first.count;
            }
            reasons.retain(|_, count| *count > 0);
            let skipping = SkippingSchedule {
                schedule_id: skip.schedule_id,
                namespace_id: skip.namespace_id,
                count,
                first_at: within.front().map_or(skip.decided_at, |first| first.decided_at),
                last_at: skip.decided_at,
                reasons: reasons.keys().map(|reason| (*reason).to_owned()).collect(),
            };
            let known: Vec<Model> = open.iter().map(|noted| noted.alert.clone()).collect();
            let plan = judge::skipped(&[skipping], rules, scopes, &known, now);
            for going in plan.going {
                if let Some(RecordedAlert { alert, grew }) = &mut open {
                    (alert.last_at, alert.count) = (going.last_at, going.count);
                    grew.push((going.last_at, going.count));
                }
            }
            for alert in plan.new {
                let grew = vec![(now.into(), alert.count)];
                open = Some(RecordedAlert { alert, grew });
            }
            if skip.resumed_at.is_some()
                && let Some(mut noted) = open.take()
            {
                noted.alert.ended_at = skip.resumed_at;
                all.push(noted);
            }
        }
        all.extend(open);
    }
    all
}

/// The messages about these alerts that would have been sent
/// until `now`: at most `limit`, oldest first.
pub(super) fn told(
    active: &ActiveRule,
    namespace: &str,
    mut noted: Vec<RecordedAlert>,
    silence: Option<&Silence>,
    now: DateTime<Utc>,
    limit: usize,
) -> Vec<ForetoldMessage> {
    let digest = active.rule.digest_seconds.saturating_mul(1_000);
    let recovers = |alert: &Model| recovery(alert, Some(&active.rule), now).and(alert.ended_at);
    let ripe = |(index, RecordedAlert { alert, .. }): (usize, &RecordedAlert)| {
        let at = alert.tell_at.or_else(|| recovers(alert))?;
        Some(Reverse((at, index)))
    };
    let mut ripe: BinaryHeap<Reverse<(Timestamp, usize)>> =
        noted.iter().enumerate().filter_map(ripe).collect();
    let place = words::MessageOrigin {
        namespace: namespace.to_owned(),
        rule: (active.row.id, active.row.name.clone()),
        console: None,
    };
    let mut messages = Vec::new();
    while let Some(Reverse((first, _))) = ripe.peek()
        && messages.len() < limit
    {
        let at = first.utc() + TimeDelta::milliseconds(digest);
        let at = silence.map_or(at, |silence| silence.end(at));
        if at > now {
            break;
        }
        let mut said = Vec::new();
        while let Some(Reverse((tell_at, index))) = ripe.peek().copied()
            && tell_at.utc() <= at
        {
            ripe.pop();
            let shown = noted[index].at(at);
            let alert = &mut noted[index].alert;
            if alert.told_at.is_none() {
                alert.told_at = Some(at.into());
                if let Some(ended) = recovers(alert).filter(|_| shown.ended_at.is_none()) {
                    ripe.push(Reverse((ended, index)));
                }
            }
            said.push(shown);
        }
        messages.push(message(&place, &said, at));
    }
    messages
}

fn message(place: &words::MessageOrigin, said: &[Model], at: DateTime<Utc>) -> ForetoldMessage {
    let mut counts: Vec<PendingAlerts> = Vec::new();
    for alert in said {
        let (kind, was_told): (Kind, bool) = (alert.kind, alert.told_at.is_some());
        match counts.iter_mut().find(|count| (count.kind, count.was_told) == (kind, was_told)) {
            Some(count) => count.alerts += 1,
            None => counts.push(PendingAlerts { kind, was_told, alerts: 1 }),
        }
    }
    let (subject, _) = words::message(place, said, &counts);
    ForetoldMessage { at, subject, alerts: said.len() }
}
