//! The effect of a changed calendar on the fires of the next 30 days. It is the plan of a deployment that is never
//! made.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::draft::Entries;
use crate::{
    api,
    components::{AsyncView, panel, when},
    data::{Load, use_load},
    model::{Effect as Change, Plan, ScheduleEffect},
};

const PAUSE: Duration = Duration::from_millis(700);

/// The effect, loaded a moment after the last change; nothing while the form is unchanged.
pub(super) fn use_effect(
    entries: Memo<Option<Entries>>,
    name: String,
    namespace: Memo<String>,
) -> (Load<Plan>, Signal<bool>) {
    let first = entries.get_untracked();
    let settled = RwSignal::new(None::<Entries>);
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let now = entries.get().filter(|now| first.as_ref() != Some(now));
        stop();
        let later = move || settled.set(now.clone());
        timer.set_value(set_timeout_with_handle(later, PAUSE).ok());
    });
    on_cleanup(stop);
    let plan = use_load(move || {
        let module = settled.get()?.to_module(&namespace.get(), &name);
        Some(api::planning::plan(module, false, true))
    });
    (plan, Signal::derive(move || settled.with(Option::is_some)))
}

/// The panel that shows the effect.
pub(super) fn view(plan: Load<Plan>, is_changed: Signal<bool>) -> AnyView {
    let content = move || {
        if is_changed.get() {
            view! {
                <AsyncView loading=plan.loading what="the effect">
                    {plan.draw(|plan| plan.effect.as_ref().map_or_else(|| ().into_any(), draw))}
                </AsyncView>
            }
            .into_any()
        } else {
            view! { <p class="muted">"Change something: the effect on the fires of the next 30 days is shown here before you save."</p> }
                .into_any()
        }
    };
    panel("Effect before saving", (), view! { {move || content()} }.into_any())
}

fn draw(effect: &Change) -> AnyView {
    if effect.schedules.is_empty() {
        return view! { <p class="lede" data-testid="effect">"No fire of the next 30 days changes."</p> }.into_any();
    }
    let least = if effect.is_complete { "" } else { "at least " };
    let sum = format!("{least}{} fires fewer, {} more.", effect.removed, effect.added);
    let schedules: Vec<_> = effect.schedules.iter().map(schedule).collect();
    view! { <p class="lede" data-testid="effect">{sum}</p><ul class="effects">{schedules}</ul> }
        .into_any()
}

/// The effect on one schedule.
pub(in crate::pages) fn schedule(effect: &ScheduleEffect) -> AnyView {
    let sample = |word: &'static str, instants: &[crate::time::Moment]| {
        (!instants.is_empty()).then(|| {
            let times: Vec<_> = instants
                .iter()
                .take(5)
                .map(|at| view! { <span class="effect-time">{when(*at, None)}</span> }.into_any())
                .collect();
            view! { <p class="effect-sample"><span class="muted">{word}</span>{times}</p> }
                .into_any()
        })
    };
    let totals = match (effect.before, effect.after) {
        (Some(before), Some(after)) => format!("{before} → {after}"),
        _ => format!("−{} +{}", effect.removed, effect.added),
    };
    view! {
        <li>
            <p><strong>{effect.name.clone()}</strong>" "<span class="muted">{totals}</span></p>
            {sample("gone", &effect.removed_sample)}
            {sample("new", &effect.added_sample)}
        </li>
    }
    .into_any()
}
