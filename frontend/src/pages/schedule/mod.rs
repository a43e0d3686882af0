//! A schedule: what will happen, what happened to each fire and why, and what can be done about it.
//!
//! The page is one query; events make it ask again, at most once a second, so state, next fires, ledger and versions are
//! always those of the server's calculator. The runs are a list that events merge into.
//!
//! - `header`: name, state, actions
//! - `next_fires`: what is to come, in three zones
//! - `ledger`: every expected fire with its verdict
//! - `history`: its runs
//! - `facts`: policies and targets
//! - `versions`: who changed what

mod facts;
mod header;
mod history;
mod ledger;
mod next_fires;
mod versions;

pub(in crate::pages) use next_fires::fire_table;

use leptos::prelude::*;

use super::actions::use_actions;
use crate::{
    api::{self},
    components::{AsyncView, panel, warning_list},
    data::{Feed, use_feed, use_load},
    model::ScheduleDetail,
    state::{use_session, use_title},
};

/// The schedule with this id.
#[component]
pub(crate) fn Schedule(id: String) -> impl IntoView {
    let session = use_session();
    let key = id.clone();
    let load = use_load(move || Some(api::schedule(key.clone())));
    let ledger = ledger::use_ledger(id.clone());
    let zone = Memo::new(move |_| load.with(|schedule| schedule.row.timing.zone.clone()));
    let title = move || load.with(|schedule| schedule.row.name.clone());
    use_title(move || title().unwrap_or_else(|| "Schedule".to_owned()));
    let actions = use_actions(vec![load.loading, ledger.fires.load.loading]);
    let refresh = move || {
        load.loading.refresh();
        ledger.fires.load.loading.refresh();
    };
    use_feed(Feed::schedules(Some(vec![id.clone()])), move |_| refresh(), refresh);
    let workflow = |schedule: &ScheduleDetail| {
        let name = schedule.row.workflow.name.clone();
        view! { <span class="muted">"workflow "{name}</span> }.into_any()
    };
    view! {
        <AsyncView loading=load.loading what="the schedule">
            {load.draw(move |schedule| header::header(schedule, session, actions))}
            {load.draw(|schedule| warning_list(schedule.row.timing.warnings.iter()))}
            <div class="schedule-grid">
                <div class="schedule-main">
                    {panel("Fire ledger", (), view! { {ledger::pulse(ledger)}{ledger::table(ledger, zone)} })}
                    {panel("Run history", (), view! {
                        <history::History schedule=id.clone() changed=ledger.fires.load.loading/>
                    })}
                </div>
                <div class="schedule-side">
                    {panel("Next fires", (), load.draw(next_fires::next_fires))}
                    {panel("Target", load.draw(workflow), load.draw(facts::target))}
                    {panel("Policies", (), load.draw(facts::policies))}
                    {panel("Versions", (), load.draw(versions::versions))}
                </div>
            </div>
        </AsyncView>
        {actions.dialogs()}
    }
}
