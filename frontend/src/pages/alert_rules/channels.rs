//! The list of channels, which also shows the outcomes of tests.

use std::time::Duration;

use leptos::prelude::*;

use super::{
    super::kit::{
        Asked, Change, cut_note, empty, form, note, place_cell, placed, use_asked, use_secrets_key,
    },
    channel_form,
};
use crate::{
    api,
    components::{AsyncView, Dialog, Look, Mark, badge, button, heading, silent_heading, table},
    data::{Actor, Load, Loading, use_actor, use_load},
    model::{
        AlertChannel, AlertChannelKind, AlertRule, Notification, NotificationState, Page, Place,
    },
    route::Route,
    state::{use_address, use_every, use_session},
};

const LOOK: Duration = Duration::from_secs(2);

/// The tests that were sent from this page: the channel and the message of each.
#[derive(Clone, Copy)]
pub(super) struct Tests {
    made: RwSignal<Vec<(String, String)>>,
    deliveries: Load<Page<Notification>>,
    actor: Actor,
}

impl Tests {
    /// Sends a test message through a channel.
    pub(super) fn start(self, channel: String) {
        let ask = api::alerts::test_channel(channel.clone());
        self.actor.act(ask, "A test is on its way.".to_owned(), move |message| {
            let _gone = self.made.try_update(|made| {
                made.retain(|(known, _)| *known != channel);
                made.push((channel, message));
            });
            self.deliveries.loading.reload();
        });
    }

    /// The outcome of a channel's test; tracked.
    fn of(self, channel: &str) -> Option<(NotificationState, Option<String>)> {
        let message = self.made.with(|made| {
            made.iter().find(|(known, _)| known == channel).map(|(_, message)| message.clone())
        })?;
        let found = self.deliveries.with(|page| {
            page.rows.iter().find(|row| row.id == message).map(|row| (row.state, row.error.clone()))
        });
        Some(found.flatten().unwrap_or((NotificationState::Pending, None)))
    }
}

/// The list of channels.
#[component]
pub(super) fn Channels(new: RwSignal<bool>) -> impl IntoView {
    let address = use_address();
    let namespace = Memo::new(move |_| address.namespace());
    let channels = use_load(move || Some(api::alerts::channels(namespace.get())));
    let loading = channels.loading;
    let made = RwSignal::new(Vec::<(String, String)>::new());
    let deliveries = use_load(move || {
        let wanted = made.with(|made| !made.is_empty());
        wanted.then(|| api::alerts::deliveries(namespace.get(), None, Place::First, 50))
    });
    let tests = Tests { made, deliveries, actor: use_actor() };
    use_every(LOOK, move || {
        if untrack(|| made.with(|made| !made.is_empty())) {
            deliveries.loading.refresh();
        }
    });
    let (edit, remove) = (use_asked::<AlertChannel>(), use_asked::<AlertChannel>());
    let has_key = use_secrets_key();
    view! {
        <AsyncView
            loading=loading
            what="the channels"
            is_empty=Signal::derive(move || channels.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No channel yet", "A channel is a webhook, a chat or email. Rules send their messages to it, and a test shows that it works.")
        >
            {channels.draw(move |channels| list(channels, tests, edit, remove))}
        </AsyncView>
        <Dialog open=new title="New channel">{channel_form::new(new, namespace, has_key.get(), tests, loading)}</Dialog>
        {edit.dialog("Change channel", move |channel| channel_form::change(&channel, has_key.get(), edit.open, loading))}
        {remove.dialog("Delete channel", move |channel| remove_form(&channel, remove, loading))}
    }
}

fn list(
    channels: &[AlertChannel],
    tests: Tests,
    edit: Asked<AlertChannel>,
    remove: Asked<AlertChannel>,
) -> AnyView {
    let headings = vec![
        heading("Channel", ""),
        heading("Kind", "wide"),
        heading("Goes to", "wide"),
        heading("Test", ""),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = channels.iter().map(|channel| row(channel, tests, edit, remove)).collect();
    let table = table("Alert channels", "table", placed(headings, 1), rows.into_any());
    view! { {table}{cut_note(channels.len())} }.into_any()
}

fn row(
    channel: &AlertChannel,
    tests: Tests,
    edit: Asked<AlertChannel>,
    remove: Asked<AlertChannel>,
) -> AnyView {
    let module = channel.module.as_ref().map(|module| note(format!("declared by {module}")));
    let goes_to = channel.origin.clone().unwrap_or_else(|| channel.to.join(", "));
    let signed = channel.signed.then(|| note("signed"));
    let id = channel.id.clone();
    let tested = move || {
        tests.of(&id).map(|(state, error)| {
            view! { {badge(Mark::Message(state))}{error.map(note)} }.into_any()
        })
    };
    let test = use_session().edits_in(&channel.namespace).then(|| {
        let id = channel.id.clone();
        button(Look::Plain, None, "Test", move || tests.start(id.clone()))
    });
    let own = (use_session().edits_in(&channel.namespace) && channel.module.is_none()).then(|| {
        let (change, delete) = (edit.ask(channel), remove.ask(channel));
        view! {
            {button(Look::Plain, None, "Change", change)}
            {button(Look::Danger, None, "Delete", delete)}
        }
        .into_any()
    });
    view! {
        <tr data-testid="channel-row">
            <th scope="row" class="name-cell">{channel.name.clone()}{module}</th>
            {place_cell(&channel.namespace)}
            <td class="wide">{kind_word(channel.kind)}{signed}</td>
            <td class="wide break">{goes_to}</td>
            <td>{move || tested()}</td>
            <td class="actions-cell"><div class="row-actions">{test}{own}</div></td>
        </tr>
    }
    .into_any()
}

pub(super) fn kind_word(kind: AlertChannelKind) -> &'static str {
    match kind {
        AlertChannelKind::Webhook => "Webhook",
        AlertChannelKind::Slack => "Slack",
        AlertChannelKind::Email => "Mail",
        AlertChannelKind::Teams => "Teams",
        AlertChannelKind::Pagerduty => "PagerDuty",
        AlertChannelKind::Opsgenie => "Opsgenie",
    }
}

/// The rules that use a channel. A channel can only be deleted once no rule uses it.
fn using<'a>(rules: impl Iterator<Item = &'a AlertRule>) -> AnyView {
    let line = |rule: &AlertRule| {
        let href = Route::EditAlertRule(rule.id.clone()).path_at(&rule.namespace);
        view! { <li><a href=href>{rule.name.clone()}</a></li> }.into_any()
    };
    let lines: Vec<_> = rules.map(line).collect();
    if lines.is_empty() {
        return view! { <p>"No rule uses it."</p> }.into_any();
    }
    view! { <p>"This is refused while these rules use it:"</p><ul>{lines}</ul> }.into_any()
}

fn remove_form(channel: &AlertChannel, remove: Asked<AlertChannel>, loading: Loading) -> AnyView {
    let (id, name) = (channel.id.clone(), channel.name.clone());
    let (namespace, channel) = (channel.namespace.clone(), channel.id.clone());
    let rules = use_load(move || Some(api::alerts::rules(namespace.clone())));
    let users = rules.draw(move |rules| {
        let uses = |rule: &&AlertRule| rule.channels.iter().any(|used| used.id == channel);
        using(rules.iter().filter(uses))
    });
    let fields = view! {
        <p>"Alerts are no longer sent to "<strong>{name.clone()}</strong>"."</p>
        <div role="status">{users}</div>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::alerts::delete_channel(id.clone()),
            said: format!("{name} is deleted."),
        })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Delete"), RwSignal::new(None), fields.into_any(), plan, done)
}
