//! The workflow editor: a form and a text of the same content, and the graph of the tasks beside both.
//!
//! - `definition`: a workflow's definition, as the API accepts it and as text (pure)
//! - `graph`: the tasks' dependencies, and errors in them (pure)
//! - `draft`: the fields of the workflow and of its tasks
//! - `kept`: the editor's state as one text, saved until it is sent
//! - `errors`: which error belongs under which field
//! - `cards`: the tasks on the page
//! - `picture`: the graph
//! - `text`: the tab with the text

mod cards;
mod definition;
mod draft;
mod errors;
mod graph;
mod kept;
mod picture;
mod text;

use std::sync::Arc;

use leptos::{ev::SubmitEvent, prelude::*};

use self::{
    definition::Definition,
    draft::Draft,
    errors::Errors,
    text::{TextPane, use_text},
};
use crate::{
    api::{self, Ask},
    components::{AsyncView, Field, Look, PageHead, Tab, button, live, tab_of, warning_list},
    data::{use_actor, use_load, use_once},
    model::{Failure, SavedWorkflow, WorkflowDefinition},
    pages::{
        kit,
        task_form::{refusal, show_wrong_field},
    },
    route::Route,
    state::{Address, use_address, use_draft, use_title},
};

const TABS: &[Tab] = &[Tab { name: "", words: "Form" }, Tab { name: "text", words: "Text" }];

/// Turns a definition into a change, under its own idempotency key, and the notice once it is done.
type Save = Arc<dyn Fn(Definition, String) -> (Ask<SavedWorkflow>, String) + Send + Sync>;

/// The initial state of an editor.
struct Start {
    /// The key of its draft.
    key: String,
    /// The name of an existing workflow, which cannot change.
    fixed_name: Option<String>,
    action: &'static str,
    back: Route,
}

/// The page of a new workflow.
#[component]
pub(crate) fn NewWorkflow() -> impl IntoView {
    use_title(|| "New workflow".to_owned());
    let namespace = kit::use_namespace();
    let save: Save = Arc::new(move |definition, key| {
        let said = format!("{} is created.", definition.name);
        (
            api::planning::create_workflow(namespace.get_untracked(), definition.to_create(), key),
            said,
        )
    });
    let start = Start {
        key: "workflow.new".to_owned(),
        fixed_name: None,
        action: "Create workflow",
        back: Route::Workflows,
    };
    view! {
        {PageHead::new("New workflow").view()}
        {editor(Draft::new(), start, save)}
    }
}

/// The page that edits the workflow with this id.
#[component]
pub(crate) fn EditWorkflow(id: String) -> impl IntoView {
    use_title(|| "Edit workflow".to_owned());
    let load = use_load(move || Some(api::planning::workflow_definition(id.clone())));
    view! {
        <AsyncView loading=load.loading what="the workflow">
            // The change is based on the version that was read: a newer one is a conflict, and is not overwritten.
            {untrack(|| load.with(edit))}
        </AsyncView>
    }
}

fn edit(before: &WorkflowDefinition) -> AnyView {
    let (id, version, name) = (before.id.clone(), before.version, before.name.clone());
    let back = Route::Workflow(id.clone());
    let head = PageHead::new(format!("Edit {name}")).view();
    if let Some(module) = &before.module {
        return view! {
            {head}
            <p class="pause-note form-note">
                {format!("The module {module} declares this workflow. Change its file and deploy it.")}
            </p>
            <a class="button" href=back.path()>"Back to the workflow"</a>
        }
        .into_any();
    }
    let start = Start {
        key: format!("workflow.{id}.{version}"),
        fixed_name: Some(name.clone()),
        action: "Save changes",
        back,
    };
    let save: Save = Arc::new(move |definition, key| {
        let said = format!("{name} is saved.");
        (api::planning::update_workflow(id.clone(), version, definition.to_update(), key), said)
    });
    let draft = Draft::of(&Definition::of(before));
    view! { {head}{editor(draft, start, save)} }.into_any()
}

/// The tabs, the graph, and the buttons.
fn editor(draft: Draft, start: Start, save: Save) -> AnyView {
    let address = use_address();
    let errors = Errors::new(draft);
    let is_new = start.fixed_name.is_none();
    let pane = use_text(draft, start.fixed_name);
    let kept = use_draft(
        &start.key,
        move || kept::kept(draft, pane),
        move |text| kept::restore(draft, pane, text),
    );
    let (actor, once) = (use_actor(), use_once());
    let busy = RwSignal::new(false);
    let warned = RwSignal::new(None::<SavedWorkflow>);
    let is_saved = Memo::new(move |_| warned.with(Option::is_some));
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        errors.clear();
        let definition = match sendable(draft, errors, pane) {
            Ok(definition) => definition,
            Err(wrong) => return fail(errors, address, pane, wrong),
        };
        busy.set(true);
        let (change, said) = save(definition, once.key());
        actor.send(change, move |outcome| {
            let _gone = busy.try_set(false);
            once.heard(&outcome);
            match outcome {
                Ok(saved) if saved.warnings.is_empty() => {
                    kept.forget();
                    actor.say(said);
                    address.go(&Route::Workflow(saved.workflow.id).path());
                }
                Ok(saved) => {
                    kept.forget();
                    drop(warned.try_set(Some(saved)));
                }
                Err(wrong) => fail(errors, address, pane, wrong),
            }
        });
    };
    let refused = live(move || match errors.sent() {
        Some(failure) => refusal(&failure),
        None => ().into_any(),
    });
    let tab = Memo::new(move |_| tab_of(TABS, &address.query("tab")));
    view! {
        {live(move || warned.get().map_or_else(|| ().into_any(), |saved| with_warnings(&saved)))}
        <div hidden=move || is_saved.get()>
        {kit::restored(kept)}
        {kit::tabs("Ways to edit", TABS)}
        <form class="editor-grid" on:submit=submit novalidate>
            <div class="editor-main" hidden=move || tab.get() != "">
                {broken_note(pane, address)}
                {workflow_fields(draft, errors, is_new)}
                {cards::cards(draft, errors)}
            </div>
            <div class="editor-main" hidden=move || tab.get() != "text">
                {pane.view(Signal::derive(move || errors.graph()))}
            </div>
            <div class="editor-side">
                {picture::picture(draft, errors)}
                <div class="editor-save">
                    <div role="alert">{refused}</div>
                    <div class="form-foot">
                        <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>{start.action}</button>
                        <a class="button" href=start.back.path()>"Cancel"</a>
                    </div>
                </div>
            </div>
        </form>
        </div>
    }
    .into_any()
}

/// What is shown in place of the form once the workflow is saved, if the server warns: another change would have to
/// begin with the saved version.
fn with_warnings(saved: &SavedWorkflow) -> AnyView {
    let (id, name) = (saved.workflow.id.clone(), saved.workflow.name.clone());
    let secrets =
        saved.warnings.iter().any(|warning| warning.code == "secret_not_set").then(|| {
            view! { <a class="button" href=Route::Secrets.path()>"Secrets"</a> }.into_any()
        });
    view! {
        <section class="panel" role="status" aria-label="Saved, with warnings" data-testid="saved-warnings">
            <h2>{format!("{name} is saved, but look at this")}</h2>
            {warning_list(saved.warnings.iter())}
            <p class="actions">
                <a class="button button-primary" href=Route::Workflow(id).path()>"Open the workflow"</a>
                {secrets}
            </p>
        </section>
    }
    .into_any()
}

/// The definition to send, or the first error.
fn sendable(draft: Draft, errors: Errors, pane: TextPane) -> Result<Definition, Failure> {
    if let Some(wrong) = untrack(|| pane.wrong()) {
        let message = format!("The text cannot be read. {wrong}");
        return Err(Failure::of_field("text", message));
    }
    let definition = untrack(|| draft.definition())?;
    if definition.tasks.is_empty() {
        return Err(Failure::of_field("tasks", "There is no task. Add one."));
    }
    errors.graph_failure().map_or(Ok(definition), Err)
}

/// Shows an error in its tab, and moves the focus to its field.
fn fail(errors: Errors, address: Address, pane: TextPane, wrong: Failure) {
    let tab = if untrack(|| pane.wrong()).is_some() { "text" } else { "" };
    if wrong.field.is_some() && untrack(|| address.query("tab")) != tab {
        address.go(&address.with(&[("tab", tab)]));
    }
    errors.set(wrong);
    show_wrong_field();
}

/// The note above the form while the text cannot be parsed and so does not follow the form.
fn broken_note(pane: TextPane, address: Address) -> AnyView {
    live(move || {
        let Some(wrong) = pane.wrong() else { return ().into_any() };
        let show = move || address.go(&address.with(&[("tab", "text")]));
        view! {
            <p class="pause-note" role="status">
                <span>{format!("The text cannot be read, so what you change here does not reach it. {wrong}")}</span>
                {button(Look::Plain, None, "Show the text", show)}
                {button(Look::Plain, None, "Give up the text", move || pane.give_up())}
            </p>
        }
        .into_any()
    })
}

/// The fields of the workflow as a whole. An existing workflow keeps its name.
fn workflow_fields(draft: Draft, errors: Errors, is_new: bool) -> AnyView {
    let name = is_new
        .then(|| Field::new("name", "Name", draft.name).required().error(errors.of("name")).text());
    view! {
        <fieldset class="panel form-section">
            <legend>"Workflow"</legend>
            {name}
            <div class="field-grid">
                {Field::new("workflow-timeout", "Timeout of a run (seconds)", draft.timeout).kind("number")
                    .error(errors.of("timeoutSeconds")).hint("Empty: only the tasks' own timeouts.").text()}
                {Field::new("max-parallel", "Tasks at once", draft.max_parallel).kind("number")
                    .error(errors.of("maxParallel")).hint("1 to 100.").text()}
            </div>
            {Field::new("runs-on", "Runs on nodes with", draft.runs_on).error(errors.of("runsOn"))
                .hint("Tags such as gpu, separated by commas. Empty: on any node.").text()}
        </fieldset>
    }
    .into_any()
}
