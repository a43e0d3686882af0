//! The entries of a file for alert rules and channels.

use std::collections::HashMap;

use entity::alert_channel::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timetable::TimeWindow;
use uuid::Uuid;

use super::{
    calendar::WindowSchema,
    scalars::{Seconds, Words},
    workflow::unless,
};
use crate::{
    commands::{
        BadInput, ChannelInput, RuleSpec,
        alerts::{names_secret, shown_address, shown_key},
        secrets::{is_reference, masked_url},
    },
    engine::alerting::alerts::{
        AlertEvent, ChannelConfig, ChannelSecrets, QuietPeriods, Receiver, Rule,
    },
    target::SecretText,
    vault::MASK,
};

/// A destination for messages about alerts. It contains no secret: address and key refer to secrets
/// of the namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChannelEntry {
    /// The service or protocol that delivers the messages.
    #[schemars(with = "Words<Kind>")]
    pub(crate) kind: Kind,
    /// For all kinds except `email`: the address that receives the messages. Its secret part refers
    /// to a secret, as in `https://hooks.slack.com/services/{{ secrets.slack_ops }}`. For
    /// `pagerduty` and `opsgenie` it is that of the service if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<SecretText>,
    /// For `webhook`: the secret that signs messages, such as `{{ secrets.ops_key }}`; not signed
    /// if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signing_secret: Option<SecretText>,
    /// For `pagerduty` the integration key of a service (Events API v2), for `opsgenie` the key of
    /// an API integration, such as `{{ secrets.pagerduty }}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<SecretText>,
    /// For `email`: 1 to 50 addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    to: Vec<String>,
}

/// Which events are reported to which channels, and when.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleEntry {
    /// The events to report.
    on: Vec<AlertEvent>,
    /// Names of alert channels in the namespace: 1 to 10.
    pub(crate) channels: Vec<String>,
    /// A search (docs/search.md) that selects the schedules whose events are reported; all
    /// schedules if left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    search: String,
    /// A problem that ends within this time is not reported; 0s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grace: Option<Seconds>,
    /// For `losing`: how many runs must fail in a row, 2 to 50; 3 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    losing_after: Option<i64>,
    /// For `skipped`: how many fires must be skipped within an hour, 1 to 1000; 3 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skipped_after: Option<i64>,
    /// For `late`: a run is late if it starts this long after its due time, or later; 5m if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_after: Option<Seconds>,
    /// For `stalled`: how long a due schedule or a waiting run must have been left untaken by all
    /// nodes; 5m if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stalled_after: Option<Seconds>,
    /// For `slow`: a run is slow if it takes this many times its usual duration; 3 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slow_after: Option<i64>,
    /// For `clock_change`: how many days before the clock change it is reported; 14 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock_change_days: Option<i64>,
    /// Events within this time of the first reported one go into one message; 30s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Seconds>,
    /// Times in which no messages are sent; events of these times are reported when they end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quiet: Option<QuietEntry>,
    /// Whether messages include the error text of failed runs; `true` if left out.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    include_errors: bool,
    /// Whether the rule is active; `true` if left out.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    enabled: bool,
}

/// Local times in which no messages are sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuietEntry {
    /// The time zone of the windows: an IANA name such as `Europe/Berlin`.
    zone: String,
    /// The quiet times of day, 1 to 50.
    #[schemars(with = "Vec<WindowSchema>")]
    windows: Vec<TimeWindow>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field over so")]
fn is_yes(value: &bool) -> bool {
    *value
}

impl ChannelEntry {
    /// The entry that declares the channel.
    pub(in super::super) fn of(way: &ChannelConfig) -> Self {
        match way {
            ChannelConfig::Request(receiver, hidden) => Self {
                kind: receiver.kind(),
                url: Some(hidden.url.clone()),
                signing_secret: hidden.signing_secret.clone(),
                key: hidden.key.clone(),
                to: vec![],
            },
            ChannelConfig::Email(to) => Self {
                kind: Kind::Email,
                url: None,
                signing_secret: None,
                key: None,
                to: to.clone(),
            },
        }
    }

    /// The entry that declares a channel, made from the channel's displayable part, so that no key
    /// is needed.
    pub(in super::super) fn of_shown(kind: Kind, shown: &serde_json::Value) -> Self {
        let text = |key: &str| shown[key].as_str().map(SecretText::new);
        let address = || Some(SecretText::new(format!("{}/{MASK}", shown["origin"].as_str()?)));
        let key = || (shown["signed"] == true).then(|| SecretText::new(MASK));
        let to = shown["to"].as_array().into_iter().flatten();
        Self {
            kind,
            url: text("url").or_else(address),
            signing_secret: text("signing_secret").or_else(key),
            key: text("key"),
            to: to.filter_map(|to| Some(to.as_str()?.to_owned())).collect(),
        }
    }

    /// The entry with its secrets masked.
    pub(in super::super) fn masked(self) -> Self {
        let receiver = Receiver::of(self.kind);
        let address = |url: &SecretText| receiver.map(|receiver| shown_address(receiver, url));
        let key = |key: SecretText| SecretText::new(shown_key(&key));
        Self {
            url: self.url.as_ref().and_then(address).map(SecretText::new),
            signing_secret: self.signing_secret.map(key),
            key: self.key.map(key),
            ..self
        }
    }

    /// The secrets that the entry names, in order, each once.
    pub(in super::super) fn secret_names(&self) -> Vec<String> {
        let Some(receiver) = Receiver::of(self.kind) else { return vec![] };
        let usual = || receiver.usual_url().map(SecretText::new);
        let Some(url) = self.url.clone().or_else(usual) else { return vec![] };
        let (signing_secret, key) = (self.signing_secret.clone(), self.key.clone());
        ChannelSecrets { url, signing_secret, key }.request(receiver).secret_names()
    }

    /// The input for the channel that the file declares. `there` is the existing channel, if any,
    /// as a file would show it.
    ///
    /// A mask in its original position keeps the stored value. Any other secret must be given by
    /// name, because files have many readers and are kept for ever.
    pub(in super::super) fn input(self, there: Option<&Self>) -> Result<ChannelInput, BadInput> {
        let Self { kind, url, signing_secret, key, to } = self;
        let shown = there.filter(|there| there.kind == kind);
        let Some(receiver) = Receiver::of(kind) else {
            return Ok(ChannelInput { url, signing_secret, key, to: Some(to) });
        };
        let to = (!to.is_empty()).then_some(to);
        let usual = || receiver.usual_url().map(SecretText::new);
        let Some(url) = url.or_else(usual) else {
            let help = "give the address that messages are sent to";
            return Err(BadInput::new("url", "", "is missing", help));
        };
        let url = said("url", url, shown.and_then(|there| there.url.as_ref()))?;
        if let Some(url) = &url {
            check_address(kind, url)?;
        }
        let signing_secret = match signing_secret {
            Some(key) => {
                let shown = shown.and_then(|there| there.signing_secret.as_ref());
                let key = said("signingSecret", key, shown)?;
                key.as_ref().map_or(Ok(()), |key| check_key("signingSecret", key))?;
                key
            }
            // If the file leaves out a value, it is removed.
            None => (kind == Kind::Webhook).then(|| SecretText::new("")),
        };
        let key = match key {
            Some(key) => {
                let key = said("key", key, shown.and_then(|there| there.key.as_ref()))?;
                key.as_ref().map_or(Ok(()), |key| check_key("key", key))?;
                key
            }
            None if receiver.has_key() => {
                return Err(BadInput::new("key", "", "is missing", NAME_IT));
            }
            None => None,
        };
        Ok(ChannelInput { url, signing_secret, key, to })
    }
}

/// The given value; `None` if it is the mask of the existing one.
fn said(
    field: &str,
    given: SecretText,
    shown: Option<&SecretText>,
) -> Result<Option<SecretText>, BadInput> {
    if !given.expose().contains(MASK) {
        return Ok(Some(given));
    }
    if shown == Some(&given) {
        return Ok(None);
    }
    let problem = "has the mask of a secret that is not known for this channel";
    Err(BadInput::new(field, "", problem, NAME_IT))
}

const NAME_IT: &str = "set it as a secret of the namespace ('carillon secret set NAME') and write \
                       {{ secrets.NAME }} in its place";

fn check_address(kind: Kind, url: &SecretText) -> Result<(), BadInput> {
    let problem = if masked_url(url.expose()) != url.expose() {
        "has a password, or a value after its question mark, in plain text"
    } else if matches!(kind, Kind::Slack | Kind::Teams) && !names_secret(url) {
        "gives access to the channel, and is in the file in plain text"
    } else {
        return Ok(());
    };
    Err(BadInput::new("url", "", problem, NAME_IT))
}

fn check_key(field: &str, key: &SecretText) -> Result<(), BadInput> {
    if is_reference(key.expose()) {
        return Ok(());
    }
    Err(BadInput::new(field, "", "is in the file in plain text", NAME_IT))
}

impl RuleEntry {
    /// The rule that the entry declares. `channels` are the keys of its channels, in the order of
    /// their names.
    pub(in super::super) fn spec(self, name: &str, channels: Vec<Uuid>) -> RuleSpec {
        let seconds = |span: Option<Seconds>, usual: i64| span.map_or(usual, |span| span.0);
        let rule = Rule {
            on: self.on,
            search: self.search,
            channels,
            grace_seconds: seconds(self.grace, Rule::GRACE),
            losing_after: self.losing_after.unwrap_or(Rule::LOSING_AFTER),
            skipped_after: self.skipped_after.unwrap_or(Rule::SKIPPED_AFTER),
            late_after_seconds: seconds(self.late_after, Rule::LATE_AFTER),
            stalled_after_seconds: seconds(self.stalled_after, Rule::STALLED_AFTER),
            slow_after_times: self.slow_after.unwrap_or(Rule::SLOW_AFTER),
            clock_change_days: self.clock_change_days.unwrap_or(Rule::CLOCK_CHANGE_DAYS),
            digest_seconds: seconds(self.digest, Rule::DIGEST),
            quiet: self
                .quiet
                .map(|quiet| QuietPeriods { zone: quiet.zone, windows: quiet.windows }),
            include_errors: self.include_errors,
        };
        RuleSpec { name: name.to_owned(), enabled: self.enabled, rule }
    }

    /// The entry that declares the rule; `names` are the names of channels.
    pub(in super::super) fn of(spec: RuleSpec, names: &HashMap<Uuid, String>) -> Self {
        let rule = spec.rule;
        let channels = rule.channels.iter().filter_map(|id| names.get(id).cloned()).collect();
        let entry = Self::plain(RuleSpec { rule: Rule { channels: vec![], ..rule }, ..spec });
        Self { channels, ..entry }
    }

    /// This entry without default values.
    pub(in super::super) fn usual(self) -> Self {
        let channels = self.channels.clone();
        Self { channels, ..Self::plain(self.spec("", vec![])) }
    }

    fn plain(spec: RuleSpec) -> Self {
        let RuleSpec { enabled, rule, .. } = spec;
        let quiet = rule.quiet.map(|quiet| QuietEntry { zone: quiet.zone, windows: quiet.windows });
        Self {
            on: rule.on,
            channels: vec![],
            search: rule.search,
            grace: unless(rule.grace_seconds, Rule::GRACE).map(Seconds),
            losing_after: unless(rule.losing_after, Rule::LOSING_AFTER),
            skipped_after: unless(rule.skipped_after, Rule::SKIPPED_AFTER),
            late_after: unless(rule.late_after_seconds, Rule::LATE_AFTER).map(Seconds),
            stalled_after: unless(rule.stalled_after_seconds, Rule::STALLED_AFTER).map(Seconds),
            slow_after: unless(rule.slow_after_times, Rule::SLOW_AFTER),
            clock_change_days: unless(rule.clock_change_days, Rule::CLOCK_CHANGE_DAYS),
            digest: unless(rule.digest_seconds, Rule::DIGEST).map(Seconds),
            quiet,
            include_errors: rule.include_errors,
            enabled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: Kind, url: &str, key: Option<&str>) -> ChannelEntry {
        let (url, signing_secret) = (Some(SecretText::new(url)), key.map(SecretText::new));
        ChannelEntry { kind, url, signing_secret, key: None, to: vec![] }
    }

    #[test]
    fn a_channels_secrets_are_names_or_refused_and_never_repeated() {
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        for (bad, field, said) in [
            (
                entry(Kind::Slack, "https://hooks.slack.example/T0/hush", None),
                "url",
                "in plain text",
            ),
            (entry(Kind::Webhook, "https://a.example/?key=hush", None), "url", "question mark"),
            (entry(Kind::Webhook, "https://u:hush@a.example/", None), "url", "password"),
            (
                entry(Kind::Webhook, "https://a.example/x", Some(key)),
                "signingSecret",
                "in plain text",
            ),
            (entry(Kind::Webhook, "https://a.example/***", None), "url", "mask"),
            (entry(Kind::Webhook, "https://a.example/x", Some("***")), "signingSecret", "mask"),
        ] {
            let error = bad.input(None).unwrap_err();
            assert_eq!(error.field, field, "{error}");
            assert!(error.problem.contains(said) && error.help.contains("secret set"), "{error}");
            assert!(!error.to_string().contains("hush") && !error.to_string().contains("MfK"));
        }
        for good in [
            entry(Kind::Slack, "https://a.example/{{ secrets.slack }}", None),
            entry(Kind::Webhook, "https://a.example/x?k={{ secrets.k }}", Some("{{ secrets.s }}")),
        ] {
            assert_eq!(good.clone().masked(), good, "a name is no secret");
            good.input(None).unwrap();
        }
    }

    #[test]
    fn a_mask_keeps_what_it_hides_where_it_was_shown_and_nowhere_else() {
        let there = entry(Kind::Webhook, "https://a.example/hush", Some("whsec_hush")).masked();
        assert_eq!(there, entry(Kind::Webhook, "https://a.example/***", Some("***")));
        assert_eq!(there.clone().masked(), there);
        let kept = there.clone().input(Some(&there)).unwrap();
        assert!(kept.url.is_none() && kept.signing_secret.is_none());
        let elsewhere = entry(Kind::Webhook, "https://b.example/***", Some("***"));
        assert_eq!(elsewhere.input(Some(&there)).unwrap_err().field, "url");
        // A value that is left out is removed.
        let less = entry(Kind::Webhook, "https://a.example/***", None).input(Some(&there));
        assert_eq!(less.unwrap().signing_secret.unwrap().expose(), "");
    }
}
