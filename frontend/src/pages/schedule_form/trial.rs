//! Calls the target once with the current values of the form, without creating a schedule or a run.

use leptos::prelude::*;

use super::{Form, draft::Draft, fail};
use crate::{
    api::{self, test_call_input},
    components::{Look, button, json_view, live},
    data::use_actor,
    model::{Failure, TestCall},
    pages::parts,
    state::use_address,
    time::duration,
};

/// The maximum duration of a call, in seconds.
const LONGEST: f64 = 20.0;

/// The button and the outcome. They are hidden for targets that cannot be called from here: an existing workflow and
/// a no-op. The code that calls the target is loaded with the first call.
pub(super) fn trial(form: Form, schedule: Option<String>) -> AnyView {
    let schedule = StoredValue::new(schedule);
    let asked = RwSignal::new(0_u32);
    let is_asked = Memo::new(move |_| asked.get() > 0);
    let kind = Memo::new(move |_| form.draft.task.kind.get());
    let is_hidden = move || matches!(kind.get().as_str(), "workflow" | "noop");
    let called = live(move || match is_asked.get() {
        true => parts::called_target(form, schedule, asked).show("part of the form"),
        false => ().into_any(),
    });
    view! {
        <section class="panel trial" aria-label="Test call" data-testid="trial" hidden=is_hidden>
            <div class="trial-line">
                {button(Look::Plain, None, "Test call", move || asked.update(|asked| *asked += 1))}
                <span class="muted">"Calls the target once with the values above, without creating a run."</span>
            </div>
            <div role="status">{called}</div>
        </section>
    }
    .into_any()
}

/// Calls the target when it is first drawn, and whenever the user asks again; shows the outcome.
pub(in crate::pages) fn called(
    form: Form,
    schedule: StoredValue<Option<String>>,
    asked: RwSignal<u32>,
) -> AnyView {
    let Form { draft, errors, .. } = form;
    let (address, actor) = (use_address(), use_actor());
    let (busy, found) = (RwSignal::new(false), RwSignal::new(None::<TestCall>));
    let call = move || {
        if busy.get() {
            return;
        }
        let input = match input(draft, address.namespace(), schedule.get_value()) {
            Ok(input) => input,
            Err(wrong) => return fail(errors, wrong),
        };
        errors.clear();
        busy.set(true);
        found.set(None);
        actor.send(api::test_call(input), move |outcome| {
            // The page may have been left in the meantime.
            let _ = busy.try_set(false);
            match outcome {
                Ok(call) => drop(found.try_set(Some(call))),
                Err(wrong) => fail(errors, wrong),
            }
        });
    };
    Effect::new(move |_| {
        asked.track();
        untrack(call);
    });
    let outcome = live(move || match found.get() {
        Some(call) => outcome(&call),
        None => ().into_any(),
    });
    view! { {move || busy.get().then_some("The target is running.")}{outcome} }.into_any()
}

fn input(
    draft: Draft,
    namespace: String,
    schedule_id: Option<String>,
) -> Result<test_call_input::TestCallInput, Failure> {
    let task = draft.task.plan()?;
    let context = serde_json::from_str(&draft.context.get_untracked())
        .map_err(|why| Failure::of_field("context", format!("This is not JSON: {why}.")))?;
    let timeout_seconds = task.timeout.min(LONGEST);
    Ok(test_call_input::TestCallInput {
        namespace,
        target: task.action.into(),
        context: Some(context),
        timeout_seconds,
        schedule_id,
    })
}

fn outcome(call: &TestCall) -> AnyView {
    let state = if call.succeeded { "succeeded" } else { "failed" };
    let mut words = vec![(if call.succeeded { "It succeeded" } else { "It failed" }).to_owned()];
    words.extend(call.http_status.map(|status| format!("status {status}")));
    words.extend(call.exit_code.map(|code| format!("exit code {code}")));
    words.push(format!("after {}", duration(call.duration_ms)));
    let error =
        call.error.clone().map(|error| view! { <p class="form-error">{error}</p> }.into_any());
    let log = (!call.log.is_empty()).then(|| {
        view! { <pre class="json" tabindex="0" role="region" aria-label="What the target wrote">{call.log.join("\n")}</pre> }
            .into_any()
    });
    let output = call.output.as_ref().map(|output| json_view(output, "What the target gave back"));
    view! {
        <p data-testid="trial-outcome" data-state=state>{format!("{}.", words.join(", "))}</p>
        {error}
        {log}
        {output}
    }
    .into_any()
}
