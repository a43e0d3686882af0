//! One alert in the list.

use leptos::prelude::*;

use super::super::kit::{Asked, none, note, place_cell};
use crate::{
    api,
    components::{Look, Mark, badge, button, when, when_relative},
    data::{Loading, use_actor},
    model::Alert,
    route::Route,
    state::use_session,
};

pub(super) fn row(alert: &Alert, mute: Asked<Alert>, loading: Loading) -> AnyView {
    let zone = alert.schedule.as_ref().map(|schedule| schedule.timing.zone.clone());
    let about = match &alert.schedule {
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path_at(&alert.namespace);
            view! { <a href=href>{alert.subject.clone()}</a> }.into_any()
        }
        None => alert.subject.clone().into_any(),
    };
    let times = (alert.count > 1).then(|| note(format!("{} times", alert.count)));
    let rule = alert.rule.as_ref().map(|rule| rule.name.clone());
    let told = if alert.told_at.is_some() { "told" } else { "not told yet" };
    let state = match (&alert.acknowledged_by, alert.ended_at, alert.muted_until()) {
        (_, Some(ended), _) => view! { "over "{when(ended, zone.clone())} }.into_any(),
        (Some(by), None, _) => format!("{by} sees to it").into_any(),
        (None, None, Some(until)) => view! { "muted until "{when(until, None)} }.into_any(),
        (None, None, None) => told.into_any(),
    };
    view! {
        <tr data-testid="alert-row">
            <td>{badge(Mark::Alert(alert.kind))}{times}</td>
            <th scope="row" class="name-cell">{about}</th>
            {place_cell(&alert.namespace)}
            <td>{when_relative(alert.began_at, zone)}</td>
            <td class="wide">{rule.map_or_else(none, IntoAny::into_any)}</td>
            <td class="error-cell wide" title=alert.detail.clone()>{alert.detail.clone()}</td>
            <td class="wide">{state}</td>
            <td class="actions-cell">{actions(alert, mute, loading)}</td>
        </tr>
    }
    .into_any()
}

fn actions(alert: &Alert, mute: Asked<Alert>, loading: Loading) -> AnyView {
    let run = alert.run_id.clone().map(|id| {
        view! { <a class="button" href=Route::Run(id).path_at(&alert.namespace)>"Run"</a> }
            .into_any()
    });
    if !use_session().operates_in(&alert.namespace) || alert.ended_at.is_some() {
        return view! { <div class="row-actions">{run}</div> }.into_any();
    }
    let see = alert.acknowledged_at.is_none().then(|| {
        let (actor, id) = (use_actor(), alert.id.clone());
        let said = format!("You see to {}.", alert.subject);
        let see = move || {
            actor.act(api::alerts::acknowledge(id.clone()), said.clone(), move |_| {
                loading.refresh()
            });
        };
        button(Look::Plain, None, "Acknowledge", see)
    });
    let mute = (alert.rule.is_some() && alert.muted_until().is_none())
        .then(|| button(Look::Plain, None, "Mute", mute.ask(alert)));
    view! { <div class="row-actions">{run}{see}{mute}</div> }.into_any()
}
