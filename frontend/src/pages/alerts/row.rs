//! One alert in the list.

use leptos::prelude::*;

use super::super::kit::{Asked, none, note, place_cell};
use crate::{
    api,
    components::{Look, Mark, badge, button, when, when_relative},
    data::{Loading, use_actor},
    model::{Alert, AlertKind},
    route::{Route, Scope},
    state::use_session,
    time::Moment,
};

const HOUR_MS: i64 = 3_600_000;

/// The dialogs about one alert.
#[derive(Clone, Copy)]
pub(super) struct Dialogs {
    pub(super) mute: Asked<Alert>,
    pub(super) acknowledge: Asked<Alert>,
}

pub(super) fn row(alert: &Alert, dialogs: Dialogs, loading: Loading) -> AnyView {
    let zone = alert.schedule.as_ref().map(|schedule| schedule.timing.zone.clone());
    let about = match &alert.schedule {
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path_at(&alert.namespace);
            view! { <a href=href>{alert.subject.clone()}</a> }.into_any()
        }
        None if alert.kind == AlertKind::NodeLost => {
            view! { <a href=Route::Cluster.path()>{alert.subject.clone()}</a> }.into_any()
        }
        None => alert.subject.clone().into_any(),
    };
    let times = (alert.count > 1).then(|| note(format!("{} times", alert.count)));
    let edits = use_session().edits_in(&alert.namespace);
    let rule = alert.rule.as_ref().map(|rule| {
        if !edits {
            return rule.name.clone().into_any();
        }
        let href = Route::EditAlertRule(rule.id.clone()).path_at(&alert.namespace);
        view! { <a href=href>{rule.name.clone()}</a> }.into_any()
    });
    let told = if alert.told_at.is_some() { "sent" } else { "not sent yet" };
    let state = match (&alert.acknowledged_by, alert.ended_at, alert.muted_until()) {
        (_, Some(ended), _) => view! { "over "{when(ended, zone.clone())} }.into_any(),
        (Some(by), None, _) => acknowledged(alert, by),
        (None, None, Some(until)) => view! { "muted until "{when(until, None)} }.into_any(),
        (None, None, None) => told.into_any(),
    };
    view! {
        <tr data-testid="alert-row">
            <td>{badge(Mark::Alert(alert.kind))}{times}</td>
            <th scope="row" class="name-cell">{about}</th>
            {place_cell(&alert.namespace)}
            <td>{when_relative(alert.began_at, zone)}</td>
            <td class="wide">{rule.unwrap_or_else(none)}</td>
            <td class="error-cell wide" title=alert.detail.clone()>{alert.detail.clone()}</td>
            <td class="wide">{state}</td>
            <td class="actions-cell">{actions(alert, dialogs, loading)}</td>
        </tr>
    }
    .into_any()
}

/// Who acknowledged the alert, when, until when, and their note.
fn acknowledged(alert: &Alert, by: &str) -> AnyView {
    let at = alert.acknowledged_at.map(|at| when(at, None));
    let until = alert.acknowledged_until.map(|until| view! { ", until "{when(until, None)} });
    view! {
        {format!("acknowledged by {by} ")}{at}{until}
        {alert.acknowledged_note.clone().map(note)}
    }
    .into_any()
}

/// A link to a page with the cause of the alert, in its namespace: the charts around its time, for its schedule if it
/// has one, the fires that were skipped, or the fires around an upcoming clock change.
fn shown_by(alert: &Alert) -> AnyView {
    let home = Scope::One(alert.namespace.clone());
    if let (AlertKind::ClockChange, Some(schedule)) = (alert.kind, &alert.schedule) {
        let href = Route::Schedule(schedule.id.clone()).narrowed_in(&home, &[("tab", "next")]);
        let label = format!("Next fires of {}", schedule.name);
        return view! { <a class="button" href=href aria-label=label>"Next fires"</a> }.into_any();
    }
    let (from, until) = around(alert.began_at, alert.last_at, alert.ended_at);
    let (from, until) = (from.to_rfc3339(), until.to_rfc3339());
    if let (AlertKind::Skipped, Some(schedule)) = (alert.kind, &alert.schedule) {
        let search = format!("schedule:\"{}\"", schedule.name);
        let terms = [("verdict", "skipped"), ("q", &*search), ("from", &*from), ("until", &*until)];
        let label = format!("Which fires of {} were skipped", schedule.name);
        let href = Route::Ledger.narrowed_in(&home, &terms);
        return view! { <a class="button" href=href aria-label=label>"Which"</a> }.into_any();
    }
    let schedule = alert.schedule.as_ref().map_or("", |schedule| schedule.name.as_str());
    let href = Route::Metrics
        .narrowed_in(&home, &[("schedule", schedule), ("from", &from), ("until", &until)]);
    let label = match schedule {
        "" => format!("Charts of {} around this alert", alert.namespace),
        name => format!("Charts of {name} around this alert"),
    };
    view! { <a class="button" href=href aria-label=label>"Charts"</a> }.into_any()
}

/// The range to show for an alert: as long before and after the alert as it lasted, but at least an hour on each
/// side.
fn around(began: Moment, last: Moment, ended: Option<Moment>) -> (Moment, Moment) {
    let end = ended.unwrap_or(last);
    let length = end.since(began).max(HOUR_MS);
    (began.earlier(length), end.later(length))
}

fn actions(alert: &Alert, dialogs: Dialogs, loading: Loading) -> AnyView {
    let run = alert.run_id.clone().map(|id| {
        view! { <a class="button" href=Route::Run(id).path_at(&alert.namespace)>"Run"</a> }
            .into_any()
    });
    let fire = alert.run_id.is_none().then(|| alert.fire_id.clone()).flatten();
    let fire = fire.map(|id| {
        let home = Scope::One(alert.namespace.clone());
        let href = Route::Ledger.narrowed_in(&home, &[("fire", &id)]);
        let label = format!("Why the fire of {} has this outcome", alert.subject);
        view! { <a class="button" href=href aria-label=label>"Fire"</a> }.into_any()
    });
    if !use_session().operates_in(&alert.namespace) || alert.ended_at.is_some() {
        return view! { <div class="row-actions">{run}{fire}{shown_by(alert)}</div> }.into_any();
    }
    let see = if alert.acknowledged_at.is_none() {
        button(Look::Plain, None, "Acknowledge", dialogs.acknowledge.ask(alert))
    } else {
        let (actor, id) = (use_actor(), alert.id.clone());
        let said = format!("{} is open again.", alert.subject);
        let take_back = move || {
            actor.act(api::alerts::unacknowledge(id.clone()), said.clone(), move |_| {
                loading.reload()
            });
        };
        button(Look::Plain, None, "Take back", take_back)
    };
    let mute = (alert.rule.is_some() && alert.muted_until().is_none())
        .then(|| button(Look::Plain, None, "Mute", dialogs.mute.ask(alert)));
    view! { <div class="row-actions">{run}{fire}{shown_by(alert)}{see}{mute}</div> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_shown_with_as_much_time_around_it() {
        let at = |hours: i64| Moment::from_millis(hours * HOUR_MS);
        assert_eq!(around(at(10), at(12), None), (at(8), at(14)));
        assert_eq!(around(at(10), at(12), Some(at(13))), (at(7), at(16)));
        // An alert that lasted no time has an hour on each side.
        assert_eq!(around(at(10), at(10), None), (at(9), at(11)));
    }
}
