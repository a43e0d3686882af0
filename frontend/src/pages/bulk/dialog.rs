//! The dialog of a bulk action.

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};

use super::{Kind, Subjects};
use crate::{
    api::{self, Many, Order},
    components::{Dialog, Field, Look, button, live},
    data::{self, Actor, use_actor},
    model::{CatchUp, Failure, ManyOutcome},
    state::{Said, use_address},
    time::Moment,
};

/// The progress of an action.
#[derive(Clone)]
enum Stage {
    Counting,
    Counted(ManyOutcome),
    Working(i64, i64),
    Over(ManyOutcome),
    Failed(Failure),
}

impl Kind {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Pause => ("Pause", "paused"),
            Self::Resume => ("Resume", "active again"),
            Self::Run => ("Run", "running"),
            Self::Skip => ("Skip the next fire of", "told to skip their next fire"),
            Self::Delete => ("Delete", "deleted"),
        }
    }

    fn order(self, reason: String, until: Option<Moment>) -> Order {
        let given = (!reason.is_empty()).then(|| reason.clone());
        match self {
            Self::Pause => Order::Pause { reason, until },
            Self::Resume => Order::Resume { missed: CatchUp::Skip },
            Self::Run => Order::Run { reason: given },
            Self::Skip => Order::Skip { count: 1, reason },
            Self::Delete => Order::Delete { reason: given },
        }
    }

    fn needs_reason(self) -> bool {
        match self {
            Self::Pause | Self::Skip => true,
            Self::Resume | Self::Run | Self::Delete => false,
        }
    }
}

/// The dialog, closed until an action is chosen.
pub(super) fn dialog(
    open: RwSignal<bool>,
    kind: RwSignal<Kind>,
    which: Callback<(), Vec<String>>,
    subjects: Subjects,
) -> AnyView {
    view! {
        <Dialog open=open title="Bulk action">{content(open, kind.get_untracked(), which, subjects)}</Dialog>
    }
    .into_any()
}

/// Sends each portion of an action, one after the other: without a number to count the matches, then with that number
/// to perform the action. One that takes longer than a request is sent again with its key until nothing remains.
async fn send(
    namespace: String,
    portions: Portions,
    order: Order,
    progress: impl Fn(i64),
) -> Result<(ManyOutcome, Vec<i64>), Failure> {
    let mut sum: Option<ManyOutcome> = None;
    let mut counts = Vec::new();
    for (search, expected_count) in portions {
        let key = data::new_key();
        let before = sum.as_ref().map_or(0, |sum| sum.done + sum.refused);
        let outcome = loop {
            let many =
                Many { namespace: namespace.clone(), search: search.clone(), expected_count };
            let outcome = api::order_schedules(order.clone(), many, key.clone()).send().await?;
            progress(before + outcome.done + outcome.refused);
            if outcome.remaining == 0 || expected_count.is_none() {
                break outcome;
            }
        };
        counts.push(outcome.matched);
        sum = Some(match sum {
            Some(sum) => sum.and(outcome),
            None => outcome,
        });
    }
    let sum = sum.ok_or_else(|| Failure::of_field("search", "Nothing is chosen."))?;
    Ok((sum, counts))
}

/// The searches of an action's portions, each with the number of schedules that it matched.
type Portions = Vec<(String, Option<i64>)>;

/// The form in the dialog.
#[derive(Clone, Copy)]
struct BulkForm {
    open: RwSignal<bool>,
    kind: Kind,
    subjects: Subjects,
    actor: Actor,
    namespace: StoredValue<String>,
    searches: StoredValue<Vec<String>>,
    counts: StoredValue<Vec<i64>>,
    stage: RwSignal<Stage>,
    reason: RwSignal<String>,
    until: RwSignal<String>,
    wrong: RwSignal<Option<Failure>>,
}

impl BulkForm {
    /// Counts the schedules that match, and what would be refused.
    fn count(self) {
        // The reason is asked for later; the count does not depend on it.
        let order = self.kind.order("count".to_owned(), None);
        let searches = self.searches.get_value().into_iter();
        let portions = searches.map(|search| (search, None)).collect();
        let namespace = self.namespace.get_value();
        spawn_local(async move {
            let counted = send(namespace, portions, order, |_| ()).await;
            let _closed = match counted {
                Ok((outcome, found)) => {
                    let _gone = self.counts.try_set_value(found);
                    self.stage.try_set(Stage::Counted(outcome))
                }
                Err(failure) => self.stage.try_set(Stage::Failed(failure)),
            };
        });
    }

    /// Performs the action on the schedules that were counted.
    fn perform(self) {
        let Stage::Counted(counted) = self.stage.get_untracked() else { return };
        let reason = self.reason.get_untracked().trim().to_owned();
        if self.kind.needs_reason() && reason.is_empty() {
            return self.wrong.set(Some(Failure::of_field(
                "reason",
                "Give a reason, so that others can understand it.",
            )));
        }
        let until = Moment::parse_local(&self.until.get_untracked());
        let all = counted.matched;
        self.stage.set(Stage::Working(0, all));
        let counts = self.counts.get_value().into_iter().map(Some);
        let portions: Portions = self.searches.get_value().into_iter().zip(counts).collect();
        let namespace = self.namespace.get_value();
        let order = self.kind.order(reason, until);
        spawn_local(async move {
            let progress = move |done| drop(self.stage.try_set(Stage::Working(done, all)));
            let outcome = send(namespace.clone(), portions.clone(), order, progress).await;
            self.subjects.list.refresh();
            match outcome {
                Ok((outcome, _)) => self.report(outcome, namespace, portions),
                Err(failure) => drop(self.stage.try_set(Stage::Failed(failure))),
            }
        });
    }

    /// Says what was done, and closes the dialog unless something was refused.
    fn report(self, outcome: ManyOutcome, namespace: String, portions: Portions) {
        let said = Said::new(format!("{} schedules are {}.", outcome.done, self.kind.words().1));
        self.actor.say(match self.kind {
            Kind::Pause => said.undo(move || self.resume(namespace.clone(), portions.clone())),
            Kind::Resume | Kind::Run | Kind::Skip | Kind::Delete => said,
        });
        if outcome.refused == 0 {
            self.subjects.selection.clear();
            let _closed = self.open.try_set(false);
        } else {
            let _closed = self.stage.try_set(Stage::Over(outcome));
        }
    }

    /// Takes a pause back.
    fn resume(self, namespace: String, portions: Portions) {
        spawn_local(async move {
            let order = Order::Resume { missed: CatchUp::Latest };
            match send(namespace, portions, order, |_| ()).await {
                Ok(_) => self.actor.say("They are active again.".to_owned()),
                Err(failure) => self.actor.complain(&failure),
            }
            self.subjects.list.refresh();
        });
    }

    /// The count, the progress or the result.
    fn shown(self) -> AnyView {
        let words = self.kind.words().1;
        live(move || {
            match self.stage.get() {
            Stage::Counting => view! { <p role="status">"Counting …"</p> }.into_any(),
            Stage::Counted(outcome) => counted(self.kind, &outcome),
            Stage::Working(done, all) => view! {
                <p role="status">{format!("{done} of {all} …")}</p>
                <progress max=all.to_string() value=done.to_string() aria-label="Progress"></progress>
            }
            .into_any(),
            Stage::Over(outcome) => view! {
                <p role="status">{format!("{} are {words}, {} were refused.", outcome.done, outcome.refused)}</p>
                {refusals(&outcome)}
            }
            .into_any(),
            Stage::Failed(failure) => {
                view! { <p class="form-error" role="alert">{failure.message.clone()}" "{failure.advice()}</p> }
                    .into_any()
            }
        }
        })
    }

    /// The reason and the end, for actions that have them.
    fn fields(self) -> AnyView {
        let error = Signal::derive(move || self.wrong.get());
        let reason = self.kind.needs_reason().then(|| {
            Field::new("bulk-reason", "Reason", self.reason)
                .first()
                .required()
                .error(error)
                .hint("Kept with each of them, and in the audit log.")
                .text()
        });
        let until = (self.kind == Kind::Pause).then(|| {
            Field::new("bulk-until", "Until (optional, your time)", self.until)
                .kind("datetime-local")
                .text()
        });
        view! { {reason}{until} }.into_any()
    }

    /// The button that performs the action, once there is something to perform it on.
    fn button(self) -> AnyView {
        live(move || match self.stage.get() {
            Stage::Counted(outcome) if outcome.matched > 0 && !outcome.too_many => {
                let look = if self.kind == Kind::Delete { Look::Danger } else { Look::Primary };
                let words = format!("{} {}", self.kind.words().0, count_words(outcome.matched));
                view! { <button type="submit" class=look.class()>{words}</button> }.into_any()
            }
            Stage::Counting
            | Stage::Counted(_)
            | Stage::Working(..)
            | Stage::Over(_)
            | Stage::Failed(_) => ().into_any(),
        })
    }
}

fn content(
    open: RwSignal<bool>,
    kind: Kind,
    which: Callback<(), Vec<String>>,
    subjects: Subjects,
) -> AnyView {
    let address = use_address();
    let form = BulkForm {
        open,
        kind,
        subjects,
        actor: use_actor(),
        namespace: StoredValue::new(untrack(|| address.namespace())),
        searches: StoredValue::new(which.run(())),
        counts: StoredValue::new(Vec::new()),
        stage: RwSignal::new(Stage::Counting),
        reason: RwSignal::new(String::new()),
        until: RwSignal::new(String::new()),
        wrong: RwSignal::new(None),
    };
    form.count();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        form.perform();
    };
    view! {
        <form on:submit=submit novalidate>
            {form.shown()}
            {form.fields()}
            <footer class="dialog-foot">
                {button(Look::Plain, None, "Close", move || open.set(false))}
                {form.button()}
            </footer>
        </form>
    }
    .into_any()
}

fn count_words(count: i64) -> String {
    if count == 1 { "1 schedule".to_owned() } else { format!("{count} schedules") }
}

fn counted(kind: Kind, outcome: &ManyOutcome) -> AnyView {
    if outcome.too_many {
        let words = "The search matches more than 10,000. Narrow it.";
        return view! { <p class="form-error">{words}</p> }.into_any();
    }
    let names: Vec<&str> = outcome.sample.iter().map(|named| named.name.as_str()).collect();
    let rest = outcome.matched - i64::try_from(names.len()).unwrap_or(0);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    view! {
        <p role="status">
            {kind.words().0}" "<strong>{count_words(outcome.matched)}</strong>": "
            {names.join(", ")}{rest}"."
        </p>
        {refusals(outcome)}
    }
    .into_any()
}

fn refusals(outcome: &ManyOutcome) -> AnyView {
    let line = |text: &String| view! { <li>{text.clone()}</li> }.into_any();
    let texts: Vec<_> = outcome.refusals.iter().map(|refusal| &refusal.message).take(10).collect();
    if texts.is_empty() {
        return ().into_any();
    }
    let lines: Vec<_> = texts.into_iter().map(line).collect();
    view! { <ul class="refusals" aria-label="Refused">{lines}</ul> }.into_any()
}
