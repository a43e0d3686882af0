//! The exact fires that a pause suppresses, and their outcomes when the pause ends: a few at first, more on request.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    api,
    components::{When, fire_mark, when},
    data::use_load,
    model::{CatchUp, PauseEffect, PausedFire, PreviewFire, ResumeChoice, Verdict},
    time::{Moment, amount, grouped},
};

/// Number of fires that are listed at first.
const FEW: i64 = 5;
/// Number of fires that are listed on request: the maximum of one answer for a pause, and for each policy of a
/// resume.
const MORE: i64 = 200;
pub(in crate::pages) const OF_EACH: i64 = 100;

/// The policies for missed fires, in the order in which `resumePreview` returns them.
pub(in crate::pages) const CHOICES: [(&str, &str, CatchUp); 3] = [
    ("skip", "Leave them out", CatchUp::Skip),
    ("latest", "Start the latest once", CatchUp::Latest),
    ("all", "Start all, as its catch-up limits allow", CatchUp::All),
];

/// What runs when a pause ends automatically, as the end of a sentence; empty if nothing does.
pub(in crate::pages) fn afterwards(missed: CatchUp) -> &'static str {
    match missed {
        CatchUp::Skip => "",
        CatchUp::Latest => ", then runs the latest",
        CatchUp::All => ", then runs all, as its catch-up limits allow",
    }
}

/// How many lines of a list are drawn: a few, or more once the user asks for them.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    /// The list's id on the page.
    id: StoredValue<String>,
    first: RwSignal<i64>,
    /// Whether the button was pressed. The button disappears when more lines are drawn, so the list takes the focus
    /// then.
    is_asked: StoredValue<bool>,
}

impl Lines {
    pub(super) fn new(id: String) -> Self {
        Self {
            id: StoredValue::new(id),
            first: RwSignal::new(FEW),
            is_asked: StoredValue::new(false),
        }
    }

    fn ask(self, most: i64) {
        self.is_asked.set_value(true);
        self.first.set(most);
    }

    /// Moves the focus to the list that is being drawn, if the user has asked for more of it.
    fn focus(self) {
        if self.is_asked.try_update_value(std::mem::take) != Some(true) {
            return;
        }
        let id = self.id.get_value();
        request_animation_frame(move || {
            let list = document().get_element_by_id(&id);
            if let Some(list) = list.and_then(|list| list.dyn_into::<HtmlElement>().ok()) {
                let _gone = list.focus();
            }
        });
    }
}

/// The fires of a schedule that would fall into a pause from now until the typed instant, shown in this zone.
pub(super) fn pause_effect(id: String, zone: Option<String>, until: RwSignal<String>) -> AnyView {
    let lines = Lines::new("pause-fires".to_owned());
    let effect = use_load(move || {
        let end = Moment::parse_local(&until.get());
        Some(api::pause_preview(id.clone(), end, lines.first.get()))
    });
    let words_zone = zone.clone();
    let words = effect.draw(move |effect| fall_into_it(effect, words_zone.clone()));
    let fires = effect.draw(move |effect| would_not_fire(effect, zone.clone(), lines));
    let alarm = effect.draw(alarm);
    // Screen readers only announce the sentence, because the list may have 200 lines.
    view! { <div><p class="hint" role="status">{words}</p>{fires}{alarm}</div> }.into_any()
}

/// Says that the watchdog, if there is one, will raise an alarm, because nothing calls it during the pause.
fn alarm(effect: &PauseEffect) -> AnyView {
    if effect.schedules.iter().all(|paused| paused.schedule.ping.is_none()) {
        return ().into_any();
    }
    view! {
        <p class="field-note">
            "Its watchdog is not called during the pause, and will raise an alarm: pause the check there as well."
        </p>
    }
    .into_any()
}

/// The number of fires that would fall into the pause.
fn fall_into_it(effect: &PauseEffect, zone: Option<String>) -> AnyView {
    if effect.schedules.is_empty() {
        return ().into_any();
    }
    let words = format!("{} would fall into it until ", amount(effect.fires, "fire", "fires"));
    view! { {words}{when(effect.until, zone)} }.into_any()
}

fn would_not_fire(effect: &PauseEffect, zone: Option<String>, lines: Lines) -> AnyView {
    let Some(schedule) = effect.schedules.first() else { return ().into_any() };
    let fire = |fire: &PreviewFire| {
        let at = When::new(fire.at).zone(zone.clone()).suppressed(fire.suppressed_by.clone());
        view! { <li data-testid="suppressed-fire">{at.view()}</li> }.into_any()
    };
    let sample: Vec<_> = schedule.sample.iter().map(fire).collect();
    let rest = rest(effect.fires, sample.len(), lines, MORE);
    lines.focus();
    let next = schedule.next_fire_at.map(|at| {
        view! { <p class="hint">"The next one after it is "{when(at, zone.clone())}</p> }.into_any()
    });
    view! {
        <ul class="sample" id=lines.id.get_value() tabindex="-1">{sample}{rest}</ul>
        {next}
    }
    .into_any()
}

/// The number of runs that a policy of a resume starts.
pub(in crate::pages) fn comes_to(choice: &ResumeChoice, zone: Option<String>) -> AnyView {
    let words = count_words(choice.runs, choice.others);
    let next = choice.next_fire_at.map(|at| view! { ", next "{when(at, zone)} }.into_any());
    view! { <span class="hint">{words}{next}</span> }.into_any()
}

fn count_words(runs: i64, others: i64) -> String {
    format!("{}, {}", amount(runs, "runs", "run"), amount(others, "does not", "do not"))
}

/// The outcome of each fire of the pause under one policy.
pub(super) fn resumed(choice: &ResumeChoice, zone: Option<String>, lines: Lines) -> AnyView {
    let rows = first_rows(choice.missed, &choice.rows.nodes, lines.first.get());
    let fires: Vec<_> = rows.into_iter().map(|fire| resumed_fire(fire, zone.clone())).collect();
    if fires.is_empty() {
        return ().into_any();
    }
    let rest = rest(choice.row_count, fires.len(), lines, OF_EACH);
    lines.focus();
    let id = lines.id.get_value();
    view! { <ul class="sample choice-fires" id=id tabindex="-1">{fires}{rest}</ul> }.into_any()
}

/// The listed rows, up to `most`. If only the latest fire runs, its row comes first: it is the last fire of the
/// pause, and a short list would not reach it.
pub(in crate::pages) fn first_rows(
    missed: CatchUp,
    rows: &[PausedFire],
    most: i64,
) -> Vec<&PausedFire> {
    let mut rows: Vec<_> = rows.iter().collect();
    if missed == CatchUp::Latest {
        rows.sort_by_key(|fire| fire.verdict != Verdict::Pending);
    }
    rows.truncate(usize::try_from(most).unwrap_or_default());
    rows
}

/// A line about the outcome of an instant, or of several at once, after a resume.
pub(in crate::pages) fn resumed_fire(fire: &PausedFire, zone: Option<String>) -> AnyView {
    let many = (fire.count > 1).then(|| {
        let words = format!(" and {} more up to ", grouped(fire.count - 1));
        view! { {words}{when(fire.last_scheduled_at, zone.clone())} }.into_any()
    });
    view! {
        <li data-testid="resumed-fire">
            {when(fire.scheduled_at, zone)}{fire_mark(fire.kind)}{many}" "<span class="muted">{outcome(fire)}</span>
        </li>
    }
    .into_any()
}

/// Whether an instant would run, or why not.
fn outcome(fire: &PausedFire) -> String {
    match (&fire.detail, fire.verdict) {
        (_, Verdict::Pending) => "runs".to_owned(),
        (Some(calendar), _) => format!("does not run: calendar {calendar}"),
        (None, _) => format!("does not run: {}", fire.reason.name_and_words().1),
    }
}

/// The last line of a list, with the number of unlisted fires. It is a button while fewer than `most` are listed.
fn rest(total: i64, listed: usize, lines: Lines, most: i64) -> Option<AnyView> {
    let more = left(total, listed)?;
    let line = if lines.first.get_untracked() < most {
        let words = format!("Show more, {}", amount(more, "is left", "are left"));
        view! {
            <li>
                <button type="button" class="button button-quiet" on:click=move |_| lines.ask(most)>{words}</button>
            </li>
        }
        .into_any()
    } else {
        view! { <li class="muted">{format!("and {} more", grouped(more))}</li> }.into_any()
    };
    Some(line)
}

/// The number of unlisted fires; `None` if all are listed.
fn left(total: i64, listed: usize) -> Option<i64> {
    let left = total - i64::try_from(listed).unwrap_or(i64::MAX);
    (left > 0).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FireKind, ReasonCode};

    #[test]
    fn a_list_that_is_whole_says_nothing_of_more() {
        assert_eq!([left(5, 5), left(0, 0), left(7, 5)], [None, None, Some(2)]);
    }

    fn running(at: i64) -> PausedFire {
        let at = Moment::from_millis(at);
        PausedFire {
            scheduled_at: at,
            last_scheduled_at: at,
            count: 1,
            kind: FireKind::Normal,
            verdict: Verdict::Pending,
            reason: ReasonCode::CaughtUp,
            detail: None,
        }
    }

    #[test]
    fn one_and_several_fires_have_their_own_words() {
        assert_eq!(count_words(0, 1), "0 run, 1 does not");
        assert_eq!(count_words(1, 2), "1 runs, 2 do not");
    }

    #[test]
    fn the_latest_fire_is_listed_first_if_only_it_runs() {
        let skipped = |at| PausedFire { verdict: Verdict::Skipped, ..running(at) };
        let rows = [skipped(0), skipped(1), running(2)];
        assert_eq!(first_rows(CatchUp::Latest, &rows, 2), [&rows[2], &rows[0]]);
        assert_eq!(first_rows(CatchUp::All, &rows, 2), [&rows[0], &rows[1]]);
    }

    #[test]
    fn a_fire_of_a_pause_runs_or_says_why_not() {
        let fire = running(0);
        assert_eq!(outcome(&fire), "runs");
        let skipped = PausedFire { verdict: Verdict::Skipped, reason: ReasonCode::Paused, ..fire };
        assert!(outcome(&skipped).starts_with("does not run: "));
        let calendar = PausedFire { detail: Some("holidays".to_owned()), ..skipped };
        assert_eq!(outcome(&calendar), "does not run: calendar holidays");
    }
}
