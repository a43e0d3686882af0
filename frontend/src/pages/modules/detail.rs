//! One module: the differences from its declaration, and ways to resolve them.

use std::time::Duration;

use leptos::prelude::*;

use super::{
    super::kit,
    exported,
    settlement::{Settling, use_settling},
};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Look, badge_of, button, fact, heading, panel, table, when, when_relative,
    },
    data::{Load, use_load},
    model::{Drift, DriftSide, Drifted, FieldChange},
    pages::kit::{empty, note},
    route::Route,
    state::{use_every, use_session, use_title},
};

const LOOK: Duration = Duration::from_secs(5);
/// The id of the heading of the drift.
pub(super) const HEADING: &str = "panel-drift";

/// The page of one module.
#[component]
pub(crate) fn Module(name: String) -> impl IntoView {
    let name = js_sys::decode_uri_component(&name).map_or(name, String::from);
    let title = name.clone();
    use_title(move || title.clone());
    let session = use_session();
    let namespace = kit::use_namespace();
    let asked = name.clone();
    let drift = use_load(move || Some(api::planning::drift(namespace.get(), asked.clone())));
    use_every(LOOK, move || drift.loading.refresh());
    let export = RwSignal::new(false);
    let settling = use_settling(namespace, drift.loading, export);
    let actions = move || {
        session.edits().then(|| {
            view! {
                {button(Look::Plain, None, "Export", move || export.set(true))}
                <a class="button button-primary" href=Route::DeployModule.path()>"Plan a file"</a>
            }
            .into_any()
        })
    };
    let heading = name.clone();
    view! {
        <header class="page-head"><h1>{heading}</h1><div class="actions">{move || actions()}</div></header>
        <AsyncView loading=drift.loading what="the module">
            <div class="run-grid">
                <div class="run-main">{drift_panel(drift, settling)}</div>
                <div class="run-side">{drift.draw(facts)}</div>
            </div>
        </AsyncView>
        <Dialog open=export title="Export">{exported(namespace, Some(name.clone()))}</Dialog>
        {settling.dialogs()}
    }
}

fn facts(drift: &Drift) -> AnyView {
    let content = view! {
        <dl class="facts">
            {fact("Deployed", when_relative(drift.deployed_at, None))}
            {fact("By", drift.deployed_by.clone())}
            {fact("Drifted", drift.drifted.len())}
        </dl>
    };
    panel("Last deployment", (), content.into_any())
}

/// The drift. Its heading stays when the drift is drawn again, so that it keeps the focus.
fn drift_panel(drift: Load<Drift>, settling: Settling) -> AnyView {
    view! {
        <section class="panel" aria-labelledby=HEADING>
            <header class="panel-head"><h2 id=HEADING tabindex="-1">"Drift"</h2></header>
            {drift.draw(move |drift| drifted(drift, settling))}
        </section>
    }
    .into_any()
}

fn drifted(drift: &Drift, settling: Settling) -> AnyView {
    if drift.drifted.is_empty() {
        return view! { <div class="empty">{empty("All is as it was declared", "Pauses, notes and mutes by operators are shown here, and changes that bypassed the server.")}</div> }
            .into_any();
    }
    let headings = vec![
        heading("Thing", ""),
        heading("Declared → is", ""),
        heading("By", "wide"),
        heading("Whose", ""),
    ];
    let rows: Vec<_> = drift.drifted.iter().map(row).collect();
    let ways = use_session().edits().then(|| settling.ways(drift));
    view! { {ways}{table("Drift", "table", headings, rows.into_any())} }.into_any()
}

fn row(thing: &Drifted) -> AnyView {
    let side = match thing.side {
        DriftSide::Operators => {
            view! { {badge_of("skipped", "Operators'")}{note("it stays")} }.into_any()
        }
        DriftSide::Module => {
            view! { {badge_of("retrying", "Module's")}{note("the next deployment corrects it")} }
                .into_any()
        }
    };
    let by = thing.by.clone().unwrap_or_else(|| "unknown".to_owned());
    let at =
        thing.at.map(|at| view! { <span class="cell-note">{when(at, None)}</span> }.into_any());
    view! {
        <tr data-testid="drift-row">
            <th scope="row" class="name-cell">{thing.name.clone()}{note(thing.kind.replace('_', " "))}</th>
            <td>{fields(&thing.fields)}</td>
            <td class="wide">{by}{at}{thing.reason.clone().map(note)}</td>
            <td>{side}</td>
        </tr>
    }
    .into_any()
}

/// The old and the new value of each key.
pub(super) fn fields(fields: &[FieldChange]) -> AnyView {
    let nothing = || "nothing".to_owned();
    let one = |field: &FieldChange| {
        let path = if field.path.is_empty() { "it".to_owned() } else { field.path.clone() };
        let before = field.before.clone().unwrap_or_else(nothing);
        let after = field.after.clone().unwrap_or_else(nothing);
        view! { <li><code>{path}</code>" "<del>{before}</del>" → "<ins>{after}</ins></li> }
            .into_any()
    };
    view! { <ul class="field-changes">{fields.iter().map(one).collect::<Vec<_>>()}</ul> }.into_any()
}
