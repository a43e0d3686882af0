//! Deleted schedules. Each can be restored until it is purged, under another name if its own is taken.

use std::{sync::Arc, time::Duration};

use leptos::prelude::*;

use crate::{
    api,
    components::{
        AsyncView, Field, Look, heading, live, pager, silent_heading, table, tags, when,
        when_relative,
    },
    data::{Loading, use_load},
    model::{DeletedSchedule, Failure, Page, Place},
    pages::{
        cursors,
        kit::{self, Asked, Change, Wrong, empty, form, of, use_asked},
    },
    route::Route,
    state::{Address, use_address, use_every, use_session},
};

const IN_ANY_CASE: Duration = Duration::from_secs(5);

/// The page.
pub(in crate::pages) fn content() -> AnyView {
    view! { <Deleted/> }.into_any()
}

/// The list, the last deleted first.
#[component]
fn Deleted() -> impl IntoView {
    let (address, session) = (use_address(), use_session());
    let namespace = kit::use_namespace();
    let deleted = use_load(move || {
        let after = Some(address.query("after")).filter(|cursor| !cursor.is_empty());
        let namespace = namespace.get();
        (!namespace.is_empty()).then(|| api::deleted_schedules(namespace, after))
    });
    let loading = deleted.loading;
    // Other users also restore schedules, and so does the notice after a deletion, which does not know this list.
    use_every(IN_ANY_CASE, move || loading.refresh());
    let restore = use_asked::<DeletedSchedule>();
    let is_empty = move || deleted.with(|page| page.rows.is_empty()).unwrap_or_default();
    // The list can only be read forward, so the way back leads to the first page.
    let beside = Signal::derive(move || {
        let previous = (!address.query("after").is_empty()).then_some(Place::First);
        let next = deleted.with(|page| page.next.clone()).flatten();
        (previous, next.map(Place::After))
    });
    let go = move |to: Place| address.go(&address.with(&cursors(&to)));
    view! {
        <header class="page-head">
            <h1>"Deleted schedules"</h1>
            <p class="actions"><a class="button" href=Route::Schedules.path()>"All schedules"</a></p>
        </header>
        <AsyncView
            loading=loading
            what="deleted schedules"
            is_empty=Signal::derive(is_empty)
            empty=move || nothing(address)
        >
            {deleted.draw(move |page| list(page, restore, session.edits()))}
            {pager(beside, "deleted schedules", go)}
        </AsyncView>
        {restore.dialog("Restore schedule", move |row| restore_form(&row, restore.open, loading))}
    }
}

/// The view of a page without rows. The rows of a later page may all have been restored by now.
fn nothing(address: Address) -> AnyView {
    live(move || {
        if address.query("after").is_empty() {
            return empty(
                "Nothing was deleted",
                "A deleted schedule can be restored from here for 7 days.",
            );
        }
        let first = Route::Schedules.narrowed(&[("deleted", "yes")]);
        view! {
            {empty("Nothing earlier was deleted", "What was deleted later is on the first page.")}
            <p><a class="button" href=first>"First page"</a></p>
        }
        .into_any()
    })
}

fn list(page: &Page<DeletedSchedule>, restore: Asked<DeletedSchedule>, edits: bool) -> AnyView {
    let headings = vec![
        heading("Name", ""),
        heading("Deleted", ""),
        heading("Kept until", ""),
        silent_heading("Actions"),
    ];
    let row = |row: &Arc<DeletedSchedule>| line(row, restore, edits);
    let rows: Vec<_> = page.rows.iter().map(row).collect();
    table("Deleted schedules", "table", headings, rows.into_any())
}

fn line(row: &DeletedSchedule, restore: Asked<DeletedSchedule>, edits: bool) -> AnyView {
    let action = match &row.module {
        // Only a deployment of the module restores the schedule.
        Some(module) => {
            let href = Route::module(module).path();
            view! { <a href=href>{format!("Deploy {module} to restore it")}</a> }.into_any()
        }
        None if edits => {
            let (ask, label) = (restore.ask(row), format!("Restore {}", row.name));
            view! {
                <button type="button" class="button" aria-label=label on:click=move |_| ask()>"Restore"</button>
            }
            .into_any()
        }
        None => ().into_any(),
    };
    view! {
        <tr data-testid="deleted-row">
            <th scope="row">{row.name.clone()}{tags(&row.tags)}</th>
            <td>{when_relative(row.deleted_at, None)}</td>
            <td>{when(row.kept_until, None)}</td>
            <td class="actions-cell">{action}</td>
        </tr>
    }
    .into_any()
}

fn restore_form(row: &DeletedSchedule, open: RwSignal<bool>, loading: Loading) -> AnyView {
    let wrong: Wrong = RwSignal::new(None);
    let name = RwSignal::new(row.name.clone());
    let (id, old) = (row.id.clone(), row.name.clone());
    let fields = view! {
        <p>"It fires from now on, unless it was paused when it was deleted."</p>
        {Field::new("restore-name", "Name", name).first().error(of(wrong, "name"))
            .hint("Another one, if a schedule has this name by now.").text()}
    };
    let plan = move |key| {
        let typed = name.get_untracked().trim().to_owned();
        let name = renamed(&old, &typed)?;
        let said = format!("{typed} is back.");
        Ok(Change { ask: api::undelete_schedule(id.clone(), name, key), said })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, "Restore"), wrong, fields.into_any(), plan, done)
}

/// The new name; `None` if it equals the old one.
fn renamed(old: &str, typed: &str) -> Result<Option<String>, Failure> {
    if typed.is_empty() {
        return Err(Failure::of_field("name", "Give it a name."));
    }
    Ok((typed != old).then(|| typed.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn a_restored_schedule_keeps_its_name_unless_another_is_given() {
        assert_eq!(renamed("nightly", "nightly").unwrap(), None);
        assert_eq!(renamed("nightly", "nightly-2").unwrap().as_deref(), Some("nightly-2"));
        assert!(renamed("nightly", "").is_err());
    }
}
