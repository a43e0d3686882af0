//! One workflow.

use leptos::prelude::*;

use super::{
    super::{
        NotFound,
        kit::{
            self, Asked, Change, copy_button, form, in_use, none, note, use_asked,
            use_first_version, version_pager,
        },
    },
    changes::{Line, between},
};
use crate::{
    api,
    components::{
        AsyncView, DagNode, DagView, Glyph, Look, Tab, button, dag, fact, heading, icon, is_id,
        live, panel, save_text, table, use_dag_view, when,
    },
    data::{Load, use_load},
    model::{self, Page, ScheduleName, Step, Target, TaskCondition, WorkflowVersion},
    route::Route,
    state::{use_address, use_every, use_session, use_title},
    time::{amount, decimal, grouped, seconds},
};

const TABS: &[Tab] = &[
    Tab { name: "", words: "Tasks" },
    Tab { name: "yaml", words: "YAML" },
    Tab { name: "versions", words: "Versions" },
];
/// Maximum length of a text that is compared line by line, in lines.
const MAX_LINES: usize = 2_000;
/// Number of versions on a page.
const SIZE: usize = 20;

/// The page of one workflow. A malformed id is not sent to the server.
#[component]
pub(crate) fn Workflow(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    let address = use_address();
    let workflow = use_load(move || Some(api::planning::workflow(id.clone())));
    kit::settle(workflow, |workflow| &workflow.namespace);
    // A colleague or a deployment may change it meanwhile.
    use_every(super::LOOK, move || workflow.loading.refresh());
    let namespace = Memo::new(move |_| workflow.with(|workflow| workflow.namespace.clone()));
    use_title(move || workflow.with(|w| w.name.clone()).unwrap_or_else(|| "Workflow".to_owned()));
    let name = Memo::new(move |_| workflow.with(|workflow| workflow.name.clone()));
    let users = use_load(move || {
        Some(api::planning::schedule_names(namespace.get()?, None, Some(name.get()?)))
    });
    let remove = use_asked::<model::Workflow>();
    let tab = Memo::new(move |_| address.query("tab"));
    let (look, chosen) = (use_dag_view(), RwSignal::new(String::new()));
    let content = move || match tab.get().as_str() {
        "yaml" => workflow.draw(file),
        "versions" => versions(workflow),
        _ => workflow.draw(move |workflow| tasks(workflow, look, chosen)),
    };
    view! {
        <AsyncView loading=workflow.loading what="the workflow">
            {workflow.draw(move |workflow| head(workflow, remove))}
            {kit::tabs("Parts of the workflow", TABS)}
            <div class="run-grid">
                <div class="run-main">{live(content)}</div>
                <div class="run-side">{workflow.draw(facts)}{used_by(users, name)}</div>
            </div>
        </AsyncView>
        {remove.dialog("Delete workflow", move |row| remove_form(&row, remove, users))}
    }
}

fn head(workflow: &model::Workflow, remove: Asked<model::Workflow>) -> AnyView {
    let may_change = use_session().edits() && workflow.module.is_none();
    let edit = may_change.then(|| {
        let href = Route::EditWorkflow(workflow.id.clone()).path();
        view! { <a class="button" href=href>{icon(Glyph::Edit)}"Edit"</a> }.into_any()
    });
    let delete = may_change.then(|| button(Look::Danger, None, "Delete", remove.ask(workflow)));
    view! {
        <header class="page-head">
            <h1>{workflow.name.clone()}</h1>
            <div class="actions">{edit}{delete}</div>
        </header>
    }
    .into_any()
}

/// The graph, if there is one, and the tasks. Selecting a task in the graph marks its line.
fn tasks(workflow: &model::Workflow, look: DagView, chosen: RwSignal<String>) -> AnyView {
    let nodes: Vec<DagNode> = workflow.tasks.iter().map(node).collect();
    let choose = Callback::new(move |name| chosen.set(name));
    let graph = (nodes.len() > 1).then(|| {
        let drawing = live(move || dag(&nodes, &chosen.get(), choose, look));
        panel("Graph", (), drawing)
    });
    let headings = vec![
        heading("Task", ""),
        heading("Does", ""),
        heading("After", ""),
        heading("Limits", "wide"),
    ];
    let rows: Vec<_> = workflow.tasks.iter().map(|step| task(step, chosen)).collect();
    let list = panel("Tasks", copies(workflow), table("Tasks", "table", headings, rows.into_any()));
    view! { {graph}{list} }.into_any()
}

/// Buttons that copy and download the definition.
fn copies(workflow: &model::Workflow) -> AnyView {
    let Some(text) = workflow.yaml.clone() else { return ().into_any() };
    let file = format!("{}.yaml", workflow.name.replace('/', "-"));
    let copy = copy_button("Copy as YAML", text.clone());
    let download = move || save_text(&file, "application/yaml", &text);
    view! {
        <div class="actions">
            {copy}
            {button(Look::Plain, None, "Download", download)}
        </div>
    }
    .into_any()
}

fn node(step: &Step) -> DagNode {
    DagNode {
        name: step.name.clone(),
        state: "",
        word: step.target.kind_word().to_owned(),
        needs: step.needs.clone(),
    }
}

fn task(step: &Step, chosen: RwSignal<String>) -> AnyView {
    let does = match &step.target {
        Target::Http(http) => format!("{} {}", http.method, http.url),
        Target::Command(command) => match (&command.script, &command.program) {
            (Some(script), _) => script.lines().next().unwrap_or_default().to_owned(),
            (None, Some(program)) => format!("{program} {}", command.args.join(" ")),
            (None, None) => String::new(),
        },
        Target::Publish(publish) => format!("publishes to {}", publish.place()),
        Target::Worker(worker) => format!("{} by a worker of {}", worker.task, worker.queue),
        Target::Noop(_) => "nothing, a rehearsal".to_owned(),
    };
    let when = match step.when {
        TaskCondition::Success => None,
        TaskCondition::Failure => Some(note("if one of them failed")),
        TaskCondition::Always => Some(note("however they ended")),
    };
    let after = if step.needs.is_empty() { none() } else { step.needs.join(", ").into_any() };
    let mut limits = vec![format!("{} s", decimal(step.timeout_seconds))];
    if step.retry.max_attempts > 1 {
        limits.push(format!("{} attempts", step.retry.max_attempts));
    }
    if step.allow_failure {
        limits.push("may fail".to_owned());
    }
    let name = step.name.clone();
    let is_chosen = move || chosen.with(|chosen| *chosen == name).then_some("true");
    view! {
        <tr data-chosen=is_chosen>
            <th scope="row" class="name-cell">{step.name.clone()}</th>
            <td class="why-cell"><code>{does}</code></td>
            <td>{after}{when}</td>
            <td class="wide">{limits.join(", ")}</td>
        </tr>
    }
    .into_any()
}

fn file(workflow: &model::Workflow) -> AnyView {
    let content = match workflow.yaml.clone() {
        Some(text) => view! {
            <p class="muted">"It belongs under workflows: in the file. Secrets are masked; deploying a mask keeps the stored secret."</p>
            <pre class="source" tabindex="0" role="region" aria-label="The workflow as YAML">{text}</pre>
        }
        .into_any(),
        None => too_large(),
    };
    panel("As in a module file", copies(workflow), content)
}

fn too_large() -> AnyView {
    view! { <p class="muted">"It is larger than a module file may be, and is not shown as text."</p> }
        .into_any()
}

/// The versions, newest first, one page at a time.
fn versions(workflow: Load<model::Workflow>) -> AnyView {
    let address = use_address();
    let first = use_first_version(address);
    // A new version makes the page load again.
    let current =
        Memo::new(move |_| workflow.with(|workflow| (workflow.id.clone(), workflow.version)));
    let page: Load<Vec<WorkflowVersion>> = use_load(move || {
        let (id, _) = current.get()?;
        // One more than is listed: the last one is compared with it.
        Some(api::planning::workflow_versions(id, first.get(), SIZE + 1))
    });
    let newest = move || current.get().map(|(_, version)| version);
    let older = move || page.with(|all| all.get(SIZE).map(|next| next.version)).flatten();
    let content = view! {
        <AsyncView loading=page.loading what="the versions">
            {page.draw(|all: &Vec<WorkflowVersion>| compared(all))}
        </AsyncView>
        {version_pager(address, first, newest, SIZE, older)}
    };
    panel("Versions", (), content.into_any())
}

/// The versions of a page, each compared with the one before it.
fn compared(all: &[WorkflowVersion]) -> AnyView {
    let part = |(place, version): (usize, &WorkflowVersion)| {
        let before = all.get(place + 1).map(|before| before.yaml.as_deref());
        let shown = match (before, version.yaml.as_deref()) {
            (Some(Some(before)), Some(after)) => diff(before, after),
            (Some(_), _) => too_large(),
            (None, _) => {
                view! { <p class="muted">"The oldest version that is kept."</p> }.into_any()
            }
        };
        view! {
            <details class="version" open={place == 0}>
                <summary>{format!("Version {} by {}, ", version.version, version.by)}{when(version.at, None)}</summary>
                {shown}
            </details>
        }
        .into_any()
    };
    let parts: Vec<_> = all.iter().enumerate().take(SIZE).map(part).collect();
    parts.into_any()
}

/// The changed lines, with some context.
fn diff(before: &str, after: &str) -> AnyView {
    if [before, after].iter().any(|text| text.lines().count() > MAX_LINES) {
        return view! { <p class="muted">"It is too long to be compared here."</p> }.into_any();
    }
    let lines = between(before, after);
    if lines.iter().all(|line| matches!(line, Line::Same(_))) {
        return view! { <p class="muted">"Nothing changed that is shown: only a masked secret did."</p> }
            .into_any();
    }
    let line = |line: Line<'_>| {
        let (kind, mark, text) = match line {
            Line::Same(text) => ("same", "  ", text),
            Line::Gone(text) => ("gone", "- ", text),
            Line::New(text) => ("new", "+ ", text),
        };
        view! { <span class="diff-line" data-kind=kind>{format!("{mark}{text}\n")}</span> }
            .into_any()
    };
    let lines: Vec<_> = lines.into_iter().map(line).collect();
    view! { <pre class="source" tabindex="0" role="region" aria-label="What changed">{lines}</pre> }
        .into_any()
}

fn facts(workflow: &model::Workflow) -> AnyView {
    let limit = workflow
        .timeout_seconds
        .map_or_else(|| "only the tasks' own".to_owned(), |limit| seconds(limit as i64));
    let nodes =
        if workflow.runs_on.is_empty() { "any".to_owned() } else { workflow.runs_on.join(", ") };
    let content = view! {
        <dl class="facts">
            {fact("Version", workflow.version)}
            {workflow.module.clone().map(|module| {
                let href = Route::module(&module).path();
                fact("Module", view! { <a href=href>{module}</a> })
            })}
            {fact("Limit", limit)}
            {fact("At once", amount(workflow.max_parallel, "task", "tasks"))}
            {fact("Nodes", nodes)}
            {fact("Changed", when(workflow.updated_at, None))}
            {fact("Created", when(workflow.created_at, None))}
        </dl>
    };
    panel("Facts", (), content.into_any())
}

fn used_by(users: Load<Page<ScheduleName>>, name: Memo<Option<String>>) -> AnyView {
    let list = move |page: &Page<ScheduleName>| {
        if page.rows.is_empty() {
            return view! { <p class="muted">"No schedule runs it."</p> }.into_any();
        }
        let one = |row: &std::sync::Arc<ScheduleName>| {
            let href = Route::Schedule(row.id.clone()).path();
            view! { <li><a href=href>{row.name.clone()}</a></li> }.into_any()
        };
        let rows: Vec<_> = page.rows.iter().map(one).collect();
        let more = page.total.unwrap_or_default() - rows.len() as i64;
        let more = (more > 0).then(|| {
            let search = format!("workflow:\"{}\"", name.get_untracked().unwrap_or_default());
            let href = Route::Schedules.narrowed(&[("q", &search)]);
            view! { <li><a href=href>{format!("and {} more", grouped(more))}</a></li> }.into_any()
        });
        view! { <ul class="plain-list">{rows}{more}</ul> }.into_any()
    };
    let content = view! {
        <AsyncView loading=users.loading what="the schedules that run it">{users.draw(list)}</AsyncView>
    };
    panel("Used by", (), content.into_any())
}

fn remove_form(
    workflow: &model::Workflow,
    remove: Asked<model::Workflow>,
    users: Load<Page<ScheduleName>>,
) -> AnyView {
    let address = use_address();
    let (id, name, version) = (workflow.id.clone(), workflow.name.clone(), workflow.version);
    // The schedules may not be loaded yet.
    let impact = move || {
        let total = users.with(|page| page.total.unwrap_or(page.rows.len() as i64));
        total.map(|total| in_use(total, "runs", "run"))
    };
    let fields = view! {
        <p>"Deletes the workflow "<strong>{name.clone()}</strong>". "{move || impact()}" Live runs continue to their end, and its history is kept."</p>
    };
    let plan = move |_| {
        let ask = api::planning::delete_workflow(id.clone(), version);
        Ok(Change { ask, said: format!("{name} is deleted.") })
    };
    let done = move |_| address.go(&Route::Workflows.path());
    form(remove.open, (Look::Danger, "Delete"), RwSignal::new(None), fields.into_any(), plan, done)
}
