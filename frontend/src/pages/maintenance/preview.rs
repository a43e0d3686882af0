//! What a window would hold back, while it is being planned.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::draft::Draft;
use crate::{
    api::{self, maintenance::WindowInput},
    components::{AsyncView, Waiting, live, panel, when},
    data::{Load, use_load},
    model::{self, Failure, MaintenancePreview, ScheduleName},
    route::Route,
    time::{amount, grouped},
};

/// The preview is loaded this long after the last change of the form.
const PAUSE: Duration = Duration::from_millis(300);

/// The preview of a form.
#[derive(Clone, Copy)]
pub(super) struct Preview {
    load: Load<MaintenancePreview>,
    /// What is previewed; `None` while a bound is missing.
    what: Memo<Option<WindowInput>>,
}

/// Previews the window that is entered in the form, a moment after each change.
pub(super) fn use_preview(draft: Draft, namespace: Memo<String>) -> Preview {
    let entered = Memo::new(move |_| draft.read_what_it_pauses(namespace.get()).ok());
    let settled = RwSignal::new(entered.get_untracked());
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let input = entered.get();
        stop();
        let settle = move || drop(settled.try_set(input.clone()));
        timer.set_value(set_timeout_with_handle(settle, PAUSE).ok());
    });
    on_cleanup(stop);
    let what = Memo::new(move |_| settled.get());
    let load = use_load(move || what.get().map(api::maintenance::preview));
    Preview { load, what }
}

impl Preview {
    /// The failure that belongs to a field of the form; tracked.
    pub(super) fn failure_of(self, field: &str) -> Option<Failure> {
        self.load.loading.failure().filter(|failure| failure.field.as_deref() == Some(field))
    }

    /// The panel. `own` is the id of the window that is edited: it does not overlap itself.
    pub(super) fn view(self, own: Option<String>) -> AnyView {
        let own = StoredValue::new(own);
        let waiting = Waiting {
            has_data: Signal::derive(move || self.load.loading.has_data()),
            // A failure of a field is shown at the field.
            failure: Signal::derive(move || {
                self.load.loading.failure().filter(|failure| failure.field.is_none())
            }),
            retry: Callback::new(move |()| self.load.loading.reload()),
        };
        let content = move || {
            // Read first: an effect whose first source is an unchanged memo may miss later changes.
            let failure = self.load.loading.failure();
            if self.what.with(Option::is_none) {
                let words = "Choose when it begins and ends: what it would hold back appears here.";
                return view! { <p class="muted">{words}</p> }.into_any();
            }
            // Without data, a field has an error that must be corrected first.
            if failure.is_some_and(|failure| failure.field.is_some()) {
                let words = "Correct the form to see what the window would hold back.";
                return view! { <p class="muted">{words}</p> }.into_any();
            }
            view! {
                <AsyncView loading=waiting what="what it would hold back">
                    {self.load.draw(move |preview| held(preview, own.get_value().as_deref()))}
                </AsyncView>
            }
            .into_any()
        };
        panel("What it would hold back", (), live(content))
    }
}

fn held(preview: &MaintenancePreview, own: Option<&str>) -> AnyView {
    let link = |schedule: &ScheduleName| {
        let href = Route::Schedule(schedule.id.clone()).path();
        view! { <li><a href=href>{schedule.name.clone()}</a></li> }.into_any()
    };
    let sample: Vec<_> = preview.sample.iter().map(link).collect();
    let rest = preview.schedule_count - i64::try_from(sample.len()).unwrap_or(i64::MAX);
    let rest = (rest > 0).then(|| {
        view! { <li class="muted">{format!("and {} more", grouped(rest))}</li> }.into_any()
    });
    view! {
        <p class="lede" role="status" data-testid="would-pause">{schedule_words(preview)}</p>
        <p data-testid="would-hold">{fire_words(preview)}</p>
        <ul class="plain-list" aria-label="Schedules">{sample}{rest}</ul>
        {overlapping(preview, own)}
    }
    .into_any()
}

/// The schedules that the window would pause, in words.
fn schedule_words(preview: &MaintenancePreview) -> String {
    match (preview.schedule_count, preview.already_paused) {
        (0, _) => "No schedule matches now.".to_owned(),
        (all, 0) => format!("{} would be paused.", amount(all, "schedule", "schedules")),
        (all, paused) => format!(
            "{} would be in it: {} already and stay so.",
            amount(all, "schedule", "schedules"),
            amount(paused, "is paused", "are paused"),
        ),
    }
}

/// The fires that the window would hold back, in words.
fn fire_words(preview: &MaintenancePreview) -> String {
    let fires = amount(preview.fire_count, "fire", "fires");
    let at_least = if preview.is_fire_count_complete { "" } else { "At least " };
    format!(
        "{at_least}{fires} would fall into it. Schedules that come to match before it begins are in it, too."
    )
}

/// The other windows at the same time.
fn overlapping(preview: &MaintenancePreview, own: Option<&str>) -> AnyView {
    let others = preview.overlapping.iter().filter(|other| own != Some(other.id.as_str()));
    let line = |other: &model::MaintenanceWindow| {
        let href = Route::MaintenanceWindow(other.id.clone()).path_at(&other.namespace);
        view! {
            <li>
                <a href=href>{other.title.clone()}</a>" "{when(other.starts_at, None)}" to "{when(other.ends_at, None)}
            </li>
        }
        .into_any()
    };
    let lines: Vec<_> = others.map(line).collect();
    if lines.is_empty() {
        return ().into_any();
    }
    view! {
        <p class="field-note">"Other windows at the same time. A schedule that is in several is paused by the one that begins first:"</p>
        <ul class="plain-list" aria-label="Overlapping windows">{lines}</ul>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(schedule_count: i64, already_paused: i64) -> MaintenancePreview {
        MaintenancePreview {
            schedule_count,
            already_paused,
            fire_count: 1,
            is_fire_count_complete: true,
            sample: Vec::new(),
            overlapping: Vec::new(),
        }
    }

    #[test]
    fn schedules_that_are_paused_already_are_told_apart() {
        assert_eq!(schedule_words(&preview(0, 0)), "No schedule matches now.");
        assert_eq!(schedule_words(&preview(1, 0)), "1 schedule would be paused.");
        let words = schedule_words(&preview(3, 2));
        assert_eq!(words, "3 schedules would be in it: 2 are paused already and stay so.");
    }

    #[test]
    fn an_incomplete_count_of_fires_is_a_lower_bound() {
        let whole = preview(1, 0);
        assert!(fire_words(&whole).starts_with("1 fire would fall into it."));
        let cut = MaintenancePreview { fire_count: 20_000, is_fire_count_complete: false, ..whole };
        assert!(fire_words(&cut).starts_with("At least 20"), "{}", fire_words(&cut));
    }
}
