use entity::alert_rule;
use serde_json::json;

use super::*;

const HOME: Uuid = Uuid::from_u128(1);
const SCHEDULE: Uuid = Uuid::from_u128(2);

fn noon() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn active(on: &[AlertEvent]) -> ActiveRule {
    let rule = Rule {
        on: on.to_vec(),
        search: String::new(),
        channels: vec![],
        grace_seconds: 60,
        losing_after: 3,
        skipped_after: 3,
        late_after_seconds: 300,
        stalled_after_seconds: 300,
        slow_after_times: 3,
        clock_change_days: 14,
        digest_seconds: 0,
        quiet: None,
        include_errors: true,
    };
    let row = alert_rule::Model {
        id: Uuid::from_u128(3),
        namespace_id: HOME,
        name: "all".to_owned(),
        definition: json!(rule),
        enabled: true,
        since: Timestamp(0),
        muted_until: None,
        muted_by: None,
        muted_reason: None,
        version: 1,
        module: None,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    };
    ActiveRule { row, rule, search: None }
}

fn failed(run: u128, minute: i64) -> BadRun {
    let at = Timestamp(noon().timestamp_millis() + minute * 60_000);
    BadRun {
        id: Uuid::from_u128(run),
        namespace_id: HOME,
        schedule_id: SCHEDULE,
        error: Some("exit code 1".to_owned()),
        due_at: at,
        started_at: Some(at),
        finished_at: Some(at),
        changed: 1,
    }
}

fn judged(rule: &ActiveRule, runs: &[BadRun], streak: i64, open: &[Model]) -> AlertPlan {
    let rules = [rule.clone()];
    let scopes = RuleScopes::of_all(&rules, &[(SCHEDULE, "nightly")]);
    let streaks = HashMap::from([(SCHEDULE, streak)]);
    let now = noon();
    failures(runs, &FailureFacts { rules: &rules, scopes: &scopes, streaks: &streaks, open, now })
}

#[test]
fn the_first_failure_begins_an_alert_and_later_ones_extend_it() {
    let rule = active(&[AlertEvent::Failed, AlertEvent::Losing, AlertEvent::Recovered]);
    let plan = judged(&rule, &[failed(11, 0), failed(12, 1)], 2, &[]);
    assert_eq!((plan.new.len(), plan.going.len()), (1, 0), "{plan:?}");
    let alert = &plan.new[0];
    assert_eq!((alert.kind, alert.count, &*alert.subject), (Kind::Failed, 2, "nightly"));
    assert_eq!(alert.run_id, Some(Uuid::from_u128(12)));
    assert_eq!(alert.tell_at, Some(Timestamp(alert.began_at.0 + 60_000)), "after the grace");

    let again = judged(&rule, &[failed(13, 2)], 3, &plan.new);
    assert_eq!(again.going[0].count, 3);
    assert_eq!(again.new.len(), 1, "{again:?}");
    assert_eq!(again.new[0].kind, Kind::Losing, "three in a row are told by themselves");
}

#[test]
fn a_run_of_an_older_fire_that_fails_later_is_not_the_latest() {
    let rule = active(&[AlertEvent::Failed]);
    let open = judged(&rule, &[failed(12, 0)], 1, &[]).new;
    let plan = judged(&rule, &[failed(11, 5)], 2, &open);
    let going = &plan.going[0];
    assert_eq!((going.run_id, going.count), (Some(Uuid::from_u128(12)), 2));
    assert_eq!(going.last_at, failed(11, 5).finished_at.unwrap());
    let plan = judged(&rule, &[failed(14, 3), failed(13, 4)], 3, &open);
    assert_eq!(plan.going.len(), 1);
    assert_eq!(plan.going[0].run_id, Some(Uuid::from_u128(14)));
}

#[test]
fn a_rule_knows_only_its_own() {
    let rule = active(&[AlertEvent::Failed]);
    let mut foreign = failed(11, 0);
    foreign.namespace_id = Uuid::from_u128(99);
    let mut old = active(&[AlertEvent::Failed]);
    old.row.since = Timestamp(noon().timestamp_millis() + 1);
    let mut unknown = failed(12, 0);
    unknown.schedule_id = Uuid::from_u128(98);
    assert!(judged(&rule, &[foreign, unknown], 1, &[]).is_empty());
    assert!(judged(&old, &[failed(11, 0)], 1, &[]).is_empty(), "before the rule was made");
}

#[test]
fn a_recovery_is_reported_once_and_only_for_reported_alerts() {
    let both = active(&[AlertEvent::Failed, AlertEvent::Losing, AlertEvent::Recovered]);
    let plan = judged(&both, &[failed(11, 0)], 3, &[]);
    let told = |kind: Kind| {
        let alert = plan.new.iter().find(|alert| alert.kind == kind).unwrap().clone();
        Model { told_at: Some(noon().into()), ..alert }
    };
    assert_eq!(recovery(&plan.new[0], Some(&both.rule), noon()), None, "nobody knows of it");
    assert!(recovery(&told(Kind::Failed), Some(&both.rule), noon()).is_some());
    assert!(recovery(&told(Kind::Losing), Some(&both.rule), noon()).is_none());
    let losing = active(&[AlertEvent::Losing, AlertEvent::Recovered]);
    assert!(recovery(&told(Kind::Losing), Some(&losing.rule), noon()).is_some());
    assert!(
        recovery(&told(Kind::Failed), Some(&active(&[AlertEvent::Failed]).rule), noon()).is_none()
    );
    // A rule that reports only recoveries records failures, but does not report them.
    let alone = judged(&active(&[AlertEvent::Recovered]), &[failed(11, 0)], 1, &[]);
    assert_eq!((alone.new[0].tell_at, alone.new[0].told_at.is_some()), (None, true));
}

#[test]
fn a_run_is_late_by_the_rules_own_measure() {
    let rules = [active(&[AlertEvent::Late])];
    let scopes = RuleScopes::of_all(&rules, &[(SCHEDULE, "nightly")]);
    let mut run = failed(11, 0);
    for (seconds, told) in [(299, 0), (300, 1)] {
        run.started_at = Some(Timestamp(run.due_at.0 + seconds * 1_000));
        assert_eq!(late(&[run.clone()], &rules, &scopes, noon()).len(), told, "{seconds}");
    }
}

#[test]
fn a_run_is_slow_by_the_rules_measure_and_beyond_nearly_all_before_it() {
    let rules = [active(&[AlertEvent::Slow])];
    let scopes = RuleScopes::of_all(&rules, &[(SCHEDULE, "nightly")]);
    let slow_after = |durations: Vec<i64>, minutes: i64| {
        let usual = UsualDurations::known(SCHEDULE, UsualDuration::of(durations).unwrap());
        let started_at = Timestamp(noon().timestamp_millis() - minutes * 60_000);
        let run = LongRun {
            id: Uuid::from_u128(11),
            schedule_id: SCHEDULE,
            namespace_id: HOME,
            started_at,
        };
        slow(&[run], &usual, &rules, &scopes, noon())
    };
    let usual = vec![600_000; 20];
    assert!(slow_after(usual.clone(), 30).is_empty());
    let alerts = slow_after(usual, 31);
    let detail = "running for 31 min, 3.1 times its usual 10 min";
    assert_eq!(alerts[0].detail.as_deref(), Some(detail));
    // If one run in ten takes an hour, a run of 31 minutes is not slow.
    let mut wide = vec![600_000; 9];
    wide.push(3_600_000);
    assert!(slow_after(wide, 31).is_empty());
}

fn skipping(count: i64, minute: i64) -> SkippingSchedule {
    let at = |minute: i64| Timestamp(noon().timestamp_millis() + minute * 60_000);
    SkippingSchedule {
        schedule_id: SCHEDULE,
        namespace_id: HOME,
        count,
        first_at: at(minute - 30),
        last_at: at(minute),
        reasons: ["overlap", "quota"].map(str::to_owned).into(),
    }
}

#[test]
fn skipped_fires_begin_an_alert_at_the_rules_number_and_later_ones_extend_it() {
    let rules = [active(&[AlertEvent::Skipped])];
    let scopes = RuleScopes::of_all(&rules, &[(SCHEDULE, "nightly")]);
    let judged =
        |one: SkippingSchedule, open: &[Model]| skipped(&[one], &rules, &scopes, open, noon());
    assert!(judged(skipping(2, 0), &[]).is_empty());
    let foreign = SkippingSchedule { namespace_id: Uuid::from_u128(99), ..skipping(3, 0) };
    assert!(judged(foreign, &[]).is_empty());
    let open = judged(skipping(3, 0), &[]).new;
    let alert = &open[0];
    assert_eq!((alert.kind, alert.count, &*alert.subject), (Kind::Skipped, 3, "nightly"));
    assert_eq!(alert.detail.as_deref(), Some("overlap, quota"));
    assert_eq!((alert.ended_at, alert.tell_at), (None, Some(noon().into())));

    assert!(judged(skipping(3, 0), &open).is_empty(), "nothing has happened since");
    let plan = judged(skipping(1, 5), &open);
    assert!(plan.new.is_empty(), "{plan:?}");
    let going = &plan.going[0];
    assert_eq!((going.id, going.count), (alert.id, 3), "the most within an hour");
    assert_eq!(going.last_at, skipping(1, 5).last_at);
}
