//! The budgets of tags: each figure with its limit, and a dialog that sets them.

use leptos::prelude::*;

use crate::{
    api::{self, settings::budget_input::HealthBudgetInput},
    components::{
        AsyncView, Field, Look, Mark, badge, button, heading, panel, silent_heading, table,
    },
    data::{Loading, use_load},
    model::{Budget, BudgetFigure, Failure},
    pages::{
        kit::{self, Asked, Change, empty, form, none, note, number, of, use_asked},
        ledger::LOST_FIRES,
        suggest,
    },
    route::{Route, Scope},
    state::{use_every, use_session},
    time::{duration, grouped, seconds},
};

/// What the dialog is about: a budget, or a new one in a namespace.
#[derive(Clone)]
struct Editing {
    namespace: String,
    budget: Option<Budget>,
}

/// The panel with the budgets of the namespaces whose health is shown.
pub(super) fn budgets() -> AnyView {
    let session = use_session();
    let here = kit::use_picked();
    let budgets = use_load(move || Some(api::settings::health_budgets(session.health_of())));
    let loading = budgets.loading;
    use_every(super::IN_ANY_CASE, move || loading.refresh());
    let (edit, remove) = (use_asked::<Editing>(), use_asked::<Budget>());
    let add = move || {
        let namespace = here.get();
        session.edits_in(&namespace).then(|| {
            let new = Editing { namespace, budget: None };
            button(Look::Plain, None, "New budget", edit.ask(&new))
        })
    };
    let nothing = || {
        empty(
            "No budget yet",
            "A budget limits what the schedules with a tag may miss, fail or delay. The tag's badge and /healthz?tag= follow it.",
        )
    };
    let content = view! {
        <AsyncView
            loading=loading
            what="the budgets"
            is_empty=Signal::derive(move || budgets.with(Vec::is_empty).unwrap_or_default())
            empty=nothing
        >
            {budgets.draw(move |budgets| list(budgets, edit, remove))}
        </AsyncView>
    };
    view! {
        <div class="health-budgets">{panel("Budgets by tag", add, content)}</div>
        {edit.dialog("Budget of a tag", move |editing| edit_form(&editing, edit, loading))}
        {remove.dialog("Remove budget", move |budget| remove_form(&budget, remove, loading))}
    }
    .into_any()
}

fn list(budgets: &[Budget], edit: Asked<Editing>, remove: Asked<Budget>) -> AnyView {
    let headings = vec![
        heading("Tag", ""),
        heading("State", ""),
        heading("Missed", ""),
        heading("Failed", ""),
        heading("Stalled", ""),
        heading("Late (99 %)", ""),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = budgets.iter().map(|budget| row(budget, edit, remove)).collect();
    table("Budgets by tag", "table", headings, rows.into_any())
}

fn row(budget: &Budget, edit: Asked<Editing>, remove: Asked<Budget>) -> AnyView {
    let is_editable = budget.module.is_none() && use_session().edits_in(&budget.namespace);
    let own = is_editable.then(|| {
        let editing = Editing { namespace: budget.namespace.clone(), budget: Some(budget.clone()) };
        view! {
            {button(Look::Plain, None, "Edit", edit.ask(&editing))}
            {button(Look::Danger, None, "Remove", remove.ask(budget))}
        }
        .into_any()
    });
    let home = Scope::One(budget.namespace.clone());
    let tagged = |more: &str| format!("tag:{}{more}", budget.tag);
    let range = if budget.span_minutes > 60 { "7d" } else { "24h" };
    let (all, recent) = (tagged(""), tagged(&format!(" finished:<{}m", budget.span_minutes)));
    let late = tagged(&format!(" late:>{}ms", budget.late.limit.unwrap_or(0)));
    let lost = format!("{LOST_FIRES} {all}");
    let missed = [("q", lost.as_str()), ("range", range)];
    let failed = [("state", "failed"), ("q", recent.as_str())];
    let span = format!("{} · {}", budget.namespace, seconds(budget.span_minutes * 60));
    let mark = Mark::Healthy(budget.healthy);
    let module = budget.module.as_ref().map(|module| note(format!("declared by {module}")));
    view! {
        <tr data-testid="budget-row" data-state=mark.state()>
            <th scope="row" class="name-cell">{budget.tag.clone()}{note(span)}{module}</th>
            <td>{badge(mark)}</td>
            <td>{figure(&budget.missed, grouped, Route::Ledger.narrowed_in(&home, &missed))}</td>
            <td>{figure(&budget.failed, grouped, Route::Runs.narrowed_in(&home, &failed))}</td>
            <td>
                {figure(
                    &budget.stalled,
                    grouped,
                    Route::Runs.narrowed_in(&home, &[("state", "live"), ("q", all.as_str())]),
                )}
            </td>
            <td>{figure(&budget.late, duration, Route::Runs.narrowed_in(&home, &[("q", late.as_str())]))}</td>
            <td class="actions-cell"><div class="row-actions">{own}</div></td>
        </tr>
    }
    .into_any()
}

/// A figure beside its limit, as a bar and in words; it leads to the fires or runs that it counts.
fn figure(figure: &BudgetFigure, words: fn(i64) -> String, href: String) -> AnyView {
    let Some(value) = figure.value else { return none() };
    let text = match figure.limit {
        Some(limit) => format!("{} of {}", words(value), words(limit)),
        None => format!("{}, no limit", words(value)),
    };
    let state = if figure.exceeded { "failed" } else { "running" };
    let bar = figure.limit.map(|limit| {
        let width = share(value, limit);
        view! {
            <svg viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="tally-ground" width="1000" height="6"></rect>
                <rect class="tally-part" data-state=state width=width height="6"></rect>
            </svg>
        }
        .into_any()
    });
    let of_server =
        (figure.own.is_none() && figure.limit.is_some()).then_some("The server's limit");
    let text = match value {
        0 => text.into_any(),
        _ => view! { <a href=href>{text}</a> }.into_any(),
    };
    view! { <span class="progress" title=of_server>{bar}<span class="cell-note">{text}</span></span> }
        .into_any()
}

/// How much of a limit is used, in thousandths of the bar. A limit of 0 is used up by any value.
fn share(value: i64, limit: i64) -> i64 {
    match limit {
        ..=0 if value > 0 => 1_000,
        ..=0 => 0,
        _ => value.clamp(0, limit) * 1_000 / limit,
    }
}

fn edit_form(editing: &Editing, edit: Asked<Editing>, loading: Loading) -> AnyView {
    let budget = editing.budget.as_ref();
    let text = |own: Option<i64>| RwSignal::new(own.map(|own| own.to_string()).unwrap_or_default());
    let missed = text(budget.and_then(|budget| budget.missed.own));
    let failed = text(budget.and_then(|budget| budget.failed.own));
    let stalled = text(budget.and_then(|budget| budget.stalled.own));
    let late = text(budget.and_then(|budget| budget.late.own));
    let span = RwSignal::new(budget.map_or(60, |budget| budget.span_minutes).to_string());
    let tag = RwSignal::new(budget.map(|budget| budget.tag.clone()).unwrap_or_default());
    let wrong = RwSignal::new(None);
    let namespace = editing.namespace.clone();
    let field = |id: &'static str, label: &'static str, value, name| {
        Field::new(id, label, value).kind("number").error(of(wrong, name))
    };
    // The budget of another tag is another budget, so an existing one keeps its tag.
    let named = match budget {
        None => {
            let field = Field::new("budget-tag", "Tag", tag).first().required();
            field.picks(suggest::tag()).error(of(wrong, "tag")).text()
        }
        Some(budget) => view! { <p>"Tag "<strong>{budget.tag.clone()}</strong></p> }.into_any(),
    };
    let fields = view! {
        <p class="muted">
            {format!("In the namespace {namespace}. A value may reach its limit. Empty: the server's limit applies.")}
        </p>
        {named}
        <div class="field-grid">
            {field("budget-missed", "Missed fires", missed, "limits.missed").text()}
            {field("budget-failed", "Failed runs", failed, "limits.failed").text()}
            {field("budget-stalled", "Stalled runs", stalled, "limits.stalled").text()}
            {field("budget-late", "Lateness in ms", late, "limits.lateMs")
                .hint("99 of 100 fires are not later. Empty: no limit.").text()}
            {field("budget-span", "Span in minutes", span, "limits.spanMinutes")
                .hint("Up to now: 1 to 1440.").text()}
        </div>
    };
    let plan = move |key| {
        let tag = tag.get_untracked().trim().to_owned();
        let limits = HealthBudgetInput {
            missed: optional("limits.missed", missed)?,
            failed: optional("limits.failed", failed)?,
            stalled: optional("limits.stalled", stalled)?,
            late_ms: optional("limits.lateMs", late)?,
            span_minutes: number("limits.spanMinutes", span)?,
        };
        let all = [limits.missed, limits.failed, limits.stalled, limits.late_ms];
        if all.iter().all(Option::is_none) {
            return Err(Failure::of_field("limits.missed", "Enter at least one limit."));
        }
        let said = format!("The budget of {tag} is set.");
        let ask = api::settings::set_health_budget(namespace.clone(), tag, limits, key);
        Ok(Change { ask, said })
    };
    let done = move |_| loading.reload();
    form(edit.open, (Look::Primary, "Set budget"), wrong, fields.into_any(), plan, done)
}

/// The whole number in a field that may be empty.
fn optional(field: &str, text: RwSignal<String>) -> Result<Option<i64>, Failure> {
    let is_empty = text.with_untracked(|text| text.trim().is_empty());
    if is_empty { Ok(None) } else { number(field, text).map(Some) }
}

fn remove_form(budget: &Budget, remove: Asked<Budget>, loading: Loading) -> AnyView {
    let (namespace, tag) = (budget.namespace.clone(), budget.tag.clone());
    let fields = view! {
        <p>"Removes the budget of the tag "<strong>{tag.clone()}</strong>". The server's limits apply to it again."</p>
    };
    let plan = move |key| {
        let said = format!("The budget of {tag} is removed.");
        let ask = api::settings::remove_health_budget(namespace.clone(), tag.clone(), key);
        Ok(Change { ask, said })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Remove"), RwSignal::new(None), fields.into_any(), plan, done)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_bar_is_full_at_the_limit_and_a_limit_of_nothing_is_used_up_by_anything() {
        assert_eq!([share(0, 0), share(1, 0), share(1, 4), share(9, 4)], [0, 1_000, 250, 1_000]);
    }
}
