use async_graphql::{InputObject, MaybeUndefined};
use uuid::Uuid;

use super::rule::AlertEvent;
use crate::{
    api::calendar::CalendarWindow,
    commands::{NewRule, RuleEdit, RuleSpec},
    engine::alerting::alerts::{QuietPeriods, Rule},
};

/// Local times in which no messages are sent: they are held until the quiet hours end.
#[derive(InputObject)]
pub(crate) struct QuietHoursInput {
    /// IANA name of the zone.
    zone: String,
    /// The windows, 1 to 50.
    windows: Vec<CalendarWindow>,
}

impl From<QuietHoursInput> for QuietPeriods {
    fn from(input: QuietHoursInput) -> Self {
        Self { zone: input.zone, windows: input.windows.into_iter().map(Into::into).collect() }
    }
}

/// A rule to create.
#[derive(InputObject)]
pub(crate) struct CreateAlertRuleInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: String,
    /// Whether the rule records alerts and sends messages.
    #[graphql(default = true)]
    enabled: bool,
    /// The events that the rule reports.
    on: Vec<AlertEvent>,
    /// A search that selects the schedules the rule watches, in the language of docs/search.md,
    /// such as `tag:billing`; empty for all.
    #[graphql(default)]
    search: String,
    /// The channels that the rule sends messages to: 1 to 10.
    channel_ids: Vec<Uuid>,
    /// Problems that end within this time are not reported: 0 to a week. Does not apply to MISSED
    /// and LATE, which have no duration.
    #[graphql(default_with = "Rule::GRACE")]
    grace_seconds: i64,
    /// For LOSING: the number of failures in a row, 2 to 50.
    #[graphql(default_with = "Rule::LOSING_AFTER")]
    losing_after: i64,
    /// For SKIPPED: the number of fires skipped within an hour, 1 to 1000.
    #[graphql(default_with = "Rule::SKIPPED_AFTER")]
    skipped_after: i64,
    /// For LATE: the delay after the due time from which a start is late, a minute to a week.
    #[graphql(default_with = "Rule::LATE_AFTER")]
    late_after_seconds: i64,
    /// For STALLED: how long a due schedule or a waiting run may wait for a node, a minute to a
    /// week.
    #[graphql(default_with = "Rule::STALLED_AFTER")]
    stalled_after_seconds: i64,
    /// For SLOW: the multiple of its usual duration from which a run is slow, 2 to 100. Runs of
    /// less than a minute are never slow.
    #[graphql(default_with = "Rule::SLOW_AFTER")]
    slow_after_times: i64,
    /// For CLOCK_CHANGE: how many days before the change it is reported, 1 to 60.
    #[graphql(default_with = "Rule::CLOCK_CHANGE_DAYS")]
    clock_change_days: i64,
    /// Events within this time of the first reported one are combined into one message: 0 to a
    /// week.
    #[graphql(default_with = "Rule::DIGEST")]
    digest_seconds: i64,
    /// Quiet hours: messages are held until they end. None if absent.
    quiet: Option<QuietHoursInput>,
    /// Whether messages include the error of a failed run, verbatim.
    #[graphql(default = true)]
    include_errors: bool,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateAlertRuleInput {
    /// The rule's id.
    id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    expected_version: i32,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: Option<String>,
    /// Disabling a rule ends its open alerts; their end is not reported.
    enabled: Option<bool>,
    /// The complete list of events to report.
    on: Option<Vec<AlertEvent>>,
    /// A search that selects the schedules the rule watches; empty for all.
    search: Option<String>,
    /// The complete list of its channels: 1 to 10.
    channel_ids: Option<Vec<Uuid>>,
    /// Problems that end within this time are not reported: 0 to a week.
    grace_seconds: Option<i64>,
    /// For LOSING: the number of failures in a row, 2 to 50.
    losing_after: Option<i64>,
    /// For SKIPPED: the number of fires skipped within an hour, 1 to 1000.
    skipped_after: Option<i64>,
    /// For LATE: the delay from which a start is late, a minute to a week.
    late_after_seconds: Option<i64>,
    /// For STALLED: how long a due schedule or a waiting run may wait for a node, a minute to a
    /// week.
    stalled_after_seconds: Option<i64>,
    /// For SLOW: the multiple of the usual duration from which a run is slow, 2 to 100.
    slow_after_times: Option<i64>,
    /// For CLOCK_CHANGE: how many days before the change it is reported, 1 to 60.
    clock_change_days: Option<i64>,
    /// Events within this time of the first one are combined into one message: 0 to a week.
    digest_seconds: Option<i64>,
    /// Null removes the quiet hours.
    quiet: MaybeUndefined<QuietHoursInput>,
    /// Whether messages include the error of a failed run, verbatim.
    include_errors: Option<bool>,
}

impl From<CreateAlertRuleInput> for NewRule {
    fn from(input: CreateAlertRuleInput) -> Self {
        let rule = Rule {
            on: input.on.into_iter().map(Into::into).collect(),
            search: input.search,
            channels: input.channel_ids,
            grace_seconds: input.grace_seconds,
            losing_after: input.losing_after,
            skipped_after: input.skipped_after,
            late_after_seconds: input.late_after_seconds,
            stalled_after_seconds: input.stalled_after_seconds,
            slow_after_times: input.slow_after_times,
            clock_change_days: input.clock_change_days,
            digest_seconds: input.digest_seconds,
            quiet: input.quiet.map(Into::into),
            include_errors: input.include_errors,
        };
        let spec = RuleSpec { name: input.name, enabled: input.enabled, rule };
        Self { namespace: input.namespace, spec }
    }
}

impl From<UpdateAlertRuleInput> for RuleEdit {
    fn from(input: UpdateAlertRuleInput) -> Self {
        let (id, expected_version) = (input.id, input.expected_version);
        Self { id, expected_version, apply: Box::new(|spec| apply(input, spec)) }
    }
}

fn apply(input: UpdateAlertRuleInput, spec: &mut RuleSpec) {
    fn set<T>(place: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *place = value;
        }
    }
    let rule = &mut spec.rule;
    set(&mut spec.name, input.name);
    set(&mut spec.enabled, input.enabled);
    set(&mut rule.on, input.on.map(|on| on.into_iter().map(Into::into).collect()));
    set(&mut rule.search, input.search);
    set(&mut rule.channels, input.channel_ids);
    set(&mut rule.grace_seconds, input.grace_seconds);
    set(&mut rule.losing_after, input.losing_after);
    set(&mut rule.skipped_after, input.skipped_after);
    set(&mut rule.late_after_seconds, input.late_after_seconds);
    set(&mut rule.stalled_after_seconds, input.stalled_after_seconds);
    set(&mut rule.slow_after_times, input.slow_after_times);
    set(&mut rule.clock_change_days, input.clock_change_days);
    set(&mut rule.digest_seconds, input.digest_seconds);
    set(&mut rule.include_errors, input.include_errors);
    match input.quiet {
        MaybeUndefined::Undefined => {}
        MaybeUndefined::Null => rule.quiet = None,
        MaybeUndefined::Value(quiet) => rule.quiet = Some(quiet.into()),
    }
}
