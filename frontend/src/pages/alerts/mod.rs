//! Alerts: open, acknowledged, muted, and ended.
//!
//! - `row`: one alert, with its actions

mod row;

use std::{sync::Arc, time::Duration};

use leptos::prelude::*;

use self::row::Dialogs;
use super::kit::{
    self, Acknowledged, Asked, Change, acknowledge_form, empty, form, placed, use_asked,
};
use crate::{
    api,
    components::{AsyncView, Field, Look, Tab, heading, silent_heading, tab_of, table},
    data::{Load, Loading, use_load},
    model::{Alert, Page},
    pages::place,
    route::Route,
    state::{use_address, use_every, use_title},
    time::Moment,
};

const SIZE: usize = 200;
const LOOK: Duration = Duration::from_secs(5);
const HOUR_MS: i64 = 3_600_000;

const TABS: &[Tab] = &[
    Tab { name: "", words: "Open" },
    Tab { name: "acknowledged", words: "Acknowledged" },
    Tab { name: "muted", words: "Muted" },
    Tab { name: "over", words: "Over" },
];

/// The alerts.
#[component]
pub(crate) fn Alerts() -> impl IntoView {
    use_title(|| "Alerts".to_owned());
    let address = use_address();
    let is_over = Memo::new(move |_| address.query("tab") == "over");
    let alerts = use_load(move || {
        let open = !is_over.get();
        Some(api::alerts::list(address.namespace(), open, place(address), SIZE))
    });
    let loading = alerts.loading;
    use_every(LOOK, move || loading.refresh());
    let dialogs = Dialogs { mute: use_asked(), acknowledge: use_asked() };
    let tab = Memo::new(move |_| tab_of(TABS, &address.query("tab")));
    let shown = move || alerts.get().map(|page| of_tab(&page, tab.get()));
    let is_empty = Signal::derive(move || shown().is_some_and(|rows| rows.is_empty()));
    view! {
        <header class="page-head">
            <h1>"Alerts"</h1>
            <p class="actions"><a class="button" href=Route::AlertRules.path()>"Rules and channels"</a></p>
        </header>
        {kit::tabs("Alerts by state", TABS)}
        {cut(alerts)}
        <AsyncView
            loading=loading
            what="alerts"
            is_empty=is_empty
            empty=move || match tab.get() {
                "" => empty("All is quiet", "Alerts appear here while they are open."),
                "acknowledged" => empty("Nothing is acknowledged", "Acknowledged alerts move here."),
                "muted" => empty("Nothing is muted", "While a rule is muted, its alerts are shown here."),
                _ => empty("Nothing has ended yet", "Alerts that are over stay here as long as history is kept."),
            }
        >
            {move || shown().map(|rows| list(&rows, dialogs, loading))}
        </AsyncView>
        {dialogs.mute.dialog("Mute rule", move |alert| mute_form(&alert, dialogs.mute, loading))}
        {dialogs.acknowledge.dialog("Acknowledge alert", move |alert| {
            seen_form(&alert, dialogs.acknowledge, loading)
        })}
    }
}

/// The rows of a tab. An alert that has not ended is in exactly one of the first three tabs.
fn of_tab(page: &Page<Alert>, tab: &str) -> Vec<Arc<Alert>> {
    let now = Moment::now();
    let is_in = |alert: &&Arc<Alert>| {
        let is_muted = alert.muted_until().is_some_and(|until| until > now);
        match tab {
            "over" => true,
            "muted" => is_muted,
            "acknowledged" => !is_muted && alert.acknowledged_at.is_some(),
            _ => !is_muted && alert.acknowledged_at.is_none(),
        }
    };
    page.rows.iter().filter(is_in).cloned().collect()
}

/// Shows a note if there are more alerts than the page contains.
fn cut(alerts: Load<Page<Alert>>) -> AnyView {
    alerts.draw(|page| match (&page.next, page.total) {
        (Some(_), Some(total)) => {
            let words = format!("The newest {SIZE} of {total} are shown.");
            view! { <p class="muted">{words}</p> }.into_any()
        }
        _ => ().into_any(),
    })
}

fn list(rows: &[Arc<Alert>], dialogs: Dialogs, loading: Loading) -> AnyView {
    let headings = vec![
        heading("What", ""),
        heading("About", ""),
        heading("Since", ""),
        heading("Rule", "wide"),
        heading("Why", "wide"),
        heading("State", "wide"),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = rows.iter().map(|alert| row::row(alert, dialogs, loading)).collect();
    table("Alerts", "table", placed(headings, 2), rows.into_any())
}

/// Asks for the note and the end of an acknowledgement.
fn seen_form(alert: &Alert, asked: Asked<Alert>, loading: Loading) -> AnyView {
    let what = Acknowledged {
        name: alert.subject.clone(),
        effect: "stays open, and its end is still reported. Its beginning is not reported any more, or again when \
                 the acknowledgement ends first.",
    };
    let id = alert.id.clone();
    let ask = move |note, until| api::alerts::acknowledge(id.clone(), note, until);
    acknowledge_form(asked.open, what, ask, move |_| loading.refresh())
}

/// Asks for the duration of the mute and its reason.
fn mute_form(alert: &Alert, mute: Asked<Alert>, loading: Loading) -> AnyView {
    let Some(rule) = alert.rule.clone() else { return ().into_any() };
    let wrong = RwSignal::new(None);
    let hours = RwSignal::new("4".to_owned());
    let reason = RwSignal::new(String::new());
    let name = rule.name.clone();
    let fields = view! {
        <p>"The rule "<strong>{name}</strong>" sends nothing until then. Alerts that are still open then are sent then."</p>
        {Field::new("mute-hours", "For", hours).error(kit::of(wrong, "until")).choice(&[
            ("1", "An hour"), ("4", "4 hours"), ("12", "12 hours"), ("24", "A day"), ("168", "A week"),
        ])}
        {Field::new("mute-reason", "Reason", reason).first().required().error(kit::of(wrong, "reason")).text()}
    };
    let plan = move |_| {
        let hours: i64 = hours.get_untracked().parse().unwrap_or(1);
        let until = Moment::now().later(hours * HOUR_MS);
        let reason = reason.get_untracked().trim().to_owned();
        Ok(Change {
            ask: api::alerts::mute(rule.id.clone(), Some(until), reason),
            said: format!("{} is muted.", rule.name),
        })
    };
    let done = move |_| loading.refresh();
    form(mute.open, (Look::Primary, "Mute"), wrong, fields.into_any(), plan, done)
}
