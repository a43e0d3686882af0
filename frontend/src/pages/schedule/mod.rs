//! A schedule: what will happen, what happened to each fire and why, and what can be done about it.
//!
//! The page is one query; events make it ask again, at most once a second, so state, next fires, ledger and versions are
//! always those of the server's calculator. The runs are a list that events merge into.
//!
//! - `header`: name, state, actions
//! - `dialogs`: pause, resume, delete
//! - `next_fires`: what is to come, in three zones
//! - `ledger`: every expected fire with its verdict
//! - `history`: its runs
//! - `facts`: policies and targets
//! - `versions`: who changed what

mod dialogs;
mod facts;
mod header;
mod history;
mod ledger;
mod next_fires;
mod versions;

pub(in crate::pages) use dialogs::PauseDialog;
pub(in crate::pages) use next_fires::FireTable;

use leptos::prelude::*;

use crate::{
    api::{self, Load, use_load, use_schedule_feed},
    components::{AsyncView, Panel, WarningList},
    model::ScheduleDetail,
    route::use_id,
    state::use_title,
};

/// The schedule of the address.
#[component]
pub(crate) fn Schedule() -> impl IntoView {
    let id = use_id();
    // Another id is another page: its subscriptions and lists begin anew.
    move || view! { <Page id=id.get()/> }
}

#[component]
fn Page(id: String) -> impl IntoView {
    let key = StoredValue::new(id.clone());
    let load: Load<ScheduleDetail> = use_load(move || Some(api::schedule(key.get_value())));
    let ledger = ledger::use_ledger(id.clone());
    let name = Memo::new(move |_| {
        load.data.with(|data| data.as_ref().map(|schedule| schedule.row.name.clone()))
    });
    use_title(move || name.get().unwrap_or_else(|| "Schedule".to_owned()));
    let refresh = move || {
        load.refresh();
        ledger.load.refresh();
    };
    use_schedule_feed(Some(vec![id.clone()]), move |_| refresh(), refresh);
    let history_id = StoredValue::new(id);
    view! {
        <AsyncView load=load what="the schedule" let:schedule>
            <header::Header schedule=schedule changed=refresh/>
            <WarningList warnings=part(schedule, |schedule| schedule.row.warnings.clone())/>
            <div class="schedule-grid">
                <div class="schedule-main">
                    <Panel title="Fire ledger">
                        <ledger::Pulse ledger=ledger/>
                        <ledger::Table ledger=ledger zone=part(schedule, |schedule| Some(schedule.row.zone.clone()))/>
                    </Panel>
                    <Panel title="Run history">
                        <history::History schedule=history_id.get_value() changed=move || ledger.load.refresh()/>
                    </Panel>
                </div>
                <div class="schedule-side">
                    <Panel title="Next fires">
                        <next_fires::NextFires schedule=schedule/>
                    </Panel>
                    <facts::Facts schedule=schedule/>
                    <Panel title="Versions">
                        <versions::Versions versions=part(schedule, |schedule| schedule.versions.clone())/>
                    </Panel>
                </div>
            </div>
        </AsyncView>
    }
}

/// A part of the schedule that only speaks when it has changed itself.
fn part<T: Clone + PartialEq + Send + Sync + 'static>(
    schedule: Signal<ScheduleDetail>,
    take: impl Fn(&ScheduleDetail) -> T + Send + Sync + 'static,
) -> Signal<T> {
    Memo::new(move |_| schedule.with(&take)).into()
}
