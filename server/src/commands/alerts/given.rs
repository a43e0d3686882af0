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
    engine::alerting::alerts::{Hidden, MAX_LOSING, Way},
    model::{check, naming},
    search::{List, Search, SearchError},
    target::{Executor, Http, Secret, Target, TargetError, check_address},
    vault::MASK,
};

/// The most channels and rules of one namespace.
pub(crate) const MAX_CHANNELS: u64 = 50;
/// See [`MAX_CHANNELS`].
pub(crate) const MAX_RULES: u64 = 100;

const MAX_RECIPIENTS: usize = 50;
const MAX_CHANNELS_OF_A_RULE: usize = 10;
const MAX_WINDOWS: usize = 50;
const WEEK: i64 = 7 * 24 * 60 * 60;

/// What a caller says of a channel. What is None is not said.
#[derive(Clone, Debug, Default)]
pub struct ChannelInput {
    /// For `webhook` and `slack`.
    pub url: Option<Secret>,
    /// For `webhook`; empty for none.
    pub signing_secret: Option<Secret>,
    /// For `email`.
    pub to: Option<Vec<String>>,
}

/// What a channel was before.
pub(super) enum Before {
    /// There was none.
    Nothing,
    Opened(Way),
    /// No key here opens it.
    Locked {
        signed: bool,
    },
}

/// The way that a channel of that kind is to take: what is not said is as it was before.
pub(super) fn way(
    kind: Kind,
    input: ChannelInput,
    before: Before,
    executor: &Executor,
) -> Result<Way, BadInput> {
    let ChannelInput { url, signing_secret, to } = input;
    let not_of = |field: &str, of: &str| {
        BadInput::new(field, "", format!("is for {of} channels only"), "leave it out")
    };
    if kind == Kind::Email {
        if url.is_some() {
            return Err(not_of("url", "webhook and slack"));
        }
        if signing_secret.is_some() {
            return Err(not_of("signingSecret", "webhook"));
        }
        let before = match before {
            Before::Opened(Way::Email(to)) => Some(to),
            Before::Opened(Way::Webhook(_) | Way::Slack(_))
            | Before::Nothing
            | Before::Locked { .. } => None,
        };
        return recipients(to.or(before), executor).map(Way::Email);
    }
    if to.is_some() {
        return Err(not_of("to", "email"));
    }
    if kind == Kind::Slack && signing_secret.is_some() {
        return Err(not_of("signingSecret", "webhook"));
    }
    let before = match before {
        Before::Opened(Way::Webhook(hidden) | Way::Slack(hidden)) => Some(hidden),
        Before::Locked { signed: true } if signing_secret.is_none() => {
            let problem = "is sealed with a key that this server does not have";
            let help = "give it again, or give an empty text for none";
            return Err(BadInput::new("signingSecret", "", problem, help));
        }
        Before::Opened(Way::Email(_)) | Before::Nothing | Before::Locked { .. } => None,
    };
    let hidden = hidden(url, signing_secret, before)?;
    let request = hidden.request();
    executor.check(&request).map_err(refused)?;
    if request.has_open_origin() {
        let problem = "lets a template choose the server";
        return Err(BadInput::new("url", "", problem, "write scheme and host out"));
    }
    if let Some((field, other)) = request.asks_beside_secrets() {
        let field = naming::in_api(field.strip_prefix("http.").unwrap_or(&field));
        let problem = format!("asks for `{other}`, which messages of alerts do not have");
        return Err(BadInput::new(field, "", problem, "name secrets alone: {{ secrets.name }}"));
    }
    Ok(if kind == Kind::Slack { Way::Slack(hidden) } else { Way::Webhook(hidden) })
}

/// A key goes with the place that it was given for: for another it has to be given again, or
/// changing the address would be a way to have somebody else's messages signed.
fn hidden(
    url: Option<Secret>,
    signing_secret: Option<Secret>,
    before: Option<Hidden>,
) -> Result<Hidden, BadInput> {
    let kept = before.as_ref().and_then(|before| before.signing_secret.clone());
    let has_moved = match (&url, &before) {
        (Some(url), Some(before)) => origin(url) != origin(&before.url),
        _ => false,
    };
    let signing_secret = match signing_secret {
        Some(secret) => (!secret.expose().is_empty()).then_some(secret),
        None if has_moved && kept.is_some() => {
            let problem = "was given for another address";
            let help = "give it again for this one, or give an empty text for none";
            return Err(BadInput::new("signingSecret", "", problem, help));
        }
        None => kept,
    };
    let url = url.or(before.map(|before| before.url)).ok_or_else(|| {
        BadInput::new("url", "", "is missing", "give the address that messages are sent to")
    })?;
    Ok(Hidden { url, signing_secret })
}

/// Scheme, host and port, which is all that is shown of an address.
fn origin(url: &Secret) -> String {
    let url = Url::parse(url.expose());
    url.map_or_else(|_| "(no URL)".to_owned(), |url| url.origin().ascii_serialization())
}

fn recipients(to: Option<Vec<String>>, executor: &Executor) -> Result<Vec<String>, BadInput> {
    if executor.mailer().is_none() {
        let problem = "is not possible: this server sends no mail";
        let help = "set smtp.host and smtp.from in the configuration, or take another kind";
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

/// The executor does not repeat values, and speaks of a target.
fn refused(error: TargetError) -> BadInput {
    match error {
        TargetError::Invalid { field, problem, help } => {
            let field = field.strip_prefix("http.").unwrap_or(&field);
            BadInput::new(naming::in_api(field), "", problem, help)
        }
        other @ TargetError::Setup { .. } => {
            BadInput::new("kind", "", other.to_string(), "mend the server's configuration")
        }
    }
}

/// What may be shown of a way.
pub(super) fn shown(way: &Way) -> Value {
    let hides = |hidden: &Hidden| {
        let address = shown_address(&hidden.url);
        json!({ "origin": origin(&hidden.url), "url": address })
    };
    match way {
        Way::Webhook(hidden) => {
            let mut shown = hides(hidden);
            shown["signed"] = hidden.signing_secret.is_some().into();
            if let Some(key) = &hidden.signing_secret {
                shown["signing_secret"] = shown_key(key).into();
            }
            shown
        }
        Way::Slack(hidden) => hides(hidden),
        Way::Email(to) => json!({ "to": to }),
    }
}

/// An address as it may be shown: where it leads, and which secrets it names. If it names none, all
/// of it is one, from the path on.
pub(in crate::commands) fn shown_address(url: &Secret) -> String {
    if names_secret(url) { masked_url(url.expose()) } else { format!("{}/{MASK}", origin(url)) }
}

/// A key as it may be shown: the name of a secret, or that there is one.
pub(in crate::commands) fn shown_key(key: &Secret) -> &str {
    if is_reference(key.expose()) { key.expose() } else { MASK }
}

/// Whether an address asks for a secret by its name.
pub(in crate::commands) fn names_secret(url: &Secret) -> bool {
    !Target::Http(Http::post(url.expose())).secret_names().is_empty()
}

/// What a rule says, apart from its channels.
pub(crate) fn check_rule(spec: &RuleSpec) -> Result<(), BadInput> {
    check::name("name", &spec.name)?;
    let rule = &spec.rule;
    if rule.on.is_empty() {
        return Err(BadInput::new("on", "", "names nothing", "name at least one event"));
    }
    if rule.on.iter().collect::<HashSet<_>>().len() != rule.on.len() {
        return Err(BadInput::new("on", "", "names an event twice", "name each once"));
    }
    if rule.search.len() > 2_000 {
        let problem = format!("has {} bytes; the limit is 2000", rule.search.len());
        return Err(BadInput::new("search", &rule.search, problem, "shorten it"));
    }
    Search::parse(List::Schedules, &rule.search).map_err(|error| {
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
    check::number("lateAfterSeconds", rule.late_after_seconds, 60..=WEEK, "seconds")?;
    check::number("stalledAfterSeconds", rule.stalled_after_seconds, 60..=WEEK, "seconds")?;
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
