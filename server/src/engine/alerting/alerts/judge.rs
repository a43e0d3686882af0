//! Decides which alerts follow from failures, by the rules and without IO.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    alert::{Kind, Model},
};
use uuid::Uuid;

use super::{
    AlertEvent,
    clocks::AffectedSchedule,
    row::{begun, happened},
    rule::{ActiveRule, Rule},
    scope::RuleScopes,
    slow::UsualDurations,
    words::duration,
};
use crate::{
    model::UsualDuration,
    store::alerts::{
        feeds::{BadRun, LostFire, LostNode},
        notes::AlertUpdate,
        skips::SkippingSchedule,
        standing::{LongRun, StalledSchedule},
    },
};

/// Number of characters of a run's error that an alert keeps.
const MAX_DETAIL: usize = 500;

/// The rows to write to the tables of alerts.
#[derive(Debug, Default)]
pub(super) struct AlertPlan {
    pub(super) new: Vec<Model>,
    pub(super) going: Vec<AlertUpdate>,
}

impl AlertPlan {
    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.going.is_empty()
    }
}

/// The facts needed to judge failed runs.
pub(super) struct FailureFacts<'a> {
    pub(super) rules: &'a [ActiveRule],
    pub(super) scopes: &'a RuleScopes,
    /// How many runs of each schedule have failed in a row so far, or had when a success ended the
    /// streak, by the schedule's id.
    pub(super) streaks: &'a HashMap<Uuid, i64>,
    /// The open alerts of these schedules.
    pub(super) open: &'a [Model],
    pub(super) now: DateTime<Utc>,
}

/// Judges failures as transitions: the first failure opens an alert, and later ones extend it.
pub(super) fn failures(runs: &[BadRun], facts: &FailureFacts<'_>) -> AlertPlan {
    let mut plan = AlertPlan::default();
    let mut going: HashMap<Uuid, AlertUpdate> = HashMap::new();
    for active in facts.rules {
        let mut known: HashMap<(Kind, Uuid), AlertRef<'_>> = HashMap::new();
        for alert in facts.open.iter().filter(|alert| alert.rule_id == active.row.id) {
            let Some(schedule) = alert.schedule_id else { continue };
            known.insert((alert.kind, schedule), AlertRef::Row(alert));
        }
        for run in runs.iter().filter(|run| run.namespace_id == active.row.namespace_id) {
            let at = run.finished_at.unwrap_or_else(|| facts.now.into());
            if at < active.row.since {
                continue;
            }
            let Some(name) = facts.scopes.name(active.row.id, run.schedule_id) else { continue };
            // A run counts as one failure, even if its row has been removed since it was read.
            let streak = facts.streaks.get(&run.schedule_id).copied().unwrap_or(0).max(1);
            for kind in [Kind::Failed, Kind::Losing] {
                let is_noted = active.rule.notes(kind)
                    && (kind == Kind::Failed || streak >= active.rule.losing_after);
                if !is_noted {
                    continue;
                }
                let detail = active.rule.include_errors.then(|| short(run.error.as_deref()));
                let detail = detail.flatten();
                match known.get(&(kind, run.schedule_id)) {
                    Some(AlertRef::Row(alert)) => {
                        let going = going.entry(alert.id).or_insert_with(|| AlertUpdate {
                            id: alert.id,
                            last_at: alert.last_at,
                            count: streak,
                            run_id: alert.run_id,
                            detail: alert.detail.clone(),
                        });
                        going.last_at = going.last_at.max(at);
                        // The run of an older fire may
                        // fail later, but it is not the latest failure.
                        if Some(run.id) > going.run_id {
                            (going.run_id, going.detail) = (Some(run.id), detail);
                        }
                    }
                    Some(AlertRef::New(place)) => {
                        let alert = &mut plan.new[*place];
                        (alert.last_at, alert.count) = (alert.last_at.max(at), streak);
                        if Some(run.id) > alert.run_id {
                            (alert.run_id, alert.detail) = (Some(run.id), detail);
                        }
                    }
                    None => {
                        known.insert((kind, run.schedule_id), AlertRef::New(plan.new.len()));
                        let alert = begun(active, kind, run.id, at, at, facts.now);
                        plan.new.push(Model {
                            schedule_id: Some(run.schedule_id),
                            subject: name.to_owned(),
                            run_id: Some(run.id),
                            detail,
                            count: streak,
                            ..alert
                        });
                    }
                }
            }
        }
    }
    plan.going.extend(going.into_values());
    plan
}

enum AlertRef<'a> {
    Row(&'a Model),
    /// The index of a new alert in the plan.
    New(usize),
}

/// Alerts about runs that started late: one for each run.
pub(super) fn late(
    runs: &[BadRun],
    rules: &[ActiveRule],
    scopes: &RuleScopes,
    now: DateTime<Utc>,
) -> Vec<Model> {
    each(rules, Kind::Late, runs, |active, run| {
        let at = run.started_at?;
        let late = at.0 - run.due_at.0;
        let name = scopes.name(active.row.id, run.schedule_id)?;
        let is_told = run.namespace_id == active.row.namespace_id
            && at >= active.row.since
            && late >= active.rule.late_after_seconds.saturating_mul(1_000);
        is_told.then(|| Model {
            schedule_id: Some(run.schedule_id),
            subject: name.to_owned(),
            run_id: Some(run.id),
            ..happened(active, Kind::Late, run.id, run.due_at, at, now)
        })
    })
}

/// Alerts about fires that were not run.
pub(super) fn missed(
    fires: &[LostFire],
    rules: &[ActiveRule],
    scopes: &RuleScopes,
    now: DateTime<Utc>,
) -> Vec<Model> {
    each(rules, Kind::Missed, fires, |active, fire| {
        let name = scopes.name(active.row.id, fire.schedule_id)?;
        let is_told =
            fire.namespace_id == active.row.namespace_id && fire.decided_at >= active.row.since;
        is_told.then(|| Model {
            schedule_id: Some(fire.schedule_id),
            subject: name.to_owned(),
            fire_id: Some(fire.id),
            detail: Some(fire.reason.clone()),
            count: fire.count,
            ..happened(active, Kind::Missed, fire.id, fire.scheduled_at, fire.decided_at, now)
        })
    })
}

/// Alerts about schedules that skip fires: one until the schedule starts its fires again.
/// Open alerts go on with the schedule's later skipped fires, however few these are.
pub(super) fn skipped(
    skipping: &[SkippingSchedule],
    rules: &[ActiveRule],
    scopes: &RuleScopes,
    open: &[Model],
    now: DateTime<Utc>,
) -> AlertPlan {
    let known: HashMap<(Uuid, Uuid), &Model> = open
        .iter()
        .filter_map(|alert| Some(((alert.rule_id, alert.schedule_id?), alert)))
        .collect();
    let mut going = Vec::new();
    let new = each(rules, Kind::Skipped, skipping, |active, one| {
        let reasons: Vec<&str> = one.reasons.iter().map(String::as_str).collect();
        let detail = Some(reasons.join(", "));
        if let Some(alert) = known.get(&(active.row.id, one.schedule_id)) {
            if one.last_at > alert.last_at {
                going.push(AlertUpdate {
                    id: alert.id,
                    last_at: one.last_at,
                    count: one.count.max(alert.count),
                    run_id: alert.run_id,
                    detail,
                });
            }
            return None;
        }
        let name = scopes.name(active.row.id, one.schedule_id)?;
        let is_told =
            one.namespace_id == active.row.namespace_id && one.count >= active.rule.skipped_after;
        is_told.then(|| {
            let begun =
                begun(active, Kind::Skipped, one.schedule_id, one.first_at, one.last_at, now);
            Model {
                schedule_id: Some(one.schedule_id),
                subject: name.to_owned(),
                detail,
                count: one.count,
                // The key includes the first fire, because the same schedule can skip again later.
                occurrence: format!("{}:{}", begun.occurrence, one.first_at.0),
                tell_at: begun.tell_at.map(|at| at.max(now.into())),
                ..begun
            }
        })
    });
    AlertPlan { new, going }
}

/// Alerts about nodes that were lost. A node that is back by now was only restarted.
pub(super) fn nodes(nodes: &[LostNode], rules: &[ActiveRule], now: DateTime<Utc>) -> Vec<Model> {
    each(rules, Kind::NodeLost, nodes, |active, node| {
        let is_told = !node.is_back && node.ended_at >= active.row.since;
        is_told.then(|| Model {
            subject: node.name.clone(),
            ..begun(active, Kind::NodeLost, node.id, node.ended_at, node.ended_at, now)
        })
    })
}

/// Alerts about waiting work that no node takes, unless the rule has already recorded it.
pub(super) fn stalled(
    waiting: &[StalledSchedule],
    rules: &[ActiveRule],
    scopes: &RuleScopes,
    open: &[Model],
    now: DateTime<Utc>,
) -> Vec<Model> {
    let mut known: std::collections::HashSet<(Uuid, Uuid)> =
        open.iter().filter_map(|alert| Some((alert.rule_id, alert.schedule_id?))).collect();
    each(rules, Kind::Stalled, waiting, |active, one| {
        scopes.name(active.row.id, one.schedule_id)?;
        let waits = Timestamp::from(now).0 - one.since.0;
        let is_told = one.namespace_id == active.row.namespace_id
            && waits >= active.rule.stalled_after_seconds.saturating_mul(1_000)
            && known.insert((active.row.id, one.schedule_id));
        is_told.then(|| {
            let begun = begun(active, Kind::Stalled, one.schedule_id, one.since, now.into(), now);
            Model {
                schedule_id: Some(one.schedule_id),
                subject: one.name.clone(),
                run_id: one.run_id,
                detail: one.queue.as_ref().map(|queue| format!("no worker of the queue {queue}")),
                // The key includes the start of the wait,
                // because the same schedule can stall again later.
                occurrence: format!("{}:{}", begun.occurrence, one.since.0),
                ..begun
            }
        })
    })
}

/// Alerts about runs that take the rule's factor longer than
/// usual, and longer than nearly all earlier runs.
pub(super) fn slow(
    runs: &[LongRun],
    usual: &UsualDurations,
    rules: &[ActiveRule],
    scopes: &RuleScopes,
    now: DateTime<Utc>,
) -> Vec<Model> {
    each(rules, Kind::Slow, runs, |active, run| {
        let name = scopes.name(active.row.id, run.schedule_id)?;
        let usual = usual.of(run.schedule_id)?;
        let elapsed = Timestamp::from(now).0 - run.started_at.0;
        let is_told = run.namespace_id == active.row.namespace_id
            && elapsed > slow_after_ms(usual, &active.rule);
        is_told.then(|| Model {
            schedule_id: Some(run.schedule_id),
            subject: name.to_owned(),
            run_id: Some(run.id),
            detail: Some(format!(
                "running for {}, {:.1} times its usual {}",
                duration(elapsed / 1_000),
                usual.ratio(elapsed),
                duration(usual.median_ms() / 1_000),
            )),
            ..begun(active, Kind::Slow, run.id, now.into(), now.into(), now)
        })
    })
}

/// How long a run may take before the rule calls it slow.
pub(super) fn slow_after_ms(usual: &UsualDuration, rule: &Rule) -> i64 {
    usual.median_ms().saturating_mul(rule.slow_after_times).max(usual.p95_ms())
}

/// Alerts about schedules that a clock change affects: one for each schedule and change.
pub(super) fn clock_changes(
    touched: &[AffectedSchedule],
    rules: &[ActiveRule],
    scopes: &RuleScopes,
    now: DateTime<Utc>,
) -> Vec<Model> {
    each(rules, Kind::ClockChange, touched, |active, one| {
        let name = scopes.name(active.row.id, one.schedule_id)?;
        let ahead = TimeDelta::try_days(active.rule.clock_change_days)?;
        let is_told = one.namespace_id == active.row.namespace_id && one.change.at <= now + ahead;
        is_told.then(|| {
            let at = Timestamp::from(one.change.at);
            let happened =
                happened(active, Kind::ClockChange, one.schedule_id, now.into(), now.into(), now);
            Model {
                schedule_id: Some(one.schedule_id),
                subject: name.to_owned(),
                detail: short(Some(&one.change.effects.join("; "))),
                // The key includes the time of the change, because the clocks change twice a year.
                occurrence: format!("{}:{}", happened.occurrence, at.0),
                ..happened
            }
        })
    })
}

fn each<T>(
    rules: &[ActiveRule],
    kind: Kind,
    things: &[T],
    mut alert: impl FnMut(&ActiveRule, &T) -> Option<Model>,
) -> Vec<Model> {
    let mut all = Vec::new();
    for active in rules.iter().filter(|active| active.rule.notes(kind)) {
        all.extend(things.iter().filter_map(|thing| alert(active, thing)));
    }
    all
}

/// When to report that an alert is over; `None` if its end is not reported.
pub(super) fn recovery(
    alert: &Model,
    rule: Option<&Rule>,
    now: DateTime<Utc>,
) -> Option<Timestamp> {
    let rule = rule.filter(|rule| rule.tells(AlertEvent::Recovered))?;
    // If a schedule has both a failure alert and a losing alert, only one recovery is reported.
    let is_second = alert.kind == Kind::Losing && rule.notes(Kind::Failed);
    (alert.told_at.is_some() && !is_second).then(|| now.into())
}

fn short(error: Option<&str>) -> Option<String> {
    error.map(|error| error.chars().take(MAX_DETAIL).collect())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
