//! Modules: files that declare schedules and the objects that these need.
//!
//! - `deploy`: a file, its plan, its deployment
//! - `detail`: one module, with the differences from its declaration; `settlement`: adopting or reverting them

mod deploy;
mod detail;
mod settlement;

pub(crate) use deploy::DeployModule;
pub(crate) use detail::Module;

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    cursors,
    kit::{copy_button, empty, name_field, named_with, place_cell, placed},
    place,
};
use crate::{
    api,
    components::{AsyncView, Dialog, Look, button, heading, pager, table, when_relative},
    data::use_load,
    model::{self, Exported, Page, Place},
    route::{Route, Scope},
    state::{use_address, use_session, use_title},
};

const SIZE: usize = 100;

/// The list of modules.
#[component]
pub(crate) fn Modules() -> impl IntoView {
    use_title(|| "Modules".to_owned());
    let session = use_session();
    let address = use_address();
    let namespace = Memo::new(move |_| address.namespace());
    let modules = use_load(move || {
        let text = Some(named_with(address));
        Some(api::planning::modules(namespace.get(), text, place(address), SIZE))
    });
    let beside = Signal::derive(move || {
        let beside = |page: &Page<model::Module>| {
            (page.previous.clone().map(Place::Before), page.next.clone().map(Place::After))
        };
        modules.with(beside).unwrap_or_default()
    });
    let go = move |place: Place| address.go(&address.with(&cursors(&place)));
    let nothing = move || {
        if named_with(address).is_empty() {
            empty(
                "No module yet",
                "A module is a file that declares schedules, workflows and alert rules together. Deploy one here or by carillon apply.",
            )
        } else {
            empty("No module here", "No name contains this text.")
        }
    };
    let export = RwSignal::new(false);
    let deploy = move || {
        session.edits().then(|| {
            view! {
                {(!address.is_across()).then(|| button(Look::Plain, None, "Export all", move || export.set(true)))}
                <a class="button button-primary" href=Route::DeployModule.path()>"Plan a file"</a>
            }
            .into_any()
        })
    };
    view! {
        <header class="page-head"><h1>"Modules"</h1><div class="actions">{move || deploy()}</div></header>
        {name_field(address, "Which modules")}
        <AsyncView
            loading=modules.loading
            what="modules"
            is_empty=Signal::derive(move || modules.with(|page| page.rows.is_empty()).unwrap_or_default())
            empty=nothing
        >
            {modules.draw(list)}
            {pager(beside, "modules", go)}
        </AsyncView>
        <Dialog open=export title="Export">{exported(namespace, None)}</Dialog>
    }
}

fn list(page: &Page<model::Module>) -> AnyView {
    let headings = vec![
        heading("Module", ""),
        heading("Schedules", "number"),
        heading("Workflows", "number"),
        heading("Changed", ""),
    ];
    let row = |module: &Arc<model::Module>| {
        let home = Scope::One(module.namespace.clone());
        let href = Route::module(&module.name).path_in(&home);
        let search = format!("module:\"{}\"", module.name);
        let schedules = Route::Schedules.narrowed_in(&home, &[("q", &search)]);
        view! {
            <tr data-testid="module-row">
                <th scope="row" class="name-cell"><a href=href>{module.name.clone()}</a></th>
                {place_cell(&module.namespace)}
                <td class="number"><a href=schedules>{module.schedules}</a></td>
                <td class="number">{module.workflows}</td>
                <td>{when_relative(module.changed_at, None)}</td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = page.rows.iter().map(row).collect();
    table("Modules", "table", placed(headings, 1), rows.into_any())
}

/// The module files that declare the current objects, for copying.
fn exported(namespace: Memo<String>, module: Option<String>) -> AnyView {
    let files =
        use_load(move || Some(api::planning::export(namespace.get(), module.clone(), None)));
    let file = |file: &Exported| {
        let hint = match (file.is_by_hand, file.is_part) {
            (true, _) => "Declares what was created by hand: apply it with --adopt.",
            (false, true) => "A part of the module: apply it with --no-prune.",
            (false, false) => "",
        };
        let named = format!("The file of {}", file.module);
        view! {
            <section class="export" aria-label=file.module.clone()>
                <div class="panel-head"><h3>{file.module.clone()}</h3>{copy_button("Copy", file.source.clone())}</div>
                <p class="hint">{hint}</p>
                <pre class="source" tabindex="0" role="region" aria-label=named>{file.source.clone()}</pre>
            </section>
        }
        .into_any()
    };
    view! {
        <div class="dialog-body">
            <AsyncView
                loading=files.loading
                what="the files"
                is_empty=Signal::derive(move || files.with(Vec::is_empty).unwrap_or_default())
                empty=|| empty("Nothing to export", "There is nothing in this namespace yet.")
            >
                {files.draw(move |files| files.iter().map(file).collect::<Vec<_>>().into_any())}
            </AsyncView>
        </div>
    }
    .into_any()
}
