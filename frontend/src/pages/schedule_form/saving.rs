//! Sends the form. This code is loaded when the user first saves.

use leptos::prelude::*;

use super::{Form, Purpose, draft::Draft, fail, input, plan::Plan};
use crate::{
    api::{self, Ask},
    components::live,
    data::{use_actor, use_once},
    pages::task_form::refusal,
    route::Route,
    state::use_address,
};

/// Sends the form when this is first drawn, and whenever the user saves again; shows why the form was refused.
pub(in crate::pages) fn saver(form: Form) -> AnyView {
    let Form { draft, errors, purpose, kept, busy, asked } = form;
    let (address, actor, once) = (use_address(), use_actor(), use_once());
    let save = move || {
        if busy.get() {
            return;
        }
        let plan = match draft.plan() {
            Ok(plan) => plan,
            Err(wrong) => return fail(errors, wrong),
        };
        errors.clear();
        busy.set(true);
        let (change, said) = change(purpose, plan, once.key());
        let sent = kept.sent();
        actor.send(change, move |outcome| {
            let is_left = busy.try_set(false).is_some();
            once.heard(&outcome);
            match outcome {
                Ok(id) => {
                    sent.forget();
                    actor.say(said);
                    if !is_left {
                        address.go(&Route::Schedule(id).path());
                    }
                }
                Err(wrong) if is_left => actor.complain(&wrong),
                Err(wrong) => fail(errors, wrong),
            }
        });
    };
    Effect::new(move |_| {
        asked.track();
        untrack(save);
    });
    live(move || match errors.sent() {
        Some(failure) => refusal(&failure),
        None => ().into_any(),
    })
}

/// The change, and the notice after it.
fn change(purpose: Purpose, plan: Plan, key: String) -> (Ask<String>, String) {
    match purpose {
        Purpose::Create(namespace) => {
            let said = format!("{} is created.", plan.name);
            (api::create_schedule(input::create(plan, namespace.get()), key), said)
        }
        Purpose::Change(before) => {
            let said = format!("{} is saved.", plan.name);
            let before = before.get_value();
            let original = Draft::of(&before).and_then(|draft| draft.plan()).ok();
            let keeps_target = original.is_some_and(|original| original.work == plan.work);
            let (id, version) = (before.row.id.clone(), before.row.version);
            (api::update_schedule(input::update(plan, id, version, keeps_target)), said)
        }
    }
}
