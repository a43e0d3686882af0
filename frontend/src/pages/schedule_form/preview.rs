//! What the timing would do, while it is typed.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::{draft::Draft, plan::TimingPlan};
use crate::{
    api::{self, Load, use_load},
    components::WarningList,
    model::Preview,
    pages::schedule::FireTable,
};

const PAUSE: Duration = Duration::from_millis(250);
const SHOWN: i64 = 8;

/// Asks the server a moment after the last key; an answer that is overtaken is dropped.
pub(super) fn use_preview(draft: Draft) -> Load<Preview> {
    let settled = RwSignal::new(None::<TimingPlan>);
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let timing = draft.timing();
        stop();
        // The first answer need not wait for anybody to stop typing.
        if settled.with_untracked(Option::is_none) {
            return settled.set(Some(timing));
        }
        timer.set_value(set_timeout_with_handle(move || settled.set(Some(timing)), PAUSE).ok());
    });
    on_cleanup(stop);
    use_load(move || settled.get().map(|timing| api::preview(timing.into(), SHOWN)))
}

/// Words, warnings and the next fires.
#[component]
pub(super) fn PreviewPanel(answer: Load<Preview>, draft: Draft) -> impl IntoView {
    let of = move |take: fn(&Preview) -> Option<String>| {
        answer.data.with(|preview| preview.as_ref().and_then(take))
    };
    let fires = Memo::new(move |_| {
        answer.data.with(|preview| preview.as_ref().map(|p| p.fires.clone()).unwrap_or_default())
    });
    let warnings = Signal::derive(move || {
        answer.data.with(|preview| preview.as_ref().map(|p| p.warnings.clone()).unwrap_or_default())
    });
    let per_year = move || {
        let count = answer.data.with(|preview| preview.as_ref().and_then(|p| p.fires_per_year))?;
        Some(match count {
            1 => "once in the next 365 days".to_owned(),
            _ => format!("{count} times in the next 365 days"),
        })
    };
    let is_wrong =
        move || answer.data.with(|preview| preview.as_ref().is_some_and(|p| p.problem.is_some()));
    view! {
        <section class="panel preview" aria-labelledby="preview-title" data-testid="preview">
            <header class="panel-head"><h2 id="preview-title">"Preview"</h2><span class="muted">{per_year}</span></header>
            <div role="status">
                <p class="preview-description" data-testid="preview-description">
                    {move || match (is_wrong(), of(|preview| preview.description.clone())) {
                        (true, _) => "This timing cannot be read yet.".to_owned(),
                        (false, Some(description)) => description,
                        (false, None) => String::new(),
                    }}
                </p>
                {move || answer.failure.get().map(|failure| view! {
                    <p class="form-error">{failure.message.clone()}" "{failure.advice()}</p>
                })}
            </div>
            <div data-testid="preview-warnings"><WarningList warnings=warnings/></div>
            <Show
                when=move || fires.with(|fires| !fires.is_empty())
                fallback=move || view! {
                    <p class="empty">{move || if is_wrong() { "No fires to show." } else { "It never fires." }}</p>
                }
            >
                <FireTable fires=Signal::from(fires) zone=draft.zone caption="Preview of the next fires"/>
            </Show>
        </section>
    }
}
