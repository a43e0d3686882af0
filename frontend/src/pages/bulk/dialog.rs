//! The dialog of a bulk action.

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};

use super::{Kind, Subjects};
use crate::{
    api::{self, Many, Order},
    components::{Dialog, Field, Look, button, live},
    data::{self, use_actor},
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
    portions: Vec<(String, Option<i64>)>,
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

fn content(
    open: RwSignal<bool>,
    kind: Kind,
    which: Callback<(), Vec<String>>,
    subjects: Subjects,
) -> AnyView {
    let (actor, address) = (use_actor(), use_address());
    let stage = RwSignal::new(Stage::Counting);
    let reason = RwSignal::new(String::new());
    let until = RwSignal::new(String::new());
    let wrong = RwSignal::new(None::<Failure>);
    let counts = StoredValue::new(Vec::<i64>::new());
    let searches = StoredValue::new(which.run(()));
    let namespace = untrack(|| address.namespace());
    let place = StoredValue::new(namespace.clone());
    spawn_local(async move {
        // The reason is asked for later; the count does not depend on it.
        let order = kind.order("count".to_owned(), None);
        let portions = searches.get_value().into_iter().map(|search| (search, None)).collect();
        let counted = send(namespace, portions, order, |_| ()).await;
        let _closed = match counted {
            Ok((outcome, found)) => {
                let _gone = counts.try_set_value(found);
                stage.try_set(Stage::Counted(outcome))
            }
            Err(failure) => stage.try_set(Stage::Failed(failure)),
        };
    });
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let Stage::Counted(counted) = stage.get_untracked() else { return };
        let text = reason.get_untracked().trim().to_owned();
        if kind.needs_reason() && text.is_empty() {
            return wrong.set(Some(Failure::of_field(
                "reason",
                "Give a reason, so that others can understand it.",
            )));
        }
        let end = Moment::parse_local(&until.get_untracked());
        stage.set(Stage::Working(0, counted.matched));
        let portions: Vec<_> = searches
            .get_value()
            .into_iter()
            .zip(counts.get_value().into_iter().map(Some))
            .collect();
        let again = portions.clone();
        let namespace = place.get_value();
        let order = kind.order(text, end);
        spawn_local(async move {
            let all = counted.matched;
            let progress = move |done| drop(stage.try_set(Stage::Working(done, all)));
            let outcome = send(namespace.clone(), portions, order, progress).await;
            subjects.list.refresh();
            match outcome {
                Ok((outcome, _)) => {
                    let text = format!("{} schedules are {}.", outcome.done, kind.words().1);
                    let said = Said::new(text);
                    actor.say(match kind {
                        Kind::Pause => said.undo(move || {
                            let (namespace, again) = (namespace.clone(), again.clone());
                            spawn_local(async move {
                                let order = Order::Resume { missed: CatchUp::Latest };
                                match send(namespace, again, order, |_| ()).await {
                                    Ok(_) => actor.say("They are active again.".to_owned()),
                                    Err(failure) => actor.complain(&failure),
                                }
                                subjects.list.refresh();
                            });
                        }),
                        Kind::Resume | Kind::Run | Kind::Skip | Kind::Delete => said,
                    });
                    if outcome.refused == 0 {
                        subjects.selection.clear();
                        let _closed = open.try_set(false);
                    } else {
                        let _closed = stage.try_set(Stage::Over(outcome));
                    }
                }
                Err(failure) => drop(stage.try_set(Stage::Failed(failure))),
            }
        });
    };
    let shown = live(move || {
        match stage.get() {
        Stage::Counting => view! { <p role="status">"Counting …"</p> }.into_any(),
        Stage::Counted(outcome) => counted(kind, &outcome),
        Stage::Working(done, all) => view! {
            <p role="status">{format!("{done} of {all} …")}</p>
            <progress max=all.to_string() value=done.to_string() aria-label="Progress"></progress>
        }
        .into_any(),
        Stage::Over(outcome) => view! {
            <p role="status">{format!("{} are {}, {} were refused.", outcome.done, kind.words().1, outcome.refused)}</p>
            {refusals(&outcome)}
        }
        .into_any(),
        Stage::Failed(failure) => {
            view! { <p class="form-error" role="alert">{failure.message.clone()}" "{failure.advice()}</p> }
                .into_any()
        }
    }
    });
    let error = Signal::derive(move || wrong.get());
    let fields = kind.needs_reason().then(|| {
        Field::new("bulk-reason", "Reason", reason)
            .first()
            .required()
            .error(error)
            .hint("Kept with each of them, and in the audit log.")
            .text()
    });
    let end = (kind == Kind::Pause).then(|| {
        Field::new("bulk-until", "Until (optional, your time)", until).kind("datetime-local").text()
    });
    let foot = live(move || match stage.get() {
        Stage::Counted(outcome) if outcome.matched > 0 && !outcome.too_many => {
            let look = if kind == Kind::Delete { Look::Danger } else { Look::Primary };
            let words = format!("{} {}", kind.words().0, count_words(outcome.matched));
            view! { <button type="submit" class=look.class()>{words}</button> }.into_any()
        }
        Stage::Counting
        | Stage::Counted(_)
        | Stage::Working(..)
        | Stage::Over(_)
        | Stage::Failed(_) => ().into_any(),
    });
    view! {
        <form on:submit=submit novalidate>
            {shown}
            {fields}
            {end}
            <footer class="dialog-foot">
                {button(Look::Plain, None, "Close", move || open.set(false))}
                {foot}
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
