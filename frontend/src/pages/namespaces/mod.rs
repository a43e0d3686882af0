//! Namespaces: quotas and usage, and how long each namespace keeps settled history.
//!
//! - `retention`: how long history is kept, and how much space another value would free
//! - `quotas`: the limits of a namespace
//! - `deleting`: the deletion of a namespace, and deleted ones

mod deleting;
mod quotas;
mod retention;

use std::{cell::RefCell, rc::Rc};

use leptos::prelude::*;

use self::deleting::Lists;
use super::kit::{Asked, Change, days_choice, empty, form, note, of, use_asked};
use crate::{
    api,
    components::{AsyncView, Dialog, Field, Look, button, heading, silent_heading, table, when},
    data::{use_load, use_namespaces},
    model::{DeletedNamespace, Namespace, Quota, Role},
    route::{Route, Scope},
    state::{use_address, use_session, use_title},
    time::grouped,
};

/// The dialogs about a namespace.
#[derive(Clone, Copy)]
struct Dialogs {
    keep: Asked<Namespace>,
    quotas: Asked<Namespace>,
    rename: Asked<Namespace>,
    delete: Asked<Namespace>,
}

/// The list of namespaces.
#[component]
pub(crate) fn Namespaces() -> impl IntoView {
    use_title(|| "Namespaces and retention".to_owned());
    let namespaces = use_load(|| Some(api::settings::namespaces()));
    let session = use_session();
    let loading = namespaces.loading;
    let new = RwSignal::new(false);
    let dialogs = Dialogs {
        keep: use_asked(),
        quotas: use_asked(),
        rename: use_asked(),
        delete: use_asked(),
    };
    let is_admin = Memo::new(move |_| session.administers_all());
    let deleted = use_load(move || is_admin.get().then(api::settings::deleted_namespaces));
    let names = use_namespaces().loading;
    let lists = Lists { namespaces: loading, deleted: deleted.loading, names };
    let restore = use_asked::<DeletedNamespace>();
    let add = move || {
        is_admin.get().then(|| button(Look::Primary, None, "New namespace", move || new.set(true)))
    };
    view! {
        <header class="page-head"><h1>"Namespaces and retention"</h1><div class="actions">{move || add()}</div></header>
        <AsyncView
            loading=loading
            what="namespaces"
            is_empty=Signal::derive(move || namespaces.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No namespace", "You have no role in any namespace. Ask an administrator.")
        >
            {namespaces.draw(move |all| list(all, dialogs, is_admin.get()))}
        </AsyncView>
        {deleted.draw(move |all| deleting::list(all, restore))}
        <Dialog open=new title="New namespace">{new_form(new, lists)}</Dialog>
        {dialogs.keep.dialog("Retention", move |row| retention::form_of(&row, dialogs.keep.open, loading))}
        {dialogs.quotas.dialog("Quotas", move |row| quotas::form_of(&row, dialogs.quotas.open, loading))}
        {dialogs.rename.dialog("Rename namespace", move |row| rename_form(&row, dialogs.rename, lists))}
        {dialogs.delete.dialog("Delete namespace", move |row| deleting::delete_form(&row, dialogs.delete.open, lists))}
        {restore.dialog("Restore namespace", move |row| deleting::restore_form(&row, restore.open, lists))}
    }
}

fn list(all: &[Namespace], dialogs: Dialogs, is_admin: bool) -> AnyView {
    let headings = vec![
        heading("Namespace", ""),
        heading("You may", "wide"),
        heading("Keeps", ""),
        heading("Schedules", "number wide"),
        heading("Fires a minute", "number wide"),
        heading("Live runs", "number wide"),
        heading("Log a day", "number wide"),
        heading("Log kept", "number wide"),
        heading("History rows", "number wide"),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = all.iter().map(|row| line(row, dialogs, is_admin)).collect();
    table("Namespaces", "table", headings, rows.into_any())
}

fn line(row: &Namespace, dialogs: Dialogs, is_admin: bool) -> AnyView {
    let role = row.role.map_or("–", Role::word);
    let keeps = row.retention_days.map_or_else(|| "as the server".to_owned(), days_choice);
    let keep = (row.role == Some(Role::Admin))
        .then(|| button(Look::Plain, None, "Retention", dialogs.keep.ask(row)));
    // Requests that name no namespace need the usual one.
    let delete = (is_admin && row.name != "default")
        .then(|| button(Look::Plain, None, "Delete", dialogs.delete.ask(row)));
    let rest = is_admin.then(|| {
        view! {
            {button(Look::Plain, None, "Quotas", dialogs.quotas.ask(row))}
            {button(Look::Plain, None, "Rename", dialogs.rename.ask(row))}
        }
        .into_any()
    });
    let quotas = &row.quotas;
    let home = Scope::One(row.name.clone());
    let runs = Route::Runs.narrowed_in(&home, &[("state", "live")]);
    // The default namespace has always existed; its creation time is 0.
    let since = (row.created_at.millis() > 0).then(|| {
        view! { <span class="cell-note">"since "{when(row.created_at, None)}</span> }.into_any()
    });
    let cut = quotas.history_since.map(|since| {
        view! { <span class="cell-note">"none before "{when(since, None)}</span> }.into_any()
    });
    view! {
        <tr data-testid="namespace-row">
            <th scope="row" class="name-cell"><a href=Route::Overview.path_in(&home)>{row.name.clone()}</a>{since}</th>
            <td class="wide">{role}</td>
            <td><span class="card-word">"keeps "</span>{keeps}</td>
            <td class="number wide">{listed(quotas.schedules, Route::Schedules.path_in(&home))}</td>
            <td class="number wide">{used(quotas.fires_a_minute, grouped)}</td>
            <td class="number wide">{listed(quotas.live_runs, runs)}</td>
            <td class="number wide">{used(quotas.log_bytes_a_day, bytes)}</td>
            <td class="number wide">{used(quotas.log_bytes, bytes)}</td>
            <td class="number wide">{used(quotas.history_rows, grouped)}{cut}</td>
            <td class="actions-cell"><div class="row-actions">{keep}{rest}{delete}</div></td>
        </tr>
    }
    .into_any()
}

/// The usage above the limit, as in `12` above `of 100`; highlighted when the quota is used up.
fn used(quota: Quota, write: fn(i64) -> String) -> AnyView {
    limited(quota, write(quota.used).into_any(), write)
}

/// A number of objects above its limit, with a link to them if there are any.
fn listed(quota: Quota, href: String) -> AnyView {
    let number = grouped(quota.used);
    let number = if quota.used == 0 {
        number.into_any()
    } else {
        view! { <a href=href>{number}</a> }.into_any()
    };
    limited(quota, number, grouped)
}

fn limited(quota: Quota, used: AnyView, write: fn(i64) -> String) -> AnyView {
    let is_full = quota.limit.is_some_and(|limit| quota.used >= limit);
    let limit = quota.limit.map(|limit| note(format!("of {}", write(limit))));
    view! { <span class:quota-full=is_full>{used}</span>{limit} }.into_any()
}

/// A number of bytes in words: `1.5 MB`.
fn bytes(number: i64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut tenths, mut unit) = (number * 10, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    let word = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 {
        format!("{number} {word}")
    } else {
        format!("{}.{} {word}", tenths / 10, tenths % 10)
    }
}

fn new_form(open: RwSignal<bool>, lists: Lists) -> AnyView {
    let name = RwSignal::new(String::new());
    let wrong = RwSignal::new(None);
    let fields = Field::new("namespace-name", "Name", name)
        .first()
        .required()
        .error(of(wrong, "name"))
        .hint("Each has its own schedules, runs, secrets and permissions.")
        .text();
    let plan = move |key| {
        let name = name.get_untracked().trim().to_owned();
        let said = format!("{name} is created. Add members to it.");
        Ok(Change { ask: api::settings::create_namespace(name, key), said })
    };
    let done = move |_| lists.reload();
    form(open, (Look::Primary, "Create namespace"), wrong, fields, plan, done)
}

fn rename_form(row: &Namespace, rename: Asked<Namespace>, lists: Lists) -> AnyView {
    let old = row.name.clone();
    let name = RwSignal::new(old.clone());
    let wrong = RwSignal::new(None);
    let fields = view! {
        <p>"Modules, tokens and programs that say "<strong>{old.clone()}</strong>" find nothing from now on."</p>
        {Field::new("namespace-name", "New name", name).first().required().error(of(wrong, "newName")).text()}
    };
    // Outlives the form, which may be closed or changed before the answer.
    let sent = Rc::new(RefCell::new(String::new()));
    let renamed = sent.clone();
    let plan = move |_| {
        let new = name.get_untracked().trim().to_owned();
        *sent.borrow_mut() = new.clone();
        let said = format!("{old} is now called {new}.");
        Ok(Change { ask: api::settings::rename_namespace(old.clone(), new), said })
    };
    let (address, was) = (use_address(), row.name.clone());
    let done = move |_| {
        lists.reload();
        // Every link of the page has the old name.
        if untrack(|| address.namespace()) == was {
            let new = renamed.borrow().clone();
            address.complete(&Scope::One(new));
        }
    };
    form(rename.open, (Look::Danger, "Rename"), wrong, fields.into_any(), plan, done)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_are_shown_in_a_suitable_unit() {
        let shown = [0, 999, 1_500, 12_345_678, 3_000_000_000].map(bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.5 kB", "12.3 MB", "3.0 GB"]);
    }
}
