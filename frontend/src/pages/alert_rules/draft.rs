//! A rule while it is edited.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::quiet::Hours;
use crate::{
    api::alerts::{alert_rule_preview, create_alert_rule, update_alert_rule},
    model::{AlertEvent, AlertRule, Failure, Quiet},
    pages::kit::KeptFields,
    state::Address,
};

/// The id of a channel that does not exist, for previews: a preview does not depend on the recipients.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// The fields of the form.
#[derive(Clone, Copy)]
pub(super) struct Draft {
    pub(super) name: RwSignal<String>,
    pub(super) enabled: RwSignal<bool>,
    pub(super) on: RwSignal<Vec<AlertEvent>>,
    pub(super) search: RwSignal<String>,
    pub(super) channels: RwSignal<Vec<String>>,
    /// The only channel that there is, which a new rule begins with.
    pub(super) only_channel: RwSignal<Option<String>>,
    pub(super) grace: RwSignal<String>,
    pub(super) losing: RwSignal<String>,
    pub(super) skipped: RwSignal<String>,
    pub(super) late: RwSignal<String>,
    pub(super) stalled: RwSignal<String>,
    pub(super) slow: RwSignal<String>,
    pub(super) clock_days: RwSignal<String>,
    pub(super) digest: RwSignal<String>,
    pub(super) errors: RwSignal<bool>,
    pub(super) quiet: Hours,
    /// The numbers that the form began with, in the order of `of_events`.
    begun: StoredValue<[i64; 6]>,
}

/// The number that belongs to an event: the event, its field in the API, and its text.
type OfEvent = (AlertEvent, &'static str, RwSignal<String>);

/// The parsed content of the form.
#[derive(Clone)]
pub(super) struct Read {
    name: String,
    enabled: bool,
    on: Vec<AlertEvent>,
    search: String,
    channels: Vec<String>,
    grace: i64,
    losing: i64,
    skipped: i64,
    late: i64,
    stalled: i64,
    slow: i64,
    clock_days: i64,
    digest: i64,
    errors: bool,
    quiet: Option<Quiet>,
}

impl Draft {
    /// A new rule, for the events in the address, or by default for failures and recoveries.
    pub(super) fn new(address: Address) -> Self {
        let named = untrack(|| address.query("on"));
        let named: Vec<AlertEvent> = named.split(',').filter_map(event).collect();
        let usual = vec![AlertEvent::Failed, AlertEvent::Missed, AlertEvent::Recovered];
        Self {
            name: RwSignal::new(String::new()),
            enabled: RwSignal::new(true),
            on: RwSignal::new(if named.is_empty() { usual } else { named }),
            search: RwSignal::new(untrack(|| address.query("search"))),
            channels: RwSignal::new(Vec::new()),
            only_channel: RwSignal::new(None),
            grace: RwSignal::new("0".to_owned()),
            losing: RwSignal::new("3".to_owned()),
            skipped: RwSignal::new("3".to_owned()),
            late: RwSignal::new("300".to_owned()),
            stalled: RwSignal::new("300".to_owned()),
            slow: RwSignal::new("3".to_owned()),
            clock_days: RwSignal::new("14".to_owned()),
            digest: RwSignal::new("30".to_owned()),
            errors: RwSignal::new(true),
            quiet: Hours::new(),
            begun: StoredValue::new([3, 3, 300, 300, 3, 14]),
        }
    }

    /// The draft of an existing rule.
    pub(super) fn of(rule: &AlertRule) -> Self {
        let text = |number: i64| RwSignal::new(number.to_string());
        Self {
            name: RwSignal::new(rule.name.clone()),
            enabled: RwSignal::new(rule.enabled),
            on: RwSignal::new(rule.on.clone()),
            search: RwSignal::new(rule.search.clone()),
            channels: RwSignal::new(rule.channels.iter().map(|c| c.id.clone()).collect()),
            only_channel: RwSignal::new(None),
            grace: text(rule.grace_seconds),
            losing: text(rule.losing_after),
            skipped: text(rule.skipped_after),
            late: text(rule.late_after_seconds),
            stalled: text(rule.stalled_after_seconds),
            slow: text(rule.slow_after_times),
            clock_days: text(rule.clock_change_days),
            digest: text(rule.digest_seconds),
            errors: RwSignal::new(rule.include_errors),
            quiet: Hours::of(rule.quiet.as_ref()),
            begun: StoredValue::new([
                rule.losing_after,
                rule.skipped_after,
                rule.late_after_seconds,
                rule.stalled_after_seconds,
                rule.slow_after_times,
                rule.clock_change_days,
            ]),
        }
    }

    /// The fields that are kept until they are sent.
    pub(super) fn kept(self) -> KeptFields {
        KeptFields::new()
            .with("name", self.name)
            .with("enabled", self.enabled)
            .with("on", self.on)
            .with("search", self.search)
            .with_value(
                "channels",
                move || self.kept_channels(),
                move |kept| self.restore_channels(kept),
            )
            .with("grace", self.grace)
            .with("losing", self.losing)
            .with("skipped", self.skipped)
            .with("late", self.late)
            .with("stalled", self.stalled)
            .with("slow", self.slow)
            .with("clock_days", self.clock_days)
            .with("digest", self.digest)
            .with("errors", self.errors)
            .with_value("quiet", move || self.quiet.kept(), move |kept| self.quiet.restore(kept))
    }

    /// The channels, unless they are what the form itself has chosen: that is no input; tracked.
    fn kept_channels(self) -> Value {
        let channels = self.channels.get();
        let only: Vec<String> = self.only_channel.get().into_iter().collect();
        if channels == only { Value::Null } else { json!(channels) }
    }

    fn restore_channels(self, kept: Value) {
        let channels = serde_json::from_value::<Vec<String>>(kept).ok();
        let only = || self.only_channel.get_untracked().into_iter().collect();
        self.channels.set(channels.unwrap_or_else(only));
    }

    fn of_events(self) -> [OfEvent; 6] {
        [
            (AlertEvent::Losing, "losingAfter", self.losing),
            (AlertEvent::Skipped, "skippedAfter", self.skipped),
            (AlertEvent::Late, "lateAfterSeconds", self.late),
            (AlertEvent::Stalled, "stalledAfterSeconds", self.stalled),
            (AlertEvent::Slow, "slowAfterTimes", self.slow),
            (AlertEvent::ClockChange, "clockChangeDays", self.clock_days),
        ]
    }

    /// Parses the form; tracked.
    ///
    /// # Errors
    /// The first field that is not a number.
    pub(super) fn read(self) -> Result<Read, Failure> {
        let number = |field: &str, text: RwSignal<String>| {
            let value = text.get().trim().parse::<i64>();
            value.map_err(|_| Failure::of_field(field, "Type a whole number."))
        };
        let on = self.on.get();
        // The number of an event that is not reported is hidden, so the user could not correct an error in it.
        let mut numbers = self.begun.get_value();
        for (kept, (event, field, text)) in numbers.iter_mut().zip(self.of_events()) {
            if on.contains(&event) {
                *kept = number(field, text)?;
            }
        }
        let [losing, skipped, late, stalled, slow, clock_days] = numbers;
        Ok(Read {
            name: self.name.get().trim().to_owned(),
            enabled: self.enabled.get(),
            on,
            search: self.search.get().trim().to_owned(),
            channels: self.channels.get(),
            grace: number("graceSeconds", self.grace)?,
            losing,
            skipped,
            late,
            stalled,
            slow,
            clock_days,
            digest: number("digestSeconds", self.digest)?,
            errors: self.errors.get(),
            quiet: self.quiet.read(),
        })
    }
}

/// The event with this name in the address.
fn event(name: &str) -> Option<AlertEvent> {
    serde_json::from_value(name.to_ascii_uppercase().into()).ok()
}

/// Converts the quiet hours to the input type of the operation in `$of`.
macro_rules! quiet {
    ($of:ident, $quiet:expr) => {
        $quiet.map(|quiet| $of::QuietHoursInput {
            zone: quiet.zone,
            windows: quiet
                .windows
                .into_iter()
                .map(|window| $of::CalendarWindowInput {
                    from: window.from,
                    to: window.to,
                    weekdays: window.weekdays,
                })
                .collect(),
        })
    };
}

/// Converts the draft to the input type for a new rule of the operation in `$of`.
macro_rules! new_rule {
    ($of:ident, $namespace:expr, $read:expr) => {{
        let read = $read;
        $of::CreateAlertRuleInput {
            namespace: $namespace,
            name: read.name,
            enabled: read.enabled,
            on: read.on,
            search: read.search,
            channel_ids: read.channels,
            grace_seconds: read.grace,
            losing_after: read.losing,
            skipped_after: read.skipped,
            late_after_seconds: read.late,
            stalled_after_seconds: read.stalled,
            slow_after_times: read.slow,
            clock_change_days: read.clock_days,
            digest_seconds: read.digest,
            quiet: quiet!($of, read.quiet),
            include_errors: read.errors,
        }
    }};
}

impl Read {
    pub(super) fn into_new(self, namespace: String) -> create_alert_rule::CreateAlertRuleInput {
        new_rule!(create_alert_rule, namespace, self)
    }

    /// The input of a preview. The preview does not depend on the name, the channels, or whether the rule is enabled.
    pub(super) fn into_preview(
        self,
        namespace: String,
    ) -> alert_rule_preview::CreateAlertRuleInput {
        let (name, channels) = ("preview".to_owned(), vec![NOBODY.to_owned()]);
        new_rule!(alert_rule_preview, namespace, Self { name, channels, ..self })
    }

    /// The input of a change. It contains all fields, so that none keeps its old value by accident.
    pub(super) fn into_change(
        self,
        id: String,
        expected_version: i64,
    ) -> update_alert_rule::UpdateAlertRuleInput {
        update_alert_rule::UpdateAlertRuleInput {
            id,
            expected_version,
            name: Some(self.name),
            enabled: Some(self.enabled),
            on: Some(self.on),
            search: Some(self.search),
            channel_ids: Some(self.channels),
            grace_seconds: Some(self.grace),
            losing_after: Some(self.losing),
            skipped_after: Some(self.skipped),
            late_after_seconds: Some(self.late),
            stalled_after_seconds: Some(self.stalled),
            slow_after_times: Some(self.slow),
            clock_change_days: Some(self.clock_days),
            digest_seconds: Some(self.digest),
            quiet: quiet!(update_alert_rule, self.quiet),
            include_errors: Some(self.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_event_that_is_not_reported_is_no_error() {
        let rule = json!({
            "id": "1", "namespace": "default", "name": "late", "enabled": true, "on": ["FAILED"], "search": "",
            "channels": [], "graceSeconds": 0, "losingAfter": 4, "skippedAfter": 3, "lateAfterSeconds": 600,
            "stalledAfterSeconds": 300, "slowAfterTimes": 3, "clockChangeDays": 14, "digestSeconds": 30,
            "quiet": { "zone": "UTC", "windows": [] }, "includeErrors": true, "mutedUntil": null,
            "mutedBy": null, "mutedReason": null, "version": 1, "module": null,
        });
        let rule: AlertRule = serde_json::from_value(rule).unwrap();
        Owner::new().with(|| {
            let draft = Draft::of(&rule);
            let read = || untrack(|| draft.read());
            for typed in ["", "1"] {
                draft.late.set(typed.to_owned());
                draft.losing.set(typed.to_owned());
                let read = read().unwrap();
                assert_eq!((read.late, read.losing), (600, 4), "{typed}");
            }
            draft.on.set(vec![AlertEvent::Late]);
            assert_eq!(read().unwrap().late, 1);
            draft.late.set(String::new());
            let refused = read().err().and_then(|wrong| wrong.field);
            assert_eq!(refused.as_deref(), Some("lateAfterSeconds"));
        });
    }
}
