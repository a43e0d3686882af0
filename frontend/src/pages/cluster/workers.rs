//! Worker programs, and the queues from which they pull jobs.

use leptos::prelude::*;

use crate::{
    api,
    components::{
        AsyncView, Field, Glyph, Look, button, empty, heading, icon, live, panel, silent_heading,
        table, when_relative,
    },
    data::{Loading, use_load},
    model::{Pulling, WorkerProgram, WorkerQueue},
    pages::kit::{self, Asked, Change, form, none, note, number, of, use_asked},
    state::{use_every, use_session},
};

/// The queues and the workers of the address's namespace.
#[component]
pub(super) fn Workers() -> impl IntoView {
    let namespace = kit::use_picked();
    view! {
        <div class="cluster-workers">
            {kit::picker("Workers and their queues of", namespace)}
            // The rows of another namespace must not stay, because a dialog could then limit a
            // queue of the same name here.
            {live(move || pulled(namespace.get()))}
        </div>
    }
}

/// The queues and the workers of one namespace.
fn pulled(namespace: String) -> AnyView {
    let asked = namespace.clone();
    let pulling = use_load(move || Some(api::workers::workers(asked.clone())));
    let loading = pulling.loading;
    use_every(super::IN_ANY_CASE, move || loading.refresh());
    let limit = use_asked::<WorkerQueue>();
    let session = use_session();
    let is_empty =
        move || pulling.with(|all| all.workers.is_empty() && all.worker_queues.is_empty());
    let limited = namespace.clone();
    let shown = move || {
        let namespace = namespace.clone();
        pulling.draw(move |all| tables(all, limit, session.edits_in(&namespace)))
    };
    view! {
        <AsyncView
            loading=loading
            what="the workers"
            is_empty=Signal::derive(move || is_empty().unwrap_or_default())
            empty=|| panel("Workers", (), nothing())
        >
            {shown()}
        </AsyncView>
        {limit.dialog("Limit the queue", move |queue| limit_form(&queue, &limited, limit, loading))}
    }
    .into_any()
}

/// The view without workers and queues.
fn nothing() -> AnyView {
    let words = "A worker is a program of yours that pulls tasks from a queue. There are libraries for Python, TypeScript \
                 and Rust.";
    // The documentation opens in another tab beside the console.
    let guide = view! { <a href="/docs/workers.html" target="_blank" rel="noopener">"How to write a worker"</a> };
    empty("No worker yet", words, guide)
}

fn tables(all: &Pulling, limit: Asked<WorkerQueue>, may_limit: bool) -> AnyView {
    let queues = vec![
        heading("Queue", ""),
        heading("Waiting", "number"),
        heading("Oldest", "wide"),
        heading("Working on", "number"),
        heading("Workers", "number"),
        heading("Free", "number wide"),
        silent_heading("Actions"),
    ];
    let workers = vec![
        heading("Worker", ""),
        heading("Jobs", "number"),
        heading("Queues", "wide"),
        heading("Heard", "number"),
        heading("Version", "wide"),
    ];
    let limit = may_limit.then_some(limit);
    let rows: Vec<_> = all.worker_queues.iter().map(|queue| queue_row(queue, limit)).collect();
    let programs: Vec<_> = all.workers.iter().map(worker_row).collect();
    let queues = table("Queues", "table", queues, rows.into_any());
    let workers = (!programs.is_empty()).then(|| {
        let workers = table("Worker programs", "table", workers, programs.into_any());
        panel("Workers", (), workers)
    });
    view! { <div class="cluster">{panel("Queues of workers", (), queues)}{workers}</div> }
        .into_any()
}

/// A row for a queue. `limit` is the dialog that limits the queue, if the user may do that.
fn queue_row(queue: &WorkerQueue, limit: Option<Asked<WorkerQueue>>) -> AnyView {
    let alone = queue.is_unserved().then(|| {
        view! {
            <span class="cell-note">{icon(Glyph::Alert)}"no worker pulls from it"</span>
        }
        .into_any()
    });
    let oldest = queue.waiting_since.map_or_else(none, |at| when_relative(at, None));
    let held = match queue.max_jobs {
        Some(most) => format!("{} of {most}", queue.held),
        None => queue.held.to_string(),
    };
    let own = limit.map(|limit| button(Look::Plain, None, "Limit", limit.ask(queue)));
    view! {
        <tr data-testid="queue-row">
            <th scope="row" class="name-cell">{queue.name.clone()}{alone}</th>
            <td class="number">{queue.waiting}<span class="card-word">" waiting"</span></td>
            <td class="wide">{oldest}</td>
            <td class="number">{held}<span class="card-word">" in progress"</span></td>
            <td class="number">{queue.workers}<span class="card-word">" workers"</span></td>
            <td class="number wide">{queue.free}</td>
            <td class="actions-cell"><div class="row-actions">{own}</div></td>
        </tr>
    }
    .into_any()
}

fn worker_row(worker: &WorkerProgram) -> AnyView {
    let tags = (!worker.tags.is_empty()).then(|| {
        let tag = |tag: &String| view! { <span class="tag">{tag.clone()}</span> }.into_any();
        view! { <span class="tags">{worker.tags.iter().map(tag).collect::<Vec<_>>()}</span> }
    });
    let draining = worker.draining.then(|| note("takes no new jobs".to_owned()));
    let version = match worker.version.is_empty() {
        true => worker.client.clone(),
        false => format!("{} · {}", worker.version, worker.client),
    };
    let since = format!("registered {}", worker.registered_at.to_rfc3339());
    view! {
        <tr data-testid="worker-row">
            <th scope="row" class="name-cell">
                <span title=since>{worker.name.clone()}</span>{tags}{draining}
            </th>
            <td class="number">{super::members::meter(worker.jobs, worker.capacity, "jobs")}</td>
            <td class="wide">{worker.queues.join(", ")}</td>
            <td class="number">{when_relative(worker.heartbeat_at, None)}</td>
            <td class="wide">{version}</td>
        </tr>
    }
    .into_any()
}

fn limit_form(
    queue: &WorkerQueue,
    namespace: &str,
    limit: Asked<WorkerQueue>,
    loading: Loading,
) -> AnyView {
    let most = RwSignal::new(queue.max_jobs.map(|most| most.to_string()).unwrap_or_default());
    let wrong = RwSignal::new(None);
    let (name, namespace) = (queue.name.clone(), namespace.to_owned());
    let fields = view! {
        {Field::new("queue-max", "Jobs at once", most).first().error(of(wrong, "maxJobs"))
            .hint("1 to 10000, across all workers. Empty: no limit. Jobs over the limit continue.")
            .text()}
    };
    let plan = move |_| {
        let no_limit = most.with_untracked(|text| text.trim().is_empty());
        let max_jobs = if no_limit { None } else { Some(number("maxJobs", most)?) };
        let said = match max_jobs {
            Some(most) => format!("Workers run at most {most} jobs of {name} at once."),
            None => format!("{name} no longer has a limit."),
        };
        let ask = api::workers::limit_queue(namespace.clone(), name.clone(), max_jobs);
        Ok(Change { ask, said })
    };
    let done = move |_| loading.reload();
    form(limit.open, (Look::Primary, "Limit"), wrong, fields.into_any(), plan, done)
}
