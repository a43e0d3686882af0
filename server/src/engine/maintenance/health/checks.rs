//! The checks, each a function from what was found to a result. No IO.

use chrono::SecondsFormat;
use entity::Timestamp;
use uuid::Uuid;

use super::Check;
use crate::{
    config,
    store::{
        WriteRefusal,
        history_cuts::HistoryCut,
        reads::{canary::EnabledCanary, health::HealthFigures},
        workers::queues::UnservedJobs,
    },
    target::BrokerReport,
};

/// Checks that the database accepts writes.
pub(super) fn writes(refusing: Option<WriteRefusal>) -> Check {
    Check {
        name: "writes",
        healthy: refusing.is_none(),
        value: if refusing.is_none() { "taken" } else { "refused" }.to_owned(),
        limit: None,
        issue: refusing.map(|why| why.problem().to_owned()),
        bare: None,
        nodes: vec![],
    }
}

/// Checks that the database accepts the fires of each schedule that this node claims.
pub(super) fn claims(refused: &[Uuid]) -> Option<Check> {
    let first = refused.first()?;
    let count = refused.len();
    let problem = format!("the database refuses what is due of {count} schedules");
    let help = "the log says why, and each is tried again within five minutes";
    Some(Check {
        name: "claims",
        healthy: false,
        value: count.to_string(),
        limit: Some("0".to_owned()),
        issue: Some(format!("{problem}, among them {first}: {help}")),
        bare: Some(format!("{problem}: {help}")),
        nodes: vec![],
    })
}

/// Checks that this node reaches the message brokers to which tasks publish. An unreachable broker
/// is reported, but like a failing HTTP receiver it only affects its own tasks.
pub(super) fn brokers(reports: &[BrokerReport]) -> Option<Check> {
    if reports.is_empty() {
        return None;
    }
    let failing = |report: &BrokerReport| report.failing.clone().zip(Some(report.place.clone()));
    let away: Vec<_> = reports.iter().filter_map(failing).collect();
    let (count, all) = (away.len(), reports.len());
    let problem = format!("{count} of {all} brokers could not be reached");
    let issue = away.first().map(|((since, why), place)| {
        format!("{problem}, among them {place}, {} s ago: {why}", since.as_secs())
    });
    Some(Check {
        name: "brokers",
        healthy: true,
        value: format!("{} of {all}", all - count),
        limit: None,
        bare: issue.is_some().then_some(problem),
        issue,
        nodes: vec![],
    })
}

/// Checks that a worker pulls from each queue in which jobs wait.
/// If none does, the runs of these jobs time out, and nothing else is affected.
pub(super) fn unserved(queues: &[UnservedJobs]) -> Check {
    let count = queues.len();
    let problem = match count {
        1 => "jobs wait in 1 queue, and no worker may take them".to_owned(),
        _ => format!("jobs wait in {count} queues, and no worker may take them"),
    };
    let issue = queues.first().map(|UnservedJobs { namespace, queue, waiting }| {
        format!("{problem}, among them {queue} of the namespace {namespace} with {waiting}")
    });
    Check {
        name: "queues",
        healthy: true,
        value: count.to_string(),
        limit: Some("0".to_owned()),
        bare: issue.is_some().then_some(problem),
        issue,
        nodes: vec![],
    }
}

/// Describes the histories that quotas have cut, and the output that is not kept.
pub(super) fn short(cuts: &[HistoryCut], full: &[(String, i64)]) -> Check {
    let count = |number: usize| match number {
        1 => "1 namespace".to_owned(),
        _ => format!("{number} namespaces"),
    };
    let (mut issues, mut bare) = (Vec::new(), Vec::new());
    if let Some(HistoryCut { name, until }) = cuts.first() {
        let problem = format!(
            "the quota of history rows has removed history of {} before its retention",
            count(cuts.len())
        );
        let until = until.utc().to_rfc3339_opts(SecondsFormat::Secs, true);
        issues.push(format!("{problem}, among them {name}, which has none from before {until}"));
        bare.push(problem);
    }
    if let Some((name, limit)) = full.first() {
        let problem = format!(
            "new output of {} is not kept, because its quota of kept log is used up",
            count(full.len())
        );
        issues.push(format!("{problem}, among them {name} with {limit} bytes"));
        bare.push(problem);
    }
    let text = |issues: Vec<String>| (!issues.is_empty()).then(|| issues.join("; "));
    Check {
        name: "history",
        healthy: true,
        value: (cuts.len() + full.len()).to_string(),
        limit: Some("0".to_owned()),
        issue: text(issues),
        bare: text(bare),
        nodes: vec![],
    }
}

/// Compares the figures with the configured thresholds.
pub(super) fn judge(figures: &HealthFigures, limits: &config::Health) -> Vec<Check> {
    let waiting = figures.oldest_unclaimed_ms.unwrap_or(0).max(0);
    let unclaimed = millis(limits.unclaimed);
    let nodes = figures.nodes_alive;
    vec![
        at_most("missed", figures.missed, limits.missed, |count, limit| {
            let fires = if count == 1 { "fire was" } else { "fires were" };
            format!("{count} {fires} missed in the last hour, more than {limit}")
        }),
        failures(figures.failed, limits.failed),
        at_most("stalled", figures.stalled, limits.stalled, |count, limit| {
            let runs = if count == 1 { "run is" } else { "runs are" };
            format!("{count} {runs} stalled, more than {limit}")
        }),
        at_most(
            "pending_handoffs",
            figures.pending_handoffs,
            limits.pending_handoffs,
            |count, limit| {
                let fires = if count == 1 { "fire waits" } else { "fires wait" };
                format!("{count} claimed {fires} for a run, more than {limit}")
            },
        ),
        Check {
            name: "scheduler",
            healthy: waiting <= unclaimed,
            value: format!("{} s", waiting / 1_000),
            limit: Some(format!("{} s", unclaimed / 1_000)),
            issue: (waiting > unclaimed).then(|| {
                let seconds = waiting / 1_000;
                format!("the scheduler is not running: a schedule has been due for {seconds} s")
            }),
            bare: None,
            nodes: vec![],
        },
        Check {
            name: "nodes",
            healthy: nodes > 0,
            value: nodes.to_string(),
            limit: None,
            issue: (nodes == 0).then(|| "no node is alive".to_owned()),
            bare: None,
            nodes: vec![],
        },
    ]
}

/// Checks that the canary has succeeded recently.
/// A canary that was just switched on gets time for its first run.
pub(super) fn sings(
    canary: Option<EnabledCanary>,
    now: Timestamp,
    limits: &config::Health,
) -> Option<Check> {
    let canary = canary?;
    let last = canary.due_at.map_or(canary.since, |due_at| due_at.max(canary.since));
    let silent = (now.0 - last.0).max(0);
    let limit = millis(limits.canary);
    let seconds = silent / 1_000;
    Some(Check {
        name: "canary",
        healthy: silent <= limit,
        value: format!("{seconds} s"),
        limit: Some(format!("{} s", limit / 1_000)),
        issue: (silent > limit).then(|| {
            format!("no fire of the canary has succeeded that was due in the last {seconds} s")
        }),
        bare: None,
        nodes: vec![],
    })
}

/// Checks how many jobs fail.
/// This is unhealthy only if a limit is set, because a failing job is its owner's concern.
fn failures(failed: i64, limit: Option<u64>) -> Check {
    let check = at_most("failed", failed, limit.unwrap_or(u64::MAX), |count, limit| {
        format!("{count} runs failed in the last hour, more than {limit}")
    });
    Check { limit: limit.map(|limit| limit.to_string()), ..check }
}

fn millis(span: config::Span) -> i64 {
    i64::try_from(span.0.as_millis()).unwrap_or(i64::MAX)
}

fn at_most(
    name: &'static str,
    value: i64,
    limit: u64,
    issue: impl Fn(i64, u64) -> String,
) -> Check {
    let healthy = u64::try_from(value).unwrap_or(0) <= limit;
    Check {
        name,
        healthy,
        value: value.to_string(),
        limit: Some(limit.to_string()),
        issue: (!healthy).then(|| issue(value, limit)),
        bare: None,
        nodes: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(figures: HealthFigures) -> Vec<String> {
        let checks = judge(&figures, &config::Health::default());
        checks.into_iter().filter_map(|check| check.issue).collect()
    }

    #[test]
    fn a_threshold_is_the_most_that_is_still_well() {
        let well =
            HealthFigures { missed: 10, stalled: 5, nodes_alive: 1, ..HealthFigures::default() };
        assert!(issues(well).is_empty());
        let ill = HealthFigures { missed: 11, ..well };
        assert_eq!(issues(ill), ["11 fires were missed in the last hour, more than 10"]);
    }

    #[test]
    fn failed_runs_are_ill_health_where_a_limit_says_so() {
        let figures = HealthFigures { failed: 100, nodes_alive: 1, ..HealthFigures::default() };
        assert!(issues(figures).is_empty());
        let limits = config::Health { failed: Some(99), ..config::Health::default() };
        let issues: Vec<_> =
            judge(&figures, &limits).into_iter().filter_map(|check| check.issue).collect();
        assert_eq!(issues, ["100 runs failed in the last hour, more than 99"]);
    }

    #[test]
    fn a_canary_that_has_fallen_silent_is_missed() {
        let (limits, now) = (config::Health::default(), Timestamp(1_000_000));
        let seen = |since: i64, due_at: Option<i64>| {
            let canary = EnabledCanary {
                since: Timestamp(since),
                due_at: due_at.map(Timestamp),
                finished_at: None,
            };
            sings(Some(canary), now, &limits).unwrap().issue
        };
        assert_eq!(seen(0, Some(820_000)), None);
        assert_eq!(seen(990_000, None), None);
        assert_eq!(
            seen(0, Some(819_000)).unwrap(),
            "no fire of the canary has succeeded that was due in the last 181 s"
        );
        assert_eq!(sings(None, now, &limits), None);
    }

    #[test]
    fn schedules_whose_fires_the_database_refuses_are_counted_and_named_to_the_known() {
        assert_eq!(claims(&[]), None);
        let check = claims(&[Uuid::nil(), Uuid::max()]).unwrap();
        assert!(!check.healthy && check.value == "2");
        let told = check.issue_for(true).unwrap();
        assert!(told.contains("of 2 schedules, among them 00000000-"), "{told}");
        assert!(!check.issue_for(false).unwrap().contains("00000000-"));
    }

    #[test]
    fn a_broker_that_is_away_is_named_to_the_known_and_is_not_unhealthy() {
        assert_eq!(brokers(&[]), None);
        let report = |failing: Option<&str>| BrokerReport {
            broker: "redis",
            place: "redis://cache:6379".to_owned(),
            is_open: failing.is_none(),
            failing: failing.map(|why| (std::time::Duration::from_secs(3), why.to_owned())),
            ..BrokerReport::default()
        };
        assert_eq!(brokers(&[report(None)]).unwrap().issue, None);
        let check = brokers(&[report(None), report(Some("refused"))]).unwrap();
        assert!(check.healthy && check.value == "1 of 2");
        assert_eq!(
            check.issue_for(true).unwrap(),
            "1 of 2 brokers could not be reached, among them redis://cache:6379, 3 s ago: refused"
        );
        assert!(!check.issue_for(false).unwrap().contains("cache"));
    }

    #[test]
    fn a_queue_without_a_worker_is_named_to_the_known_and_is_not_unhealthy() {
        assert_eq!(unserved(&[]).issue, None);
        let row = |queue: &str, waiting| UnservedJobs {
            namespace: "default".to_owned(),
            queue: queue.to_owned(),
            waiting,
        };
        let check = unserved(&[row("emails", 7), row("videos", 1)]);
        assert!(check.healthy && check.value == "2");
        let told = check.issue_for(true).unwrap();
        assert!(told.ends_with("among them emails of the namespace default with 7"), "{told}");
        assert!(!check.issue_for(false).unwrap().contains("emails"));
    }

    #[test]
    fn history_shortened_by_a_quota_is_reported_and_not_unhealthy() {
        assert_eq!(short(&[], &[]).issue, None);
        let cut = HistoryCut { name: "shop".to_owned(), until: Timestamp(0) };
        let check = short(&[cut], &[("billing".to_owned(), 1_000)]);
        assert!(check.healthy && check.value == "2");
        assert_eq!(
            check.issue_for(true).unwrap(),
            "the quota of history rows has removed history of 1 namespace before its retention, \
             among them shop, which has none from before 1970-01-01T00:00:00Z; new output of 1 \
             namespace is not kept, because its quota of kept log is used up, among them billing \
             with 1000 bytes"
        );
        let bare = check.issue_for(false).unwrap();
        assert!(!bare.contains("shop") && !bare.contains("billing"), "{bare}");
    }

    #[test]
    fn a_due_schedule_that_nobody_claims_means_that_no_scheduler_runs() {
        let figures = HealthFigures {
            oldest_unclaimed_ms: Some(61_000),
            nodes_alive: 0,
            ..HealthFigures::default()
        };
        assert_eq!(
            issues(figures),
            ["the scheduler is not running: a schedule has been due for 61 s", "no node is alive",]
        );
    }
}
