//! The form that creates or changes a channel. A new channel is tested at once.

use leptos::prelude::*;

use super::{
    super::{
        kit::{Change, KeptFields, Wrong, kept_form, no_secrets_key, of},
        suggest,
    },
    channels::{Tests, kind_word},
};
use crate::{
    api::{
        self,
        alerts::{
            create_alert_channel::CreateAlertChannelInput,
            update_alert_channel::UpdateAlertChannelInput,
        },
    },
    components::{Field, Look, live},
    data::Loading,
    model::{AlertChannel, AlertChannelKind},
};

/// The kinds of channels, in the order in which they are offered.
const KINDS: [(AlertChannelKind, &str); 6] = [
    (AlertChannelKind::Webhook, "Webhook: a signed request"),
    (AlertChannelKind::Slack, "Slack, Mattermost and the like"),
    (AlertChannelKind::Teams, "Microsoft Teams"),
    (AlertChannelKind::Pagerduty, "PagerDuty"),
    (AlertChannelKind::Opsgenie, "Opsgenie"),
    (AlertChannelKind::Email, "Mail"),
];

/// Whether a channel of this kind has an address or a key that the server encrypts, which needs a key for secrets.
fn is_sealed(kind: AlertChannelKind) -> bool {
    kind != AlertChannelKind::Email
}

/// Whether a channel of this kind is identified by a key instead of an address.
fn has_key(kind: AlertChannelKind) -> bool {
    matches!(kind, AlertChannelKind::Pagerduty | AlertChannelKind::Opsgenie)
}

/// The fields of the form. An empty address field keeps the current address.
#[derive(Clone, Copy)]
struct Draft {
    name: RwSignal<String>,
    kind: RwSignal<String>,
    url: RwSignal<String>,
    secret: RwSignal<String>,
    key: RwSignal<String>,
    to: RwSignal<String>,
}

impl Draft {
    fn new(name: &str, kind: AlertChannelKind, to: &[String]) -> Self {
        Self {
            name: RwSignal::new(name.to_owned()),
            kind: RwSignal::new(kind_word(kind).to_owned()),
            url: RwSignal::new(String::new()),
            secret: RwSignal::new(String::new()),
            key: RwSignal::new(String::new()),
            to: RwSignal::new(to.join("\n")),
        }
    }

    /// The fields that are kept until they are sent. An address may contain a credential, as those of chats do.
    fn kept(self) -> KeptFields {
        KeptFields::new()
            .with("name", self.name)
            .with("kind", self.kind)
            .with_credential("url", "address", self.url)
            .with_credential("secret", "signing secret", self.secret)
            .with_credential("key", "key", self.key)
            .with("to", self.to)
    }

    fn kind(self) -> AlertChannelKind {
        let word = self.kind.get();
        let chosen = KINDS.into_iter().find(|(kind, _)| kind_word(*kind) == word);
        chosen.map_or(AlertChannelKind::Webhook, |(kind, _)| kind)
    }

    fn to(self) -> Vec<String> {
        let lines = self.to.get_untracked();
        let addresses = lines.split(['\n', ',']).map(str::trim).filter(|line| !line.is_empty());
        addresses.map(str::to_owned).collect()
    }
}

fn given(text: RwSignal<String>) -> Option<String> {
    Some(text.get_untracked().trim().to_owned()).filter(|text| !text.is_empty())
}

/// The form of a new channel. A server without a key for secrets (`has_secrets_key`) refuses all kinds but mails, so
/// only those are offered.
pub(super) fn new(
    open: RwSignal<bool>,
    namespace: Memo<String>,
    has_secrets_key: bool,
    tests: Tests,
    loading: Loading,
) -> AnyView {
    let usual = if has_secrets_key { AlertChannelKind::Webhook } else { AlertChannelKind::Email };
    let draft = Draft::new("", usual, &[]);
    let kept = draft.kept().keep(&format!("channel.new.{}", namespace.get_untracked()));
    let wrong = RwSignal::new(None);
    let offered = KINDS.into_iter().filter(|(kind, _)| has_secrets_key || !is_sealed(*kind));
    let kinds: Vec<_> = offered.map(|(kind, label)| (kind_word(kind), label)).collect();
    // What is kept may be of a kind that is not offered.
    if !has_secrets_key && is_sealed(untrack(|| draft.kind())) {
        draft.kind.set(kind_word(usual).to_owned());
    }
    let only_mails =
        (!has_secrets_key).then(|| no_secrets_key("a new channel can only be a mail."));
    let kinds = Field::new("channel-kind", "Kind", draft.kind).choice(&kinds);
    let fields = view! {
        {kept.note()}
        {Field::new("channel-name", "Name", draft.name).first().required().error(of(wrong, "name")).text()}
        {kinds}
        {only_mails}
        {live(move || addresses(draft, draft.kind(), wrong, false))}
    };
    let plan = move |key| {
        let kind = untrack(|| draft.kind());
        let is_mail = kind == AlertChannelKind::Email;
        let input = CreateAlertChannelInput {
            namespace: namespace.get_untracked(),
            name: draft.name.get_untracked().trim().to_owned(),
            kind,
            url: given(draft.url).filter(|_| !is_mail),
            signing_secret: given(draft.secret).filter(|_| kind == AlertChannelKind::Webhook),
            key: given(draft.key).filter(|_| has_key(kind)),
            to: is_mail.then(|| draft.to()),
        };
        Ok(Change { ask: api::alerts::create_channel(input, key), said: String::new() })
    };
    let done = move |id: String| {
        loading.reload();
        tests.start(id);
    };
    kept_form(kept, open, (Look::Primary, "Create and test"), wrong, fields.into_any(), plan, done)
}

/// The form that changes a channel; on a server without a key for secrets, what to set, unless the channel is a mail.
pub(super) fn change(
    channel: &AlertChannel,
    has_secrets_key: bool,
    open: RwSignal<bool>,
    loading: Loading,
) -> AnyView {
    if !has_secrets_key && is_sealed(channel.kind) {
        return no_secrets_key("this channel cannot be changed.");
    }
    let draft = Draft::new(&channel.name, channel.kind, &channel.to);
    let wrong = RwSignal::new(None);
    let (id, version, kind) = (channel.id.clone(), channel.version, channel.kind);
    let kept = draft.kept().keep(&format!("channel.{id}.{version}"));
    let fields = view! {
        {kept.note()}
        {Field::new("channel-name", "Name", draft.name).first().required().error(of(wrong, "name")).text()}
        {addresses(draft, kind, wrong, true)}
    };
    let plan = move |_| {
        let input = UpdateAlertChannelInput {
            id: id.clone(),
            expected_version: version,
            name: Some(draft.name.get_untracked().trim().to_owned()),
            url: given(draft.url),
            signing_secret: given(draft.secret),
            key: given(draft.key),
            to: (kind == AlertChannelKind::Email).then(|| draft.to()),
        };
        Ok(Change {
            ask: api::alerts::update_channel(input),
            said: "The channel is saved.".to_owned(),
        })
    };
    let done = move |_| loading.reload();
    kept_form(kept, open, (Look::Primary, "Save changes"), wrong, fields.into_any(), plan, done)
}

/// The address fields of a kind.
fn addresses(draft: Draft, kind: AlertChannelKind, wrong: Wrong, stays: bool) -> AnyView {
    let url_hint = if stays {
        "It is never shown again. Leave empty to keep it."
    } else {
        "It is never shown again. {{ secrets.name }} stands for a secret of the namespace."
    };
    let address = |label, hint| {
        Field::new("channel-url", label, draft.url)
            .code()
            .kind("url")
            .picks(suggest::secret())
            .error(of(wrong, "url"))
            .hint(hint)
            .text()
    };
    let url = || address("Address", url_hint);
    let keyed = |label, usual| {
        let usual = if stays { "Leave empty to keep it." } else { usual };
        view! {
            {Field::new("channel-key", label, draft.key).code().picks(suggest::secret()).error(of(wrong, "key")).hint(url_hint).text()}
            {address("Address (optional)", usual)}
        }
        .into_any()
    };
    match kind {
        AlertChannelKind::Email => Field::new("channel-to", "To, one address per line", draft.to)
            .error(of(wrong, "to"))
            .area(3),
        AlertChannelKind::Slack | AlertChannelKind::Teams => url(),
        AlertChannelKind::Pagerduty => keyed(
            "Integration key",
            "Empty: https://events.pagerduty.com/v2/enqueue.",
        ),
        AlertChannelKind::Opsgenie => keyed(
            "API key",
            "Empty: https://api.opsgenie.com/v2/alerts. In the EU: https://api.eu.opsgenie.com/v2/alerts.",
        ),
        AlertChannelKind::Webhook => view! {
            {url()}
            {Field::new("channel-secret", "Signing secret (optional)", draft.secret).code().picks(suggest::secret())
                .error(of(wrong, "signingSecret")).hint("whsec_ and 24 to 64 bytes in base64, or {{ secrets.name }}.").text()}
        }
        .into_any(),
    }
}
