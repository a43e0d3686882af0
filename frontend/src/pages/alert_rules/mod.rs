//! Alert rules, channels, and the messages that were sent.
//!
//! - `rules`: the rules of a namespace
//! - `editor`: one rule, with the messages that it would have sent in the last week
//! - `draft`: a rule while it is edited
//! - `quiet`: the quiet hours, in which nothing is sent
//! - `channels`: the channels, with a test
//! - `channel_form`: the form that creates or changes a channel
//! - `deliveries`: the messages that were sent

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

/// The name of the tab with the channels.
const CHANNELS: &str = "channels";
const TABS: &[Tab] = &[
    Tab { name: "", words: "Rules" },
    Tab { name: CHANNELS, words: "Channels" },
    Tab { name: "deliveries", words: "Deliveries" },
];

/// The page with rules, channels and deliveries.
#[component]
pub(crate) fn AlertRules() -> impl IntoView {
    use_title(|| "Alert rules and channels".to_owned());
    let (address, session) = (use_address(), use_session());
    let tab = Memo::new(move |_| address.query("tab"));
    let new_channel = RwSignal::new(false);
    let primary = move || {
        let channel = move |look: Look| {
            let open = move || {
                // The form stands above the list of channels, which shows how the test went.
                if tab.get_untracked() != CHANNELS {
                    address.go(&Route::AlertRules.narrowed(&[("tab", CHANNELS)]));
                }
                new_channel.set(true);
            };
            button(look, None, "New channel", open)
        };
        let rule = |class: &'static str| {
            view! { <a class=class href=Route::NewAlertRule.path()>"New rule"</a> }.into_any()
        };
        let ways = match tab.get().as_str() {
            _ if !session.edits() => return None,
            // A channel is created in one namespace, in a dialog that names none.
            "" if address.is_across() => rule("button button-primary"),
            CHANNELS if address.is_across() => rule("button"),
            // A first rule needs a channel, so one is offered here as well.
            "" => view! { {channel(Look::Plain)}{rule("button button-primary")} }.into_any(),
            // Once a channel is tested, the next step is a rule that uses it.
            CHANNELS => view! { {rule("button")}{channel(Look::Primary)} }.into_any(),
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
            CHANNELS => view! { <channels::Channels new=new_channel/> }.into_any(),
            "deliveries" => view! { <deliveries::Deliveries/> }.into_any(),
            _ => view! { <rules::Rules/> }.into_any(),
        })}
    }
}

/// Each event with its label and its meaning.
const EVENTS: [(AlertEvent, &str, &str); 10] = [
    (AlertEvent::Failed, "Failed", "a schedule's runs begin to fail"),
    (AlertEvent::Recovered, "Recovered", "a reported problem is over"),
    (AlertEvent::Losing, "Failing in a row", "several runs in a row have failed"),
    (AlertEvent::Missed, "Missed", "fires did not run"),
    (
        AlertEvent::Skipped,
        "Skipped",
        "fires are skipped for load: overlap, a full buffer, a deadline or a quota",
    ),
    (AlertEvent::Late, "Late", "a run started late"),
    (AlertEvent::Stalled, "Stalled", "something is due and no node takes it"),
    (AlertEvent::Slow, "Slow", "a run takes several times its usual duration"),
    (AlertEvent::ClockChange, "Clock change", "a coming change of the clocks touches a schedule"),
    (AlertEvent::NodeLost, "Node lost", "a node is gone and has not come back under its name"),
];

fn event_word(event: AlertEvent) -> &'static str {
    EVENTS.iter().find(|(known, ..)| *known == event).map_or("", |(_, word, _)| word)
}
