//! Who is told of what, by which way, and what was sent.
//!
//! - `rules`: the rules of a namespace
//! - `editor`: one rule, with what it would have told in the last week
//! - `draft`: a rule while it is edited
//! - `quiet`: when nothing is told
//! - `channels`: the ways to tell people, with a test
//! - `channel_form`: a channel while it is made or changed
//! - `deliveries`: what was sent

mod channel_form;
mod channels;
mod deliveries;
mod draft;
mod editor;
mod quiet;
mod rules;

pub(crate) use editor::{EditAlertRule, NewAlertRule};

use leptos::prelude::*;

use super::kit;
use crate::{
    components::{Look, Tab, button, live},
    model::AlertEvent,
    route::Route,
    state::{use_address, use_session, use_title},
};

const TABS: &[Tab] = &[
    Tab { name: "", words: "Rules" },
    Tab { name: "channels", words: "Channels" },
    Tab { name: "deliveries", words: "Deliveries" },
];

/// Rules, channels, deliveries.
#[component]
pub(crate) fn AlertRules() -> impl IntoView {
    use_title(|| "Alert rules and channels".to_owned());
    let (address, session) = (use_address(), use_session());
    let tab = Memo::new(move |_| address.query("tab"));
    let new_channel = RwSignal::new(false);
    let primary = move || {
        let channel = move || {
            let open = move || new_channel.set(true);
            button(Look::Primary, None, "New channel", open)
        };
        let rule = |class: &'static str| {
            view! { <a class=class href=Route::NewAlertRule.path()>"New rule"</a> }.into_any()
        };
        let ways = match tab.get().as_str() {
            _ if !session.edits() => return None,
            "" => rule("button button-primary"),
            // It is made in one namespace, by a dialog that names none.
            "channels" if address.is_across() => rule("button"),
            // A channel that was tested is there to be told by.
            "channels" => view! { {rule("button")}{channel()} }.into_any(),
            _ => return None,
        };
        Some(view! { <div class="actions">{ways}</div> }.into_any())
    };
    view! {
        <header class="page-head">
            <h1>"Alert rules and channels"</h1>
            {move || primary()}
        </header>
        {kit::tabs("Parts of alerting", TABS)}
        {live(move || match tab.get().as_str() {
            "channels" => view! { <channels::Channels new=new_channel/> }.into_any(),
            "deliveries" => view! { <deliveries::Deliveries/> }.into_any(),
            _ => view! { <rules::Rules/> }.into_any(),
        })}
    }
}

/// Each event with its words, and what they mean.
const EVENTS: [(AlertEvent, &str, &str); 7] = [
    (AlertEvent::Failed, "Failed", "a schedule's runs begin to fail"),
    (AlertEvent::Recovered, "Recovered", "what was told is over"),
    (AlertEvent::Losing, "Failing in a row", "several runs in a row have failed"),
    (AlertEvent::Missed, "Missed", "fires did not run"),
    (AlertEvent::Late, "Late", "a run started late"),
    (AlertEvent::Stalled, "Stalled", "something is due and no node takes it"),
    (AlertEvent::NodeLost, "Node lost", "a node is gone and none of its name came back"),
];

fn event_word(event: AlertEvent) -> &'static str {
    EVENTS.iter().find(|(known, ..)| *known == event).map_or("", |(_, word, _)| word)
}
