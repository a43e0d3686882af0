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
//! - `saving`: sends the workflow

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
pub(in crate::pages) mod saving;
mod text;
pub(in crate::pages) mod text_view;
mod usual;
mod yaml;

use leptos::{ev::SubmitEvent, prelude::*};

use self::{
    definition::Definition,
    draft::Draft,
    errors::Errors,
    text::{Reading, TextPane},
};
use crate::{
    api,
    components::{AsyncView, Field, Look, PageHead, Tab, button, is_id, live, tab_of},
    data::use_load,
    model::{SavedWorkflow, WorkflowDefinition},
    pages::{NotFound, kit, parts},
    route::Route,
    state::{Address, Draft as KeptDraft, use_address, use_draft, use_title},
};

/// What is named if its code cannot be loaded.
const PART: &str = "part of the form";

const TABS: &[Tab] = &[Tab { name: "", words: "Form" }, Tab { name: "text", words: "Text" }];

/// The purpose of an editor.
#[derive(Clone, Copy)]
enum Purpose {
    /// Creates a workflow in this namespace.
    Create(Memo<String>),
    /// Changes the version that was read, so that a newer one is a conflict and is not overwritten.
    Change(StoredValue<Edited>),
}

/// The workflow that is edited.
struct Edited {
    id: String,
    version: i64,
    name: String,
}

impl Purpose {
    fn workflow_id(self) -> Option<String> {
        match self {
            Self::Create(_) => None,
            Self::Change(edited) => Some(edited.with_value(|edited| edited.id.clone())),
        }
    }
}

/// The initial state of an editor.
struct Start {
    /// The key of the editor's draft.
    key: String,
    purpose: Purpose,
    /// The definition of the workflow that is edited.
    definition: Option<Definition>,
    action: &'static str,
    back: Route,
}

/// The page of a new workflow.
#[component]
pub(crate) fn NewWorkflow() -> impl IntoView {
    use_title(|| "New workflow".to_owned());
    let start = Start {
        key: "workflow.new".to_owned(),
        purpose: Purpose::Create(kit::use_namespace()),
        definition: None,
        action: "Create workflow",
        back: Route::Workflows,
    };
    view! {
        {PageHead::new("New workflow").view()}
        {editor(start)}
    }
}

/// The page that edits the workflow with this id. A malformed id is not sent to the server.
#[component]
pub(crate) fn EditWorkflow(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    use_title(|| "Edit workflow".to_owned());
    let load = use_load(move || Some(api::planning::workflow_definition(id.clone())));
    view! {
        <AsyncView loading=load.loading what="the workflow">
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
        purpose: Purpose::Change(StoredValue::new(Edited { id, version, name })),
        definition: Some(Definition::of(before)),
        action: "Save changes",
        back,
    };
    view! { {head}{editor(start)} }.into_any()
}

/// The form and the text of a workflow, and the graph of its tasks. A copy contains the same handles.
#[derive(Clone, Copy)]
pub(in crate::pages) struct Editor {
    purpose: Purpose,
    draft: Draft,
    pane: TextPane,
    errors: Errors,
    address: Address,
    kept: KeptDraft,
    /// A workflow that was saved with warnings from the server.
    warned: RwSignal<Option<SavedWorkflow>>,
    /// Whether the workflow is to be sent once its text has been read.
    wants_save: RwSignal<bool>,
    /// Whether it is being sent.
    busy: RwSignal<bool>,
}

/// The editor with its initial state, or with the state that was saved when the user left it.
fn use_editor(key: &str, purpose: Purpose, definition: Option<Definition>) -> Editor {
    let draft = definition.as_ref().map_or_else(Draft::new, Draft::of);
    let name = definition.as_ref().map(|definition| definition.name.clone());
    let pane = TextPane::beside(draft, name);
    if let Some(definition) = definition {
        pane.begin(definition);
    }
    let kept = use_draft(
        key,
        move || kept::kept(draft, pane),
        move |text| kept::restore(draft, pane, text),
    );
    Editor {
        purpose,
        draft,
        pane,
        errors: Errors::new(draft),
        address: use_address(),
        kept,
        warned: RwSignal::new(None),
        wants_save: RwSignal::new(false),
        busy: RwSignal::new(false),
    }
}

/// The tabs, the graph, and the buttons.
fn editor(start: Start) -> AnyView {
    let is_new = start.definition.is_none();
    let editor = use_editor(&start.key, start.purpose, start.definition);
    let Editor { draft, pane, errors, address, kept, warned, wants_save, busy, .. } = editor;
    let tab = Memo::new(move |_| tab_of(TABS, &address.query("tab")));
    Effect::new(move |_| {
        if tab.get().is_empty() {
            pane.check_now();
        }
    });
    // The code of the text is loaded with its tab, or if there is a text to read.
    let has_text = Memo::new(move |before: Option<&bool>| {
        before == Some(&true) || tab.get() == "text" || pane.reading() != Reading::Read
    });
    let text = live(move || match has_text.get() {
        true => parts::workflow_text(editor).show(PART),
        false => ().into_any(),
    });
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if !busy.get_untracked() {
            errors.clear();
            pane.check_now();
            wants_save.set(true);
        }
    };
    // The code that sends the workflow is loaded when the user first saves, and then sends it.
    let is_asked =
        Memo::new(move |before: Option<&bool>| before == Some(&true) || wants_save.get());
    let saver = live(move || match is_asked.get() {
        true => parts::saved_workflow(editor).show(PART),
        false => ().into_any(),
    });
    let is_warned = Memo::new(move |_| warned.with(Option::is_some));
    let warnings = live(move || match is_warned.get() {
        true => parts::workflow_warnings(warned).show(PART),
        false => ().into_any(),
    });
    let is_busy = move || (busy.get() || wants_save.get()).to_string();
    view! {
        {warnings}
        <div hidden=move || is_warned.get()>
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
            <div class="editor-main" hidden=move || tab.get() != "text">{text}</div>
            <div class="editor-side">
                {picture::picture(draft, errors)}
                <div class="editor-save">
                    <div role="alert">{saver}</div>
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

/// The note above the form while the form does not have the content of the text.
fn unread_note(editor: Editor) -> AnyView {
    let Editor { pane, address, .. } = editor;
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
            .then(|| button(Look::Plain, None, "Check again", move || pane.check_now()));
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
