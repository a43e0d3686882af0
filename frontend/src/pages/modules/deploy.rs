//! Deploys a module file. The page first shows the effect, key by key and fire by fire. A file can only be deployed
//! if it was planned in exactly this form.

use leptos::{ev::SubmitEvent, prelude::*};

use super::detail::fields;
use crate::{
    api,
    components::{
        AsyncView, Field, Look, Mark, badge, button, heading, live, panel, table, warning_list,
    },
    data::{Load, use_actor, use_load, use_once},
    model::{ChangeAction, Failure, Plan, PlannedChange},
    pages::{
        calendars::effect_of,
        kit::{KeptFields, KeptForm, check, note, of},
        task_form::reveals_nothing,
    },
    route::Route,
    state::{use_address, use_title},
    time::amount,
};

/// A file with the two options of a deployment.
#[derive(Clone, Debug, PartialEq)]
struct Order {
    source: String,
    prune: bool,
    adopt: bool,
}

/// The page that deploys a module.
#[component]
pub(crate) fn DeployModule() -> impl IntoView {
    use_title(|| "Plan a file".to_owned());
    let source = RwSignal::new(String::new());
    let (prune, adopt) = (RwSignal::new(true), RwSignal::new(false));
    let reason = RwSignal::new(String::new());
    // The file itself says in which namespace it is deployed.
    let kept = KeptFields::new()
        .with_guarded("source", "file", source, may_keep)
        .with("prune", prune)
        .with("adopt", adopt)
        .with("reason", reason)
        .keep("module");
    let planned = RwSignal::new(None::<Order>);
    let wrong = RwSignal::new(None::<Failure>);
    let plan = use_load(move || {
        let Order { source, prune, adopt } = planned.get()?;
        Some(api::planning::plan(source, prune, adopt))
    });
    let order = move || Order { source: source.get(), prune: prune.get(), adopt: adopt.get() };
    // A file that was changed after planning must be planned again.
    let is_planned = Memo::new(move |_| planned.get().is_some_and(|planned| planned == order()));
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        wrong.set(None);
        let order = untrack(order);
        if order.source.trim().is_empty() {
            return wrong.set(Some(Failure::of_field("source", "Paste a module file.")));
        }
        if planned.with_untracked(|planned| planned.as_ref() == Some(&order)) {
            plan.loading.reload();
        } else {
            planned.set(Some(order));
        }
    };
    view! {
        <header class="page-head"><h1>"Plan a file"</h1></header>
        {kept.note()}
        <div class="form-grid">
            <form class="form-main" on:submit=submit novalidate>
                <fieldset class="panel form-section">
                    <legend>"The file"</legend>
                    {Field::new("source", "YAML or JSON", source).code().first().error(of(wrong, "source")).area(22)}
                    {check("prune", "Delete what the module declared before and no longer does", prune, "")}
                    {check("adopt", "Take over what was created by hand under the same names", adopt, "")}
                    {Field::new("deploy-reason", "Reason (optional)", reason)
                        .hint("Kept in the audit log.").text()}
                </fieldset>
                <p class="form-foot">
                    <button type="submit" class="button button-primary">"Plan"</button>
                    <a class="button" href=Route::Modules.path()>"Cancel"</a>
                </p>
            </form>
            <div class="form-side">{result(plan, planned, is_planned, reason, kept)}</div>
        </div>
    }
}

/// Whether a file may be kept. Not if it declares channels: their addresses and keys are credentials, too.
fn may_keep(file: &str) -> bool {
    reveals_nothing(file) && !file.contains("alert_channels")
}

fn result(
    plan: Load<Plan>,
    planned: RwSignal<Option<Order>>,
    is_planned: Memo<bool>,
    reason: RwSignal<String>,
    kept: KeptForm,
) -> AnyView {
    let (actor, address, once) = (use_actor(), use_address(), use_once());
    let busy = RwSignal::new(false);
    let deploy = move || {
        let Some(Order { source, prune, adopt }) = planned.get_untracked() else { return };
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        let sent = kept.sent();
        let reason = reason.get_untracked().trim().to_owned();
        let reason = Some(reason).filter(|reason| !reason.is_empty());
        let ask = api::planning::deploy(source, prune, adopt, reason, once.key());
        actor.send(ask, move |outcome| {
            once.heard(&outcome);
            let is_left = busy.try_set(false).is_some();
            match outcome {
                Ok(name) => {
                    sent.forget();
                    actor.say(format!("{name} is deployed."));
                    if !is_left {
                        address.go(&Route::module(&name).path());
                    }
                }
                Err(failure) => actor.complain(&failure),
            }
        });
    };
    let foot = move || {
        let failed = plan.loading.failure().is_some();
        if !is_planned.get() || failed || !plan.loading.has_data() {
            return view! { <p class="muted">"Plan the file as it is now, then deploy it."</p> }
                .into_any();
        }
        let deletes = plan.with(|plan| {
            plan.changes.iter().filter(|change| change.action == ChangeAction::Delete).count()
        });
        match deletes.unwrap_or_default() {
            0 => button(Look::Primary, None, "Deploy", deploy),
            count => view! {
                <p class="plan-warning">{format!("{}.", amount(count as i64, "object is deleted", "objects are deleted"))}</p>
                {button(Look::Danger, None, "Deploy and delete", deploy)}
            }
            .into_any(),
        }
    };
    let content = move || {
        if planned.with(Option::is_none) {
            return view! { <p class="muted">"Shows what would be created, changed and deleted, and which fires would be added and removed."</p> }
                .into_any();
        }
        view! {
            <AsyncView loading=plan.loading what="the plan">{plan.draw(draw)}</AsyncView>
            <div class="plan-foot">{live(foot)}</div>
        }
        .into_any()
    };
    panel("Plan", (), live(content))
}

fn draw(plan: &Plan) -> AnyView {
    let is_change = |change: &&PlannedChange| change.action != ChangeAction::Unchanged;
    let changed: Vec<_> = plan.changes.iter().filter(is_change).map(row).collect();
    let same = plan.changes.len() - changed.len();
    let sum = format!("{}: {} to change, {same} unchanged.", plan.module, changed.len());
    let effect = plan.effect.as_ref().filter(|effect| !effect.schedules.is_empty()).map(|effect| {
        let least = if effect.is_complete { "" } else { "at least " };
        let words = format!(
            "Fires in the next 30 days: {least}{} new, {} gone.",
            effect.added, effect.removed
        );
        let parts: Vec<_> = effect.schedules.iter().map(effect_of).collect();
        view! { <p class="lede">{words}</p><ul class="effects">{parts}</ul> }.into_any()
    });
    let headings = vec![heading("Will", ""), heading("Thing", "")];
    let changes = if changed.is_empty() {
        view! { <p class="muted">"Everything matches the file: deploying it changes nothing."</p> }
            .into_any()
    } else {
        table("What would change", "table", headings, changed.into_any())
    };
    view! { <p class="lede" data-testid="plan">{sum}</p>{effect}{changes} }.into_any()
}

fn row(change: &PlannedChange) -> AnyView {
    view! {
        <tr data-testid="plan-row">
            <td>{badge(Mark::Change(change.action))}</td>
            <th scope="row" class="name-cell">
                {change.name.clone()}{note(change.kind.replace('_', " "))}
                {fields(&change.fields)}
                {warning_list(change.warnings.iter())}
            </th>
        </tr>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::may_keep;

    #[test]
    fn a_file_with_credentials_or_channels_is_not_kept() {
        assert!(may_keep("module: m\ngroups: { reports: 2 }\n"));
        assert!(!may_keep("module: m\nsigning_secret: hush\n"));
        let address = "https://hooks.example.org/hush";
        assert!(!may_keep(&format!(
            "alert_channels: {{ ops: {{ kind: slack, url: {address} }} }}"
        )));
    }
}
