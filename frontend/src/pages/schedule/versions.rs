//! The versions of a schedule: who changed what, the differences from the previous version, and
//! rollback.

use leptos::prelude::*;

use super::effect::{effect, past};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Field, Look, button, diff, fact, heading, live, silent_heading, table,
        when,
    },
    data::{self, Load, use_actor, use_load},
    model::{ScheduleDetail, Version},
    pages::{
        actions::Actions,
        kit::{use_first_version, version_pager},
    },
    state::{use_address, use_session},
};

/// Number of versions on a page.
const SIZE: usize = 20;

/// The tab with the versions, newest first, one page at a time.
pub(in crate::pages) fn versions(load: Load<ScheduleDetail>, actions: Actions) -> AnyView {
    let (address, session) = (use_address(), use_session());
    let (open, back) = (RwSignal::new(false), RwSignal::new(false));
    let meant = RwSignal::new(0_i64);
    let first = use_first_version(address);
    // A new version makes the page load again.
    let current =
        Memo::new(move |_| load.with(|schedule| (schedule.row.id.clone(), schedule.row.version)));
    let page: Load<Vec<Version>> = use_load(move || {
        let (id, _) = current.get()?;
        // One more than is listed: the last one is compared with it.
        Some(api::schedule_versions(id, first.get(), SIZE + 1))
    });
    let facts = Memo::new(move |_| {
        load.with(|schedule| {
            let is_declared = schedule.more.module.is_some();
            (schedule.row.version, schedule.row.zone(), is_declared)
        })
    });
    let rows = move |all: &Vec<Version>| {
        let Some((current, zone, is_declared)) = facts.get() else { return ().into_any() };
        let headings = vec![
            heading("No.", "number"),
            heading("Change", ""),
            heading("By", ""),
            heading("At", ""),
            silent_heading("Actions"),
        ];
        let may = session.edits() && !is_declared;
        let row = |version: &Version| {
            let number = version.version;
            let look = move || {
                meant.set(number);
                open.set(true);
            };
            let is_now = number == current;
            let roll = (may && !is_now).then(|| {
                button(Look::Plain, None, "Roll back to this version", move || {
                    meant.set(number);
                    back.set(true);
                })
            });
            view! {
                <tr>
                    <th scope="row" class="number">{number}</th>
                    <td>{version.change.clone()}</td>
                    <td>{version.by.clone()}</td>
                    <td>{when(version.at, zone.clone())}</td>
                    <td><div class="row-actions">{button(Look::Plain, None, "What changed", look)}{roll}</div></td>
                </tr>
            }
            .into_any()
        };
        let rows: Vec<_> = all.iter().take(SIZE).map(row).collect();
        table("Versions", "table table-tight", headings, rows.into_any())
    };
    let changed = move || {
        let number = meant.get();
        page.with(|all| compared(all, number)).unwrap_or_else(|| ().into_any())
    };
    let newest = move || current.get().map(|(_, version)| version);
    let older = move || page.with(|all| all.get(SIZE).map(|next| next.version)).flatten();
    view! {
        <section class="panel" aria-label="Versions">
            <AsyncView loading=page.loading what="the versions">{page.draw(rows)}</AsyncView>
            {version_pager(address, first, newest, SIZE, older)}
        </section>
        <Dialog open=open title="What changed">{live(changed)}{again(load, page, meant)}</Dialog>
        <Dialog open=back title="Roll back">{roll_back(load, page, meant, back, actions)}</Dialog>
    }
    .into_any()
}

/// A version compared with the previous one. The first version of all is compared with nothing.
fn compared(versions: &[Version], number: i64) -> AnyView {
    let Some(at) = versions.iter().position(|version| version.version == number) else {
        return ().into_any();
    };
    let nothing = serde_json::Value::Null;
    let before = versions.get(at + 1).map_or(&nothing, |version| &version.snapshot);
    let after = versions.get(at).map_or(&nothing, |version| &version.snapshot);
    diff(before, after)
}

/// What an earlier version would change about the coming fires, if it applied again. It is asked for once for each
/// version, however often the schedule is reloaded.
fn again(load: Load<ScheduleDetail>, page: Load<Vec<Version>>, meant: RwSignal<i64>) -> AnyView {
    let earlier = Memo::new(move |_| {
        let number = meant.get();
        let snapshot = snapshot_of(page, number)?;
        let found = |schedule: &ScheduleDetail| {
            let is_earlier = number != schedule.row.version;
            is_earlier.then(|| (schedule.row.id.clone(), schedule.row.zone(), snapshot))
        };
        load.with(found).flatten()
    });
    live(move || {
        let Some((id, zone, snapshot)) = earlier.get() else { return ().into_any() };
        let foreseen = use_load(move || {
            let (timing, calendars) = past(&snapshot)?;
            Some(api::definition_effect(id.clone(), timing, calendars))
        });
        let shown = foreseen.draw(move |foreseen| effect(foreseen, zone.clone()));
        view! {
            <section aria-label="If this version applied again">
                <h3>"If this version applied again"</h3>
                <div role="status">{shown}</div>
            </section>
        }
        .into_any()
    })
}

/// The definition of a version on the page; tracked.
fn snapshot_of(page: Load<Vec<Version>>, number: i64) -> Option<serde_json::Value> {
    let found = |all: &Vec<Version>| {
        let version = all.iter().find(|version| version.version == number);
        version.map(|version| version.snapshot.clone())
    };
    page.with(found).flatten()
}

/// The data of the rollback dialog.
struct Rollback {
    id: String,
    name: String,
    zone: Option<String>,
    /// The current version.
    now: i64,
    /// The differences of the two definitions.
    changes: AnyView,
    /// The definition to restore.
    then: serde_json::Value,
}

/// Asks for confirmation before a rollback, and shows what it would change.
fn roll_back(
    load: Load<ScheduleDetail>,
    page: Load<Vec<Version>>,
    meant: RwSignal<i64>,
    open: RwSignal<bool>,
    actions: Actions,
) -> AnyView {
    let actor = use_actor();
    let reason = RwSignal::new(String::new());
    let number = meant.get_untracked();
    let Some(Rollback { id, name, zone, now, changes, then }) = untrack(|| {
        let then = snapshot_of(page, number)?;
        load.with(|schedule| {
            let now = schedule.row.version;
            let current = schedule.more.versions.nodes.iter().find(|known| known.version == now);
            let current = current.map(|current| current.snapshot.clone()).unwrap_or_default();
            Rollback {
                id: schedule.row.id.clone(),
                name: schedule.row.name.clone(),
                zone: schedule.row.zone(),
                now,
                changes: diff(&current, &then),
                then,
            }
        })
    }) else {
        return ().into_any();
    };
    let foreseen = {
        let id = id.clone();
        let foreseen = use_load(move || {
            let (timing, calendars) = past(&then)?;
            Some(api::definition_effect(id.clone(), timing, calendars))
        });
        foreseen.draw(move |foreseen| effect(foreseen, zone.clone()))
    };
    let key = data::new_key();
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let text = reason.get_untracked().trim().to_owned();
        let given = (!text.is_empty()).then_some(text);
        let change = api::rollback_schedule(id.clone(), number, now, given, key.clone());
        let said = format!("{name} is rolled back to version {number}.");
        actor.act(change, said, move |_| {
            open.set(false);
            actions.reload();
        });
    };
    view! {
        <form on:submit=submit novalidate>
            <dl class="facts">
                {fact("Now", format!("version {now}"))}
                {fact("Then", format!("as in version {number}, as a new version"))}
            </dl>
            {changes}
            <div role="status">{foreseen}</div>
            {Field::new("rollback-reason", "Reason (optional)", reason).first().text()}
            <footer class="dialog-foot">
                {button(Look::Plain, None, "Cancel", move || open.set(false))}
                <button type="submit" class=Look::Primary.class()>"Roll back"</button>
            </footer>
        </form>
    }
    .into_any()
}
