//! Checks the input for alert channels and rules.

use std::collections::HashSet;

use entity::alert_channel::Kind;
use serde_json::{Value, json};
use url::Url;

use super::rules::RuleSpec;
use crate::{
    commands::{
        BadInput,
        secrets::{is_reference, masked_url},
    },
    engine::alerting::alerts::{ChannelConfig, ChannelSecrets, MAX_LOSING, Receiver},
    model::{CHANNEL_SECRETS, check, naming},
    search::{Search, SearchError, SearchedList},
    store::retention::MAX_CLOCK_CHANGE_DAYS,
    target::{Executor, Http, SecretText, Target, TargetError, check_address},
    vault::MASK,
};

/// Maximum number of channels in one namespace.
pub(crate) const MAX_CHANNELS: u64 = 50;
/// Maximum number of rules in one namespace.
pub(crate) const MAX_RULES: u64 = 100;

const MAX_RECIPIENTS: usize = 50;
const MAX_CHANNELS_OF_A_RULE: usize = 10;
const MAX_WINDOWS: usize = 50;
const WEEK: i64 = 7 * 24 * 60 * 60;

/// A caller's input for a channel. `None` means not given.
#[derive(Clone, Debug, Default)]
pub struct ChannelInput {
    /// The address: for all kinds but `email`. `pagerduty` and `opsgenie` have a default.
    pub url: Option<SecretText>,
    /// The secret that signs messages, for `webhook`; empty for none.
    pub signing_secret: Option<SecretText>,
    /// The service's key, for `pagerduty` and `opsgenie`.
    pub key: Option<SecretText>,
    /// The recipients, for `email`.
    pub to: Option<Vec<String>>,
}

/// The state of a channel before the change.
pub(super) enum ChannelBefore {
    /// The channel did not exist.
    Nothing,
    Opened(ChannelConfig),
    /// No key of this server decrypts the channel.
    Locked {
        signed: bool,
    },
}

/// The configuration of a channel of that kind: absent fields keep their values.
pub(super) fn way(
    kind: Kind,
    input: ChannelInput,
    before: ChannelBefore,
    executor: &Executor,
) -> Result<ChannelConfig, BadInput> {
    let receiver = Receiver::of(kind);
    belongs(receiver, &input)?;
    let Some(receiver) = receiver else {
        let before = match before {
            ChannelBefore::Opened(ChannelConfig::Email(to)) => Some(to),
            ChannelBefore::Opened(ChannelConfig::Request(..))
            | ChannelBefore::Nothing
            | ChannelBefore::Locked { .. } => None,
        };
        return recipients(input.to.or(before), executor).map(ChannelConfig::Email);
    };
    let before = match before {
        ChannelBefore::Opened(ChannelConfig::Request(_, hidden)) => Some(hidden),
        ChannelBefore::Locked { signed: true } if input.signing_secret.is_none() => {
            let problem = "is encrypted with a key that this server does not have";
            let help = "give it again, or give an empty string for none";
            return Err(BadInput::new("signingSecret", "", problem, help));
        }
        ChannelBefore::Opened(ChannelConfig::Email(_))
        | ChannelBefore::Nothing
        | ChannelBefore::Locked { .. } => None,
    };
    let hidden = hidden(receiver, input, before)?;
    let request = hidden.request(receiver);
    executor.check(&request).map_err(refused)?;
    if request.has_open_origin() {
        let problem = "lets a template choose the server";
        return Err(BadInput::new("url", "", problem, "write scheme and host literally"));
    }
    if let Some((field, other)) = request.asks_beside_secrets() {
        let field = naming::in_api(field.strip_prefix("http.").unwrap_or(&field));
        let problem = format!("uses `{other}`, which alert messages do not have");
        return Err(BadInput::new(field, "", problem, "name secrets alone: {{ secrets.name }}"));
    }
    Ok(ChannelConfig::Request(receiver, hidden))
}

/// Checks that each given field applies to a channel of that kind.
fn belongs(receiver: Option<Receiver>, input: &ChannelInput) -> Result<(), BadInput> {
    let takes_key = receiver.is_some_and(Receiver::has_key);
    for (field, is_given, belongs, of) in [
        ("url", input.url.is_some(), receiver.is_some(), "other kinds of"),
        (
            "signingSecret",
            input.signing_secret.is_some(),
            receiver == Some(Receiver::Webhook),
            "webhook",
        ),
        ("key", input.key.is_some(), takes_key, "pagerduty and opsgenie"),
        ("to", input.to.is_some(), receiver.is_none(), "email"),
    ] {
        if is_given && !belongs {
            let problem = format!("is for {of} channels only");
            return Err(BadInput::new(field, "", problem, "leave it out"));
        }
    }
    Ok(())
}

/// A key belongs to the origin that it was entered for, and must be entered again for another one.
/// If the key were kept, an editor could change the address in order to have messages signed with a
/// key that they do not know, or to receive that key.
fn hidden(
    receiver: Receiver,
    input: ChannelInput,
    before: Option<ChannelSecrets>,
) -> Result<ChannelSecrets, BadInput> {
    let (signed_before, key_before, url_before) = match before {
        Some(before) => (before.signing_secret, before.key, Some(before.url)),
        None => (None, None, None),
    };
    let has_moved = match (&input.url, &url_before) {
        (Some(url), Some(before)) => origin(url) != origin(before),
        _ => false,
    };
    let elsewhere =
        |field, help| Err(BadInput::new(field, "", "was given for another address", help));
    let signing_secret = match input.signing_secret {
        Some(secret) => (!secret.expose().is_empty()).then_some(secret),
        None if has_moved && signed_before.is_some() => {
            let help = "give it again for this one, or give an empty string for none";
            return elsewhere("signingSecret", help);
        }
        None => signed_before,
    };
    let key = match input.key {
        Some(key) => Some(key),
        None if has_moved && key_before.is_some() => {
            return elsewhere("key", "give it again for this one");
        }
        None => key_before,
    };
    if receiver.has_key() {
        check_key(receiver, key.as_ref())?;
    }
    let usual = || receiver.usual_url().map(SecretText::new);
    let url = input.url.or(url_before).or_else(usual).ok_or_else(|| {
        BadInput::new("url", "", "is missing", "give the address that messages are sent to")
    })?;
    // Alerts of Opsgenie are closed at a path below this URL, so the URL must end with a path.
    if receiver.has_key() && url.expose().contains(['?', '#']) {
        let help = "leave out the question mark and what follows it";
        return Err(BadInput::new("url", "", "has more than a path", help));
    }
    Ok(ChannelSecrets { url, signing_secret, key })
}

/// Maximum length of an incident service's key.
const MAX_KEY: usize = 200;

/// A key must be a word of letters, digits and hyphens, or the name of a secret, so that it cannot
/// end the header or inject anything else.
fn check_key(receiver: Receiver, key: Option<&SecretText>) -> Result<(), BadInput> {
    let help = if receiver == Receiver::Pagerduty {
        "give the integration key of a service (Events API v2)"
    } else {
        "give the key of an API integration"
    };
    let Some(key) = key else { return Err(BadInput::new("key", "", "is missing", help)) };
    let text = key.expose();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if is_reference(text) || ((8..=MAX_KEY).contains(&text.len()) && text.chars().all(is_plain)) {
        return Ok(());
    }
    let problem = format!("is not 8 to {MAX_KEY} letters, digits and hyphens");
    let help = format!("{help}, or name a secret: {{{{ secrets.name }}}}");
    Err(BadInput::new("key", "", problem, help))
}

/// Scheme, host and port: the only part of an address that is shown.
fn origin(url: &SecretText) -> String {
    let url = Url::parse(url.expose());
    url.map_or_else(|_| "(no URL)".to_owned(), |url| url.origin().ascii_serialization())
}

fn recipients(to: Option<Vec<String>>, executor: &Executor) -> Result<Vec<String>, BadInput> {
    if executor.mailer().is_none() {
        let problem = "is not possible: this server sends no mail";
        let help = "set smtp.host and smtp.from in the configuration, or use another kind";
        return Err(BadInput::new("kind", "EMAIL", problem, help));
    }
    let to = to.unwrap_or_default();
    if !(1..=MAX_RECIPIENTS).contains(&to.len()) {
        let problem = format!("has {} addresses", to.len());
        return Err(BadInput::new("to", "", problem, format!("give 1 to {MAX_RECIPIENTS}")));
    }
    for (index, address) in to.iter().enumerate() {
        check_address(address).map_err(|problem| {
            let help = "give an address alone, as in ada@example.com";
            BadInput::new(format!("to[{index}]"), address, problem, help)
        })?;
    }
    Ok(to)
}

/// Rewords an error of the executor for a channel. Such an error contains no values and refers to a
/// target.
fn refused(error: TargetError) -> BadInput {
    match error {
        TargetError::Invalid { field, problem, help } => {
            let field = field.strip_prefix("http.").unwrap_or(&field);
            BadInput::new(naming::in_api(field), "", problem, help)
        }
        other @ TargetError::Setup { .. } => {
            BadInput::new("kind", "", other.to_string(), "fix the server's configuration")
        }
    }
}

/// The part of a configuration that is stored unencrypted: what may be shown, and
/// [`CHANNEL_SECRETS`].
pub(super) fn kept(way: &ChannelConfig) -> Value {
    let mut kept = shown(way);
    if let ChannelConfig::Request(receiver, hidden) = way {
        // A masked address does not show all secret names.
        let names = hidden.request(*receiver).secret_names();
        if !names.is_empty() {
            kept[CHANNEL_SECRETS] = names.into();
        }
    }
    kept
}

/// The part of a configuration that may be shown.
pub(super) fn shown(way: &ChannelConfig) -> Value {
    let (receiver, hidden) = match way {
        ChannelConfig::Request(receiver, hidden) => (*receiver, hidden),
        ChannelConfig::Email(to) => return json!({ "to": to }),
    };
    let address = shown_address(receiver, &hidden.url);
    let mut shown = json!({ "origin": origin(&hidden.url), "url": address });
    if receiver == Receiver::Webhook {
        shown["signed"] = hidden.signing_secret.is_some().into();
    }
    if let Some(key) = &hidden.signing_secret {
        shown["signing_secret"] = shown_key(key).into();
    }
    if let Some(key) = &hidden.key {
        shown["key"] = shown_key(key).into();
    }
    shown
}

/// An address as it may be shown: its destination, and the secrets that it names. If it names none,
/// everything from the path on is secret, unless the receiver requires a separate key.
pub(in crate::commands) fn shown_address(receiver: Receiver, url: &SecretText) -> String {
    if receiver.has_key() || names_secret(url) {
        masked_url(url.expose())
    } else {
        format!("{}/{MASK}", origin(url))
    }
}

/// A key as it may be shown: the name of a secret, or a mask.
pub(in crate::commands) fn shown_key(key: &SecretText) -> &str {
    if is_reference(key.expose()) { key.expose() } else { MASK }
}

/// Whether an address refers to a secret by name.
pub(in crate::commands) fn names_secret(url: &SecretText) -> bool {
    !Target::Http(Http::post(url.expose())).secret_names().is_empty()
}

/// Checks a rule, except for its channels.
pub(crate) fn check_rule(spec: &RuleSpec) -> Result<(), BadInput> {
    check::name("name", &spec.name)?;
    let rule = &spec.rule;
    if rule.on.is_empty() {
        return Err(BadInput::new("on", "", "names nothing", "name at least one event"));
    }
    if rule.on.iter().collect::<HashSet<_>>().len() != rule.on.len() {
        return Err(BadInput::new("on", "", "names an event twice", "name each once"));
    }
    Search::parse(SearchedList::Schedules, &rule.search).map_err(|error| {
        let SearchError { position, problem, help } = error;
        let bad = BadInput::new("search", &rule.search, problem, help);
        BadInput { position: Some(position), ..bad }
    })?;
    if !(1..=MAX_CHANNELS_OF_A_RULE).contains(&rule.channels.len()) {
        let problem = format!("names {} channels", rule.channels.len());
        let help = format!("name 1 to {MAX_CHANNELS_OF_A_RULE}");
        return Err(BadInput::new("channelIds", "", problem, help));
    }
    if rule.channels.iter().collect::<HashSet<_>>().len() != rule.channels.len() {
        return Err(BadInput::new("channelIds", "", "names a channel twice", "name each once"));
    }
    check::number("graceSeconds", rule.grace_seconds, 0..=WEEK, "seconds")?;
    check::number("losingAfter", rule.losing_after, 2..=MAX_LOSING, "failures in a row")?;
    check::number("skippedAfter", rule.skipped_after, 1..=1_000, "fires within an hour")?;
    check::number("lateAfterSeconds", rule.late_after_seconds, 60..=WEEK, "seconds")?;
    check::number("stalledAfterSeconds", rule.stalled_after_seconds, 60..=WEEK, "seconds")?;
    check::number("slowAfterTimes", rule.slow_after_times, 2..=100, "times the usual duration")?;
    let ahead = i64::from(MAX_CLOCK_CHANGE_DAYS);
    check::number("clockChangeDays", rule.clock_change_days, 1..=ahead, "days")?;
    check::number("digestSeconds", rule.digest_seconds, 0..=WEEK, "seconds")?;
    let Some(quiet) = &rule.quiet else { return Ok(()) };
    if !(1..=MAX_WINDOWS).contains(&quiet.windows.len()) {
        let problem = format!("has {} windows", quiet.windows.len());
        return Err(BadInput::new(
            "quiet.windows",
            "",
            problem,
            format!("give 1 to {MAX_WINDOWS}"),
        ));
    }
    let answer = quiet.is_at(chrono::DateTime::UNIX_EPOCH);
    answer.map(drop).map_err(|error| BadInput::of_calendars(error).inside("quiet"))
}
