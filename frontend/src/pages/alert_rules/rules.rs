//! The rules of one namespace or of all namespaces.

use std::time::Duration;

use leptos::prelude::*;

use super::{
    super::kit::{Asked, Change, cut_note, empty, form, note, place_cell, placed, use_asked},
    event_word,
};
use crate::{
    api,
    components::{AsyncView, Look, badge_of, button, heading, silent_heading, table, when},
    data::{Loading, use_actor, use_load},
    model::AlertRule,
    route::Route,
    state::{use_address, use_every, use_session},
    time::amount,
};

const LOOK: Duration = Duration::from_secs(10);

/// The list of rules.
#[component]
pub(super) fn Rules() -> impl IntoView {
    let address = use_address();
    let rules = use_load(move || Some(api::alerts::rules(address.namespace())));
    let loading = rules.loading;
    use_every(LOOK, move || loading.refresh());
    let remove = use_asked::<AlertRule>();
    view! {
        <AsyncView
            loading=loading
            what="the rules"
            is_empty=Signal::derive(move || rules.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No rule yet", "A rule defines who is notified when schedules fail, fires are missed or nodes are lost.")
        >
            {rules.draw(move |rules| list(rules, remove, loading))}
        </AsyncView>
        {remove.dialog("Delete rule", move |rule| remove_form(&rule, remove, loading))}
    }
}

fn list(rules: &[AlertRule], remove: Asked<AlertRule>, loading: Loading) -> AnyView {
    let headings = vec![
        heading("Rule", ""),
        heading("Reports", "wide"),
        heading("About", "wide"),
        heading("By", "wide"),
        heading("State", ""),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = rules.iter().map(|rule| row(rule, remove, loading)).collect();
    let table = table("Alert rules", "table", placed(headings, 1), rows.into_any());
    view! { {table}{cut_note(rules.len())} }.into_any()
}

fn row(rule: &AlertRule, remove: Asked<AlertRule>, loading: Loading) -> AnyView {
    let events: Vec<&str> = rule.on.iter().map(|event| event_word(*event)).collect();
    let channels: Vec<&str> = rule.channels.iter().map(|channel| channel.name.as_str()).collect();
    let about = if rule.search.is_empty() {
        view! { <span class="muted">"all schedules"</span> }.into_any()
    } else {
        view! { <code>{rule.search.clone()}</code> }.into_any()
    };
    let module = rule.module.as_ref().map(|module| note(format!("declared by {module}")));
    let state = match (rule.enabled, rule.muted_until) {
        (false, _) => badge_of("cancelled", "Disabled"),
        (true, Some(until)) => {
            let by = rule.muted_by.clone().unwrap_or_default();
            let why = rule.muted_reason.clone().unwrap_or_default();
            view! {
                {badge_of("paused", "Muted")}
                <span class="cell-note">"until "{when(until, None)}</span>
                {note(format!("{by}: {why}"))}
            }
            .into_any()
        }
        (true, None) => badge_of("active", "Listens"),
    };
    // The page of a rule is its form, which needs the role of an editor.
    let name = match use_session().edits_in(&rule.namespace) {
        true => {
            let href = Route::EditAlertRule(rule.id.clone()).path_at(&rule.namespace);
            view! { <a href=href>{rule.name.clone()}</a> }.into_any()
        }
        false => rule.name.clone().into_any(),
    };
    view! {
        <tr data-testid="rule-row">
            <th scope="row" class="name-cell">{name}{module}</th>
            {place_cell(&rule.namespace)}
            <td class="wide">{events.join(", ")}</td>
            <td class="wide">{about}</td>
            <td class="wide">{channels.join(", ")}</td>
            <td>{state}</td>
            <td class="actions-cell">{actions(rule, remove, loading)}</td>
        </tr>
    }
    .into_any()
}

fn actions(rule: &AlertRule, remove: Asked<AlertRule>, loading: Loading) -> AnyView {
    let session = use_session();
    let unmute = (session.operates_in(&rule.namespace) && rule.muted_until.is_some()).then(|| {
        let (actor, id, name) = (use_actor(), rule.id.clone(), rule.name.clone());
        let speak = move || {
            let ask = api::alerts::mute(id.clone(), None, "unmuted in the console".to_owned());
            actor.act(ask, format!("{name} reports again."), move |_| loading.reload());
        };
        button(Look::Plain, None, "Unmute", speak)
    });
    let delete = (session.edits_in(&rule.namespace) && rule.module.is_none())
        .then(|| button(Look::Danger, None, "Delete", remove.ask(rule)));
    view! { <div class="row-actions">{unmute}{delete}</div> }.into_any()
}

fn remove_form(rule: &AlertRule, remove: Asked<AlertRule>, loading: Loading) -> AnyView {
    let (id, name) = (rule.id.clone(), rule.name.clone());
    let (namespace, of) = (rule.namespace.clone(), rule.id.clone());
    let alerts = use_load(move || Some(api::alerts::of_rule(namespace.clone(), of.clone())));
    let count = move || {
        let total = alerts.with(|page| page.total).flatten();
        total.map_or_else(|| "alerts".to_owned(), |total| amount(total, "alert", "alerts"))
    };
    let fields = view! {
        <p>
            <strong>{name.clone()}</strong>" no longer sends alerts, and its "{move || count()}
            " are deleted with it, open ones included. Messages that are on their way still arrive."
        </p>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::alerts::delete_rule(id.clone()),
            said: format!("{name} is deleted."),
        })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Delete"), RwSignal::new(None), fields.into_any(), plan, done)
}
