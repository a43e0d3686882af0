//! Messages that were sent, that wait for their next attempt, and whose delivery was given up.

use std::time::Duration;

use leptos::prelude::*;

use super::super::{
    cursors,
    kit::{empty, none, note, place_cell, placed},
    place,
};
use crate::{
    api,
    components::{
        AsyncView, Field, Heading, Look, Mark, badge, button, heading, pager, rows, silent_heading,
        table, when_relative,
    },
    data::{Loading, use_actor, use_listing},
    model::{Notification, NotificationState},
    state::{use_address, use_every, use_session},
};

const SIZE: usize = 50;
const LOOK: Duration = Duration::from_secs(5);

/// The list of messages.
#[component]
pub(super) fn Deliveries() -> impl IntoView {
    let address = use_address();
    let state = RwSignal::new(untrack(|| address.query("state")));
    Effect::new(move |before: Option<()>| {
        let now = state.get();
        if before.is_some() {
            address.replace(&address.with(&[("state", &now), ("after", ""), ("before", "")]));
        }
    });
    let wanted = move || match address.query("state").as_str() {
        "pending" => Some(NotificationState::Pending),
        "sent" => Some(NotificationState::Sent),
        "dead" => Some(NotificationState::Dead),
        _ => None,
    };
    let sent = use_listing(SIZE, move || {
        api::alerts::deliveries(address.namespace(), wanted(), place(address), SIZE)
    });
    let loading = sent.load.loading;
    use_every(LOOK, move || loading.refresh());
    view! {
        <div class="filter-line">
            {Field::new("delivery-state", "Messages", state).choice(&[
                ("", "All"), ("pending", "Waiting"), ("sent", "Sent"), ("dead", "Given up"),
            ])}
        </div>
        <AsyncView
            loading=loading
            what="the messages"
            is_empty=Signal::derive(move || sent.list.is_empty())
            empty=|| empty("No message", "Messages that rules and tests send are listed here, with their outcome.")
        >
            {table("Messages", "table", placed(headings(), 2), rows(sent.list, move |row| line(row, loading)))}
            {pager(sent.beside(), "messages", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("State", ""),
        heading("Message", ""),
        heading("By", "wide"),
        heading("Rule", "wide"),
        heading("Created", ""),
        heading("Tries", "number wide"),
        silent_heading("Actions"),
    ]
}

fn line(row: &Notification, loading: Loading) -> AnyView {
    let alerts = (row.alerts > 1).then(|| note(format!("{} alerts", row.alerts)));
    let error = row
        .error
        .clone()
        .map(|error| view! { <span class="cell-note cell-error">{error}</span> }.into_any());
    let next = row.next_attempt_at.map(|at| {
        view! { <span class="cell-note">"next attempt "{when_relative(at, None)}</span> }.into_any()
    });
    let name = |named: &Option<crate::model::Named>| {
        named.as_ref().map_or_else(none, |named| named.name.clone().into_any())
    };
    let again = (row.state == NotificationState::Dead && use_session().operates_in(&row.namespace))
        .then(|| {
            let (actor, id) = (use_actor(), row.id.clone());
            let send = move || {
                let said = "The message is sent again.".to_owned();
                actor.act(api::alerts::retry(id.clone()), said, move |_| loading.reload());
            };
            button(Look::Plain, None, "Send again", send)
        });
    view! {
        <tr data-testid="delivery-row">
            <td>{badge(Mark::Message(row.state))}</td>
            <th scope="row" class="name-cell">{row.subject.clone()}{alerts}{error}{next}</th>
            {place_cell(&row.namespace)}
            <td class="wide">{name(&row.channel)}</td>
            <td class="wide">{name(&row.rule)}</td>
            <td>{when_relative(row.created_at, None)}</td>
            <td class="number wide">{row.attempts}</td>
            <td class="actions-cell"><div class="row-actions">{again}</div></td>
        </tr>
    }
    .into_any()
}
