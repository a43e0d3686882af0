//! Alerts: open, acknowledged, muted, and ended.
//!
//! - `row`: one alert, with its actions

mod row;

use std::time::Duration;

use leptos::prelude::*;

use self::row::Dialogs;
use super::{
    cursors,
    kit::{self, Acknowledged, Asked, Change, acknowledge_form, empty, form, placed, use_asked},
    place,
};
use crate::{
    api::{self, alerts::AlertStanding},
    components::{
        AsyncView, Field, Heading, Look, Tab, heading, pager, rows, silent_heading, tab_of, table,
    },
    data::{Feed, Loading, use_actor, use_feed, use_listing},
    model::{Alert, Place},
    route::Route,
    state::{Said, use_address, use_every, use_title},
    time::Moment,
};

const SIZE: usize = 50;
/// How often the alerts are polled, because the ends of acknowledgements and mutes cause no events.
const LOOK: Duration = Duration::from_secs(30);
const HOUR_MS: i64 = 3_600_000;

const TABS: &[Tab] = &[
    Tab { name: "", words: "Open" },
    Tab { name: "acknowledged", words: "Acknowledged" },
    Tab { name: "muted", words: "Muted" },
    Tab { name: "over", words: "Over" },
];

/// The alerts of a tab.
fn standing(tab: &str) -> AlertStanding {
    match tab {
        "acknowledged" => AlertStanding::Acknowledged,
        "muted" => AlertStanding::Muted,
        "over" => AlertStanding::Over,
        _ => AlertStanding::Open,
    }
}

/// The alerts.
#[component]
pub(crate) fn Alerts() -> impl IntoView {
    use_title(|| "Alerts".to_owned());
    let address = use_address();
    let tab = Memo::new(move |_| tab_of(TABS, &address.query("tab")));
    let alerts = use_listing(SIZE, move || {
        api::alerts::list(address.namespace(), standing(tab.get()), place(address), SIZE)
    });
    let loading = alerts.load.loading;
    use_feed(
        move || Feed::alerts(address.namespace()),
        move |_| loading.refresh(),
        move || loading.refresh(),
    );
    use_every(LOOK, move || loading.refresh());
    let dialogs = Dialogs { mute: use_asked(), acknowledge: use_asked() };
    let go = move |place: Place| address.go(&address.with(&cursors(&place)));
    view! {
        <header class="page-head">
            <h1>"Alerts"</h1>
            <p class="actions"><a class="button" href=Route::AlertRules.path()>"Rules and channels"</a></p>
        </header>
        {kit::tabs("Alerts by state", TABS)}
        <AsyncView
            loading=loading
            what="alerts"
            is_empty=Signal::derive(move || alerts.list.is_empty())
            empty=move || match tab.get() {
                "" => empty("All is quiet", "Alerts appear here while they are open."),
                "acknowledged" => empty("Nothing is acknowledged", "Acknowledged alerts move here."),
                "muted" => empty("Nothing is muted", "While a rule is muted, its alerts are shown here."),
                _ => empty("Nothing has ended yet", "Alerts that are over stay here as long as history is kept."),
            }
        >
            {table("Alerts", "table", placed(headings(), 2), rows(alerts.list, move |alert| row::row(alert, dialogs, loading)))}
            {pager(alerts.beside(), "alerts", go)}
        </AsyncView>
        {dialogs.mute.dialog("Mute rule", move |alert| mute_form(&alert, dialogs.mute, loading))}
        {dialogs.acknowledge.dialog("Acknowledge alert", move |alert| {
            seen_form(&alert, dialogs.acknowledge, loading)
        })}
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("What", ""),
        heading("About", ""),
        heading("Since", ""),
        heading("Rule", "wide"),
        heading("Why", "wide"),
        heading("State", "wide"),
        silent_heading("Actions"),
    ]
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
    acknowledge_form(asked.open, what, ask, move |_| loading.reload())
}

/// Asks for the duration of the mute and its reason.
fn mute_form(alert: &Alert, mute: Asked<Alert>, loading: Loading) -> AnyView {
    let Some(rule) = alert.rule.clone() else { return ().into_any() };
    let wrong = RwSignal::new(None);
    let hours = RwSignal::new("4".to_owned());
    let reason = RwSignal::new(String::new());
    let name = rule.name.clone();
    let muted = (rule.id.clone(), rule.name.clone());
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
        let ask = api::alerts::mute(rule.id.clone(), Some(until), reason);
        Ok(Change { ask, said: String::new() })
    };
    let actor = use_actor();
    let done = move |_| {
        loading.reload();
        let (id, name) = muted.clone();
        let said = Said::new(format!("{name} is muted."));
        actor.say(said.undo(move || {
            let ask = api::alerts::mute(id.clone(), None, "the mute was undone".to_owned());
            actor.act(ask, format!("{name} reports again."), move |_| loading.reload());
        }));
    };
    form(mute.open, (Look::Primary, "Mute"), wrong, fields.into_any(), plan, done)
}
