//! The dialog of a bulk action.

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};

use super::{
    Kind, Subjects,
    change::ChangeFields,
    effect,
    outcome::{counted, over_words, refusals},
    portions::{Portions, send},
    undo::{RESTORE, RESUME, Undo, not_paused, take_back},
};
use crate::{
    api::Order,
    components::{Field, Look, button, live},
    data::{Actor, use_actor},
    model::{CatchUp, Failure, ManyOutcome},
    pages::kit::of,
    route::Route,
    state::{Said, use_address},
    time::Moment,
};

/// The progress of an action.
#[derive(Clone)]
enum Stage {
    /// The user is entering the action; an edit is counted once it is complete.
    Asking,
    Counting,
    Counted(ManyOutcome),
    Working(i64, i64),
    Over(ManyOutcome),
    Failed(Failure),
}

/// The form in the dialog.
#[derive(Clone, Copy)]
struct BulkForm {
    open: RwSignal<bool>,
    kind: Kind,
    subjects: Subjects,
    actor: Actor,
    namespace: StoredValue<String>,
    searches: StoredValue<Vec<String>>,
    /// The ids of the chosen schedules or runs; empty if the action applies to all that a search finds.
    chosen: StoredValue<Vec<String>>,
    counts: StoredValue<Vec<i64>>,
    stage: RwSignal<Stage>,
    reason: RwSignal<String>,
    until: RwSignal<String>,
    /// The policy for the fires that fell into the pauses.
    missed: RwSignal<CatchUp>,
    change: ChangeFields,
    /// Counts the changes of the input, so that the result of an earlier count is ignored.
    turn: StoredValue<u32>,
    wrong: RwSignal<Option<Failure>>,
}

impl BulkForm {
    /// The action with the entered values.
    fn order(self, reason: String) -> Result<Order, Failure> {
        let given = (!reason.is_empty()).then(|| reason.clone());
        let until = Moment::parse_local(&self.until.get_untracked());
        Ok(match self.kind {
            Kind::Pause => {
                let missed = until.map(|_| self.missed.get_untracked());
                Order::Pause { reason, until, missed }
            }
            Kind::Resume => Order::Resume { missed: self.missed.get_untracked() },
            Kind::Run => Order::Run { reason: given },
            Kind::Skip => Order::Skip { count: 1, reason },
            Kind::Edit => {
                Order::Change { change: untrack(|| self.change.change())?, reason: given }
            }
            Kind::Delete => Order::Delete { reason: given },
            Kind::Cancel => Order::CancelRuns { reason: given },
            Kind::Retry => Order::RetryRuns,
        })
    }

    /// Counts the matches, and those that would be refused.
    fn count(self) {
        // The user enters the reason later; the count does not depend on it.
        let order = match self.order("count".to_owned()) {
            Ok(order) => order,
            Err(failure) => return self.wrong.set(Some(failure)),
        };
        self.wrong.set(None);
        self.stage.set(Stage::Counting);
        let turn = self.turn.get_value();
        let searches = self.searches.get_value().into_iter();
        let portions = searches.map(|search| (search, None)).collect();
        let namespace = self.namespace.get_value();
        spawn_local(async move {
            let counted = send(namespace, portions, order, |_| ()).await;
            if self.turn.try_get_value() != Some(turn) {
                return;
            }
            let _closed = match counted {
                Ok((outcome, found)) => {
                    let _gone = self.counts.try_set_value(found);
                    self.stage.try_set(Stage::Counted(outcome))
                }
                Err(failure) => self.stage.try_set(Stage::Failed(failure)),
            };
        });
    }

    /// Performs the action on the counted matches.
    fn perform(self) {
        let Stage::Counted(counted) = self.stage.get_untracked() else { return };
        let reason = self.reason.get_untracked().trim().to_owned();
        if self.kind.needs_reason() && reason.is_empty() {
            return self.wrong.set(Some(Failure::of_field(
                "reason",
                "Give a reason, so that others can understand it.",
            )));
        }
        let order = match self.order(reason) {
            Ok(order) => order,
            Err(failure) => return self.wrong.set(Some(failure)),
        };
        let all = counted.matched;
        self.stage.set(Stage::Working(0, all));
        let counts = self.counts.get_value().into_iter().map(Some);
        let searches = self.searches.get_value();
        let portions: Portions = searches.iter().cloned().zip(counts).collect();
        let namespace = self.namespace.get_value();
        // Read before the request, because the dialog may be closed before the action is done.
        let chosen = self.chosen.get_value();
        spawn_local(async move {
            let undone = match self.kind {
                // If the query fails, undo is not offered, because it could resume schedules that others have paused.
                Kind::Pause if !chosen.is_empty() => {
                    not_paused(&namespace, &searches, chosen).await.unwrap_or_default()
                }
                Kind::Pause | Kind::Delete => chosen,
                Kind::Resume | Kind::Run | Kind::Skip | Kind::Edit | Kind::Cancel | Kind::Retry => {
                    Vec::new()
                }
            };
            let progress = move |done| drop(self.stage.try_set(Stage::Working(done, all)));
            let outcome = send(namespace, portions, order, progress).await;
            self.subjects.list.reload();
            match outcome {
                Ok((outcome, _)) => self.report(outcome, undone),
                Err(failure) => {
                    // A dialog that was closed cannot show it.
                    if self.stage.try_set(Stage::Failed(failure.clone())).is_some() {
                        self.actor.complain(&failure);
                    }
                }
            }
        });
    }

    /// Reports the outcome, and closes the dialog unless something was refused. `undone` contains the schedules for
    /// which the action can be undone.
    fn report(self, outcome: ManyOutcome, undone: Vec<String>) {
        let said = Said::new(format!("{}.", self.kind.done_words(outcome.done)));
        self.actor.say(match self.kind {
            Kind::Pause => self.with_undo(said, RESUME, undone),
            // The list of deleted schedules contains all schedules that a search found.
            Kind::Delete => {
                let deleted = Route::Schedules.narrowed(&[("deleted", "yes")]);
                self.with_undo(said.link("Deleted schedules", deleted), RESTORE, undone)
            }
            Kind::Resume | Kind::Run | Kind::Skip | Kind::Edit | Kind::Cancel | Kind::Retry => said,
        });
        if outcome.refused == 0 {
            self.subjects.selection.clear();
            let _closed = self.open.try_set(false);
        } else {
            let _closed = self.stage.try_set(Stage::Over(outcome));
        }
    }

    /// Offers to undo the action for these schedules, if there are any.
    fn with_undo(self, said: Said, undo: Undo, ids: Vec<String>) -> Said {
        if ids.is_empty() {
            return said;
        }
        let (actor, list) = (self.actor, self.subjects.list);
        said.undo(move || {
            let ids = ids.clone();
            spawn_local(async move {
                take_back(undo, ids, actor).await;
                list.reload();
            });
        })
    }

    /// The count, the progress or the result.
    fn shown(self) -> AnyView {
        live(move || {
            match self.stage.get() {
            Stage::Asking => ().into_any(),
            Stage::Counting => view! { <p role="status">"Counting …"</p> }.into_any(),
            Stage::Counted(outcome) => counted(self.kind, &outcome),
            Stage::Working(done, all) => view! {
                <p role="status">{format!("{done} of {all} …")}</p>
                <progress max=all.to_string() value=done.to_string() aria-label="Progress"></progress>
            }
            .into_any(),
            Stage::Over(outcome) => view! {
                <p role="status">{over_words(self.kind, &outcome)}</p>
                {refusals("Refused", &outcome)}
            }
            .into_any(),
            Stage::Failed(failure) => {
                view! { <p class="form-error" role="alert">{failure.message.clone()}" "{failure.advice()}</p> }
                    .into_any()
            }
        }
        })
    }

    /// The effect on fires, for a pause and its end; the fields of an edit.
    fn effect(self) -> AnyView {
        let (namespace, searches) = (self.namespace.get_value(), self.searches.get_value());
        match self.kind {
            Kind::Pause => effect::paused(&namespace, searches, self.until),
            Kind::Resume => effect::resumed(&namespace, searches, self.missed),
            Kind::Edit => self.change.view(self.wrong),
            Kind::Run | Kind::Skip | Kind::Delete | Kind::Cancel | Kind::Retry => ().into_any(),
        }
    }

    /// The reason and the end, for actions that have them.
    fn fields(self) -> AnyView {
        let error = of(self.wrong, "reason");
        let reason = |label: &'static str| {
            Field::new("bulk-reason", label, self.reason)
                .first()
                .error(error)
                .hint("Kept with each of them, and in the audit log.")
        };
        let reason = match self.kind {
            Kind::Pause | Kind::Skip => Some(reason("Reason").required().text()),
            Kind::Cancel => Some(reason("Reason (optional)").text()),
            Kind::Resume | Kind::Run | Kind::Edit | Kind::Delete | Kind::Retry => None,
        };
        let until = (self.kind == Kind::Pause).then(|| {
            let until = Field::new("bulk-until", "Until (optional, your time)", self.until)
                .kind("datetime-local")
                .text();
            let (namespace, searches) = (self.namespace.get_value(), self.searches.get_value());
            let ended = effect::ended(namespace, searches, self.until, self.missed);
            view! { {until}{ended} }.into_any()
        });
        view! { {reason}{until} }.into_any()
    }

    /// The button that performs the action, once at least one schedule matches, or that counts the matches.
    fn button(self) -> AnyView {
        live(move || match self.stage.get() {
            Stage::Counted(outcome) if outcome.matched > 0 && !outcome.too_many => {
                let count = self.kind.count_words(outcome.matched);
                let (look, words) = (self.kind.look(), format!("{} {count}", self.kind.words().0));
                view! { <button type="submit" class=look.class()>{words}</button> }.into_any()
            }
            Stage::Asking => {
                view! { <button type="submit" class=Look::Primary.class()>"Preview"</button> }
                    .into_any()
            }
            // Perhaps something has changed since the count. What was entered stays.
            Stage::Failed(_) => {
                view! { <button type="submit" class=Look::Primary.class()>"Count again"</button> }
                    .into_any()
            }
            Stage::Counting | Stage::Counted(_) | Stage::Working(..) | Stage::Over(_) => {
                ().into_any()
            }
        })
    }
}

/// The content of the dialog.
pub(in crate::pages) fn content(
    open: RwSignal<bool>,
    kind: Kind,
    which: Callback<(), Vec<String>>,
    subjects: Subjects,
) -> AnyView {
    let address = use_address();
    let searches = which.run(());
    let is_chosen = searches == untrack(|| subjects.chosen.get());
    let chosen = if is_chosen { untrack(|| subjects.selection.ids()) } else { vec![] };
    let form = BulkForm {
        open,
        kind,
        subjects,
        actor: use_actor(),
        namespace: StoredValue::new(untrack(|| address.namespace())),
        searches: StoredValue::new(searches),
        chosen: StoredValue::new(chosen),
        counts: StoredValue::new(Vec::new()),
        stage: RwSignal::new(Stage::Asking),
        reason: RwSignal::new(String::new()),
        until: RwSignal::new(String::new()),
        missed: RwSignal::new(CatchUp::Skip),
        change: ChangeFields::new(),
        turn: StoredValue::new(0),
        wrong: RwSignal::new(None),
    };
    if kind == Kind::Edit {
        // Another change may match other schedules, so count again.
        Effect::new(move |_| {
            let _entered = form.change.change();
            form.turn.update_value(|turn| *turn = turn.wrapping_add(1));
            form.stage.set(Stage::Asking);
        });
    } else {
        form.count();
    }
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        match form.stage.get_untracked() {
            Stage::Asking | Stage::Failed(_) => form.count(),
            Stage::Counting | Stage::Counted(_) | Stage::Working(..) | Stage::Over(_) => {
                form.perform()
            }
        }
    };
    view! {
        <form on:submit=submit novalidate>
            {form.shown()}
            {form.effect()}
            {form.fields()}
            <footer class="dialog-foot">
                {button(Look::Plain, None, "Close", move || open.set(false))}
                {form.button()}
            </footer>
        </form>
    }
    .into_any()
}
