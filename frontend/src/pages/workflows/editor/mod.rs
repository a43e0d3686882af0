//! The workflow editor: a form and a text with the same content, and the graph of the tasks beside both.
//!
//! - `definition`: a workflow's definition in the API's shape (pure); `yaml`: the same in a module file's shape
//!   (pure)
//! - `graph`: the tasks' dependencies, and errors in them (pure)
//! - `draft`: the fields of the workflow and of its tasks
//! - `kept`: saves the editor's state as one text until it is sent
//! - `errors`: assigns errors to fields
//! - `cards`: the tasks on the page
//! - `picture`: the graph
//! - `text`: the text, and the state of its reading; `reader`: lets the server read it; `text_view`: its tab
//! - `placed_problem`: a problem of the text, with its position; `comments`: detects comments in a text (pure)
//! - `usual`: the default values, which are left out (pure)

mod cards;
mod comments;
mod definition;
mod draft;
mod errors;
mod graph;
mod kept;
mod picture;
mod placed_problem;
mod reader;
mod text;
mod text_view;
mod usual;
mod yaml;

use std::sync::Arc;

use leptos::{ev::SubmitEvent, prelude::*};

use self::{
    definition::Definition,
    draft::Draft,
    errors::Errors,
    reader::{Reader, use_reader},
    text::{Reading, TextPane},
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
    state::{Address, Draft as KeptDraft, use_address, use_draft, use_title},
};

const TABS: &[Tab] = &[Tab { name: "", words: "Form" }, Tab { name: "text", words: "Text" }];

/// A function from a definition and an idempotency key to the change, and to the notice after it.
type Save = Arc<dyn Fn(Definition, String) -> (Ask<SavedWorkflow>, String) + Send + Sync>;

/// The initial state of an editor.
struct Start {
    /// The key of the editor's draft.
    key: String,
    /// The workflow that is edited: its key and its definition.
    workflow: Option<(String, Definition)>,
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
        workflow: None,
        action: "Create workflow",
        back: Route::Workflows,
    };
    view! {
        {PageHead::new("New workflow").view()}
        {editor(start, save)}
    }
}

/// The page that edits the workflow with this id.
#[component]
pub(crate) fn EditWorkflow(id: String) -> impl IntoView {
    use_title(|| "Edit workflow".to_owned());
    let load = use_load(move || Some(api::planning::workflow_definition(id.clone())));
    view! {
        <AsyncView loading=load.loading what="the workflow">
            // The change is based on the version that was read, so that a newer version is a conflict and is not
            // overwritten.
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
        workflow: Some((id.clone(), Definition::of(before))),
        action: "Save changes",
        back,
    };
    let save: Save = Arc::new(move |definition, key| {
        let said = format!("{name} is saved.");
        (api::planning::update_workflow(id.clone(), version, definition.to_update(), key), said)
    });
    view! { {head}{editor(start, save)} }.into_any()
}

/// The form and the text of a workflow, and the graph of its tasks. A copy contains the same handles.
#[derive(Clone, Copy)]
struct Editor {
    draft: Draft,
    pane: TextPane,
    reader: Reader,
    errors: Errors,
    address: Address,
    kept: KeptDraft,
    /// A workflow that was saved with warnings from the server.
    warned: RwSignal<Option<SavedWorkflow>>,
    busy: RwSignal<bool>,
}

/// The editor with its initial state, or with the state that was saved when the user left it.
fn use_editor(key: &str, workflow: Option<(String, Definition)>) -> Editor {
    let (id, definition) = workflow.unzip();
    let draft = definition.as_ref().map_or_else(Draft::new, Draft::of);
    let name = definition.as_ref().map(|definition| definition.name.clone());
    let pane = TextPane::beside(draft, name);
    if let Some(definition) = definition {
        pane.begin(definition);
    }
    Effect::new(move |_| pane.follow_form());
    let kept = use_draft(
        key,
        move || kept::kept(draft, pane),
        move |text| kept::restore(draft, pane, text),
    );
    Editor {
        draft,
        pane,
        reader: use_reader(pane, id),
        errors: Errors::new(draft),
        address: use_address(),
        kept,
        warned: RwSignal::new(None),
        busy: RwSignal::new(false),
    }
}

/// The tabs, the graph, and the buttons.
fn editor(start: Start, save: Save) -> AnyView {
    let is_new = start.workflow.is_none();
    let editor = use_editor(&start.key, start.workflow);
    let Editor { draft, pane, reader, errors, address, kept, warned, busy } = editor;
    let tab = Memo::new(move |_| tab_of(TABS, &address.query("tab")));
    Effect::new(move |_| {
        if tab.get().is_empty() {
            reader.check_now();
        }
    });
    // A text that was just typed must be read before the workflow is saved.
    let wants_save = RwSignal::new(false);
    let send = use_save(editor, save);
    Effect::new(move |_| {
        if wants_save.get() && !pane.is_pending() {
            wants_save.set(false);
            untrack(|| send.run(()));
        }
    });
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if !busy.get_untracked() {
            errors.clear();
            reader.check_now();
            wants_save.set(true);
        }
    };
    let refused = live(move || match errors.sent() {
        Some(failure) => refusal(&failure),
        None => ().into_any(),
    });
    let is_busy = move || (busy.get() || wants_save.get()).to_string();
    view! {
        {live(move || warned.get().map_or_else(|| ().into_any(), |saved| with_warnings(&saved)))}
        <div hidden=move || warned.with(Option::is_some)>
        {kit::restored(kept, move || kept::lost(draft, pane))}
        {kit::tabs("Ways to edit", TABS)}
        <form class="editor-grid" on:submit=submit novalidate>
            <div class="editor-main" hidden=move || tab.get() != "">
                {unread_note(editor)}
                // While the text is being read, the fields are inert, because its content will replace theirs. The
                // note is outside, because inert content is not announced.
                <div class="editor-fields" inert=move || pane.is_pending()>
                    {workflow_fields(draft, errors, is_new)}
                    {cards::cards(draft, errors)}
                </div>
            </div>
            <div class="editor-main" hidden=move || tab.get() != "text">
                {text_view::text_view(pane, reader, Signal::derive(move || errors.graph()))}
            </div>
            <div class="editor-side">
                {picture::picture(draft, errors)}
                <div class="editor-save">
                    <div role="alert">{refused}</div>
                    <div class="form-foot">
                        <button type="submit" class="button button-primary" aria-disabled=is_busy>{start.action}</button>
                        <a class="button" href=start.back.path()>"Cancel"</a>
                    </div>
                </div>
            </div>
        </form>
        </div>
    }
    .into_any()
}

/// Sends the content of the editor, and shows the outcome.
fn use_save(editor: Editor, save: Save) -> Callback<()> {
    let (actor, once) = (use_actor(), use_once());
    let Editor { address, kept, warned, busy, .. } = editor;
    Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        let definition = match sendable(editor) {
            Ok(definition) => definition,
            Err(wrong) => return fail(editor, wrong),
        };
        busy.set(true);
        let (change, said) = save(definition, once.key());
        let sent = kept.sent();
        actor.send(change, move |outcome| {
            let is_left = busy.try_set(false).is_some();
            once.heard(&outcome);
            match outcome {
                Ok(saved) if saved.warnings.is_empty() || is_left => {
                    sent.forget();
                    actor.say(said);
                    if !is_left {
                        address.go(&Route::Workflow(saved.workflow.id).path());
                    }
                }
                Ok(saved) => {
                    sent.forget();
                    warned.set(Some(saved));
                }
                Err(wrong) if is_left => actor.complain(&wrong),
                Err(wrong) => fail(editor, wrong),
            }
        });
    })
}

/// The view that replaces the form if the server saved the workflow with warnings. Another change would have to begin
/// with the saved version.
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
fn sendable(editor: Editor) -> Result<Definition, Failure> {
    let Editor { pane, errors, address, .. } = editor;
    if let Some(wrong) = untrack(|| pane.refusal(address.query("tab") == "text")) {
        return Err(wrong);
    }
    let definition = untrack(|| pane.definition())?;
    if definition.tasks.is_empty() {
        return Err(Failure::of_field("tasks", "There is no task. Add one."));
    }
    errors.graph_failure().map_or(Ok(definition), Err)
}

/// Shows an error in its tab, and moves the focus to its field.
fn fail(editor: Editor, wrong: Failure) {
    let Editor { errors, address, .. } = editor;
    let tab = if wrong.field.as_deref() == Some("text") { "text" } else { "" };
    if wrong.field.is_some() && untrack(|| address.query("tab")) != tab {
        address.go(&address.with(&[("tab", tab)]));
    }
    errors.set(wrong);
    show_wrong_field();
}

/// The note above the form while the form does not have the content of the text.
fn unread_note(editor: Editor) -> AnyView {
    let Editor { pane, reader, address, .. } = editor;
    live(move || {
        let wrong = match pane.reading() {
            Reading::Read => return ().into_any(),
            Reading::Pending => {
                return view! { <p class="pause-note" role="status">"Reading the text."</p> }
                    .into_any();
            }
            Reading::Unreadable | Reading::Unanswered(_) => pane.refusal(false),
        };
        let message = wrong.map(|wrong| wrong.message).unwrap_or_default();
        let again = matches!(pane.reading(), Reading::Unanswered(_))
            .then(|| button(Look::Plain, None, "Check again", move || reader.check_now()));
        let show = move || address.go(&address.with(&[("tab", "text")]));
        view! {
            <p class="pause-note" role="status">
                <span>{format!("What you change here does not reach the text. {message}")}</span>
                {again}
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
