//! Concurrency groups: the used slots of each limit, the runs that hold them, and the runs that
//! wait.

use std::time::Duration;

use leptos::prelude::*;

use super::kit::{
    self, Asked, Change, cut_note, empty, form, in_use, none, note, number, of, place_cell, placed,
    use_asked,
};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Field, Look, Mark, badge, button, heading, silent_heading, table,
        when_relative,
    },
    data::{Loading, use_load},
    model::{Group, GroupRun},
    route::{Route, Scope},
    state::{use_address, use_every, use_session, use_title},
    time::grouped,
};

const LOOK: Duration = Duration::from_secs(3);
/// The maximum number of runs that are listed: the oldest ones, which hold the slots or get the next ones.
const MAX_RUNS: usize = 100;

/// The list of groups.
#[component]
pub(crate) fn Groups() -> impl IntoView {
    use_title(|| "Groups".to_owned());
    let session = use_session();
    let address = use_address();
    let namespace = Memo::new(move |_| address.namespace());
    let groups = use_load(move || Some(api::planning::groups(namespace.get())));
    let loading = groups.loading;
    use_every(LOOK, move || loading.refresh());
    let new = RwSignal::new(false);
    let (look, change, remove) = (use_asked::<Group>(), use_asked::<Group>(), use_asked::<Group>());
    // A group is created in a single namespace, and the dialog has no field for it.
    let may_add = move || session.edits() && !address.is_across();
    kit::open_if_asked(new, Route::Groups, may_add);
    let add =
        move || may_add().then(|| button(Look::Primary, None, "New group", move || new.set(true)));
    let nothing = move || {
        if address.is_across() {
            empty(
                "No group yet",
                "Choose a namespace to create one: a limit that several of its schedules share.",
            )
        } else {
            empty(
                "No group yet",
                "A group is a limit that several schedules share: the maximum number of their runs at once.",
            )
        }
    };
    view! {
        <header class="page-head"><h1>"Groups"</h1><div class="actions">{move || add()}</div></header>
        <AsyncView
            loading=loading
            what="groups"
            is_empty=Signal::derive(move || groups.with(Vec::is_empty).unwrap_or_default())
            empty=nothing
        >
            {groups.draw(move |groups| list(groups, look, change, remove))}
        </AsyncView>
        <Dialog open=new title="New group">{new_form(new, namespace, loading)}</Dialog>
        {look.dialog("Holding and waiting runs", move |group| holders(&group))}
        {change.dialog("Change group", move |group| change_form(&group, change, loading))}
        {remove.dialog("Delete group", move |group| remove_form(&group, remove, loading))}
    }
}

fn list(
    groups: &[Group],
    look: Asked<Group>,
    change: Asked<Group>,
    remove: Asked<Group>,
) -> AnyView {
    let headings = vec![
        heading("Group", ""),
        heading("Slots used", ""),
        heading("Waiting", "number"),
        heading("Schedules", "number wide"),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = groups.iter().map(|group| row(group, look, change, remove)).collect();
    let table = table("Groups", "table", placed(headings, 1), rows.into_any());
    view! { {table}{cut_note(groups.len())} }.into_any()
}

fn row(group: &Group, look: Asked<Group>, change: Asked<Group>, remove: Asked<Group>) -> AnyView {
    let module = group.module.as_ref().map(|module| note(format!("declared by {module}")));
    let own = (use_session().edits_in(&group.namespace) && group.module.is_none()).then(|| {
        view! {
            {button(Look::Plain, None, "Change", change.ask(group))}
            {button(Look::Danger, None, "Delete", remove.ask(group))}
        }
        .into_any()
    });
    let (home, search) = (Scope::One(group.namespace.clone()), format!("group:\"{}\"", group.name));
    let schedules = Route::Schedules.narrowed_in(&home, &[("q", &search)]);
    let waiting = match group.waiting {
        0 => "0".into_any(),
        count => {
            let search = format!("{search} state:queued,retrying");
            let href = Route::Runs.narrowed_in(&home, &[("q", &search)]);
            view! { <a href=href>{grouped(count)}</a> }.into_any()
        }
    };
    view! {
        <tr data-testid="group-row">
            <th scope="row" class="name-cell">{group.name.clone()}{module}</th>
            {place_cell(&group.namespace)}
            <td>{slots(group.running, group.max_runs)}</td>
            <td class="number">{waiting}<span class="card-word">" waiting"</span></td>
            <td class="number wide"><a href=schedules>{grouped(group.schedules)}</a></td>
            <td class="actions-cell"><div class="row-actions">
                {button(Look::Plain, None, "Who", look.ask(group))}{own}
            </div></td>
        </tr>
    }
    .into_any()
}

/// The used slots as a bar, with both numbers.
fn slots(running: i64, most: i64) -> AnyView {
    let width = running.min(most) * 1_000 / most.max(1);
    let state = if running >= most { "retrying" } else { "running" };
    view! {
        <span class="progress">
            <svg viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="tally-ground" width="1000" height="6"></rect>
                <rect class="tally-part" data-state=state width=width height="6"></rect>
            </svg>
            <span class="cell-note">{format!("{running} of {most}")}</span>
        </span>
    }
    .into_any()
}

/// The live runs of a group: running ones hold slots, and the others wait in this order.
fn holders(group: &Group) -> AnyView {
    let namespace = group.namespace.clone();
    let name = group.name.replace('"', "\\\"");
    let search = format!("group:\"{name}\" state:queued,running,retrying");
    let all = Route::Runs.narrowed_in(&Scope::One(namespace.clone()), &[("q", &search)]);
    let all = StoredValue::new(all);
    let runs = use_load(move || Some(api::planning::group_runs(namespace.clone(), search.clone())));
    let loading = runs.loading;
    use_every(LOOK, move || loading.refresh());
    let most = group.max_runs;
    let home = StoredValue::new(group.namespace.clone());
    let draw = move |runs: &Vec<GroupRun>| {
        let (hold, wait): (Vec<_>, Vec<_>) =
            runs.iter().partition(|run| run.state == crate::model::RunState::Running);
        let mut wait = wait;
        wait.sort_by_key(|run| (-run.priority, run.created_at));
        let part = |words: String, runs: Vec<&GroupRun>| {
            let rows: Vec<_> =
                runs.into_iter().map(|run| home.with_value(|home| holder(run, home))).collect();
            view! { <h3>{words}</h3><ul class="plain-list">{rows}</ul> }.into_any()
        };
        let (holding, waiting) = (hold.len(), wait.len());
        let cut = (runs.len() >= MAX_RUNS).then(|| {
            let words = format!("The oldest {MAX_RUNS} are listed. ");
            view! { <p class="muted">{words}<a href=all.get_value()>"All live runs of the group"</a></p> }
                .into_any()
        });
        view! {
            {part(format!("Hold a slot: {holding} of {most}"), hold)}
            {part(format!("Wait: {waiting}"), wait)}
            {cut}
        }
        .into_any()
    };
    view! {
        <div class="dialog-body">
            <AsyncView
                loading=loading
                what="runs"
                is_empty=Signal::derive(move || runs.with(Vec::is_empty).unwrap_or_default())
                empty=|| empty("Nothing holds a slot", "No run of this group is running or waiting.")
            >
                {runs.draw(draw)}
            </AsyncView>
        </div>
    }
    .into_any()
}

fn holder(run: &GroupRun, namespace: &str) -> AnyView {
    let href = Route::Run(run.id.clone()).path_at(namespace);
    let since =
        run.started_at.or(Some(run.created_at)).map_or_else(none, |at| when_relative(at, None));
    let why: Vec<String> = run.waits_for.iter().map(|wait| wait.text.clone()).collect();
    view! {
        <li>
            <a href=href>{run.title().to_owned()}</a>" "{badge(Mark::Run(run.state))}" "{since}
            {(!why.is_empty()).then(|| note(why.join("; ")))}
        </li>
    }
    .into_any()
}

fn new_form(open: RwSignal<bool>, namespace: Memo<String>, loading: Loading) -> AnyView {
    let (name, most) = (RwSignal::new(String::new()), RwSignal::new("1".to_owned()));
    let wrong = RwSignal::new(None);
    let plan = move |key| {
        let name = name.get_untracked().trim().to_owned();
        let said = format!("{name} is created: select it in a schedule's form.");
        let most = number("maxRuns", most)?;
        let ask = api::planning::create_group(namespace.get_untracked(), name, most, key);
        Ok(Change { ask, said })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, "Create group"), wrong, fields(name, most, wrong), plan, done)
}

fn change_form(group: &Group, change: Asked<Group>, loading: Loading) -> AnyView {
    let name = RwSignal::new(group.name.clone());
    let most = RwSignal::new(group.max_runs.to_string());
    let wrong = RwSignal::new(None);
    let (id, version, running) = (group.id.clone(), group.version, group.running);
    let impact = move || {
        let most = most.get().trim().parse::<i64>().unwrap_or(running);
        (most < running).then(|| {
            format!(
                "{} runs over the limit continue; no other starts until a slot is free.",
                running - most
            )
        })
    };
    let all = view! {
        {fields(name, most, wrong)}
        <p class="muted" aria-live="polite">{move || impact()}</p>
    };
    let plan = move |_| {
        let name = name.get_untracked().trim().to_owned();
        let said = format!("{name} is changed.");
        let most = number("maxRuns", most)?;
        Ok(Change { ask: api::planning::update_group(id.clone(), version, name, most), said })
    };
    let done = move |_| loading.reload();
    form(change.open, (Look::Primary, "Change group"), wrong, all.into_any(), plan, done)
}

fn fields(name: RwSignal<String>, most: RwSignal<String>, wrong: kit::Wrong) -> AnyView {
    view! {
        {Field::new("group-name", "Name", name).first().required().error(of(wrong, "name")).text()}
        {Field::new("group-max", "Runs at once", most).kind("number").error(of(wrong, "maxRuns"))
            .hint("1 to 10000, across all schedules that use it.").text()}
    }
    .into_any()
}

fn remove_form(group: &Group, remove: Asked<Group>, loading: Loading) -> AnyView {
    let (id, name) = (group.id.clone(), group.name.clone());
    let impact = in_use(group.schedules, "uses", "use");
    let fields = view! { <p>"Deletes the group "<strong>{name.clone()}</strong>". "{impact}</p> };
    let plan = move |_| {
        Ok(Change {
            ask: api::planning::delete_group(id.clone()),
            said: format!("{name} is deleted."),
        })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Delete"), RwSignal::new(None), fields.into_any(), plan, done)
}
