//! The exact fires that a pause suppresses, and what becomes of them when it ends: a few at first, more when asked.

use leptos::prelude::*;

use crate::{
    api,
    components::{When, fire_mark, when},
    data::use_load,
    model::{CatchUp, PauseEffect, PausedFire, PreviewFire, ResumeChoice, Verdict},
    time::Moment,
};

/// Number of fires that are listed at first.
pub(super) const FEW: i64 = 5;
/// Number of fires that are listed when more are asked for: the most of one answer for a pause, and for each of the
/// ways to resume.
const MORE: i64 = 200;
const MORE_OF_EACH: i64 = 100;

/// The ways to resume, as `resumePreview` returns them.
pub(in crate::pages) const CHOICES: [(&str, &str, CatchUp); 3] = [
    ("skip", "Leave them out", CatchUp::Skip),
    ("latest", "Start the latest once", CatchUp::Latest),
    ("all", "Start all, as its catch-up limits allow", CatchUp::All),
];

/// The fires of a schedule in this zone that would fall into a pause from now until the instant that is typed.
pub(in crate::pages) fn pause_effect(
    id: String,
    zone: Option<String>,
    until: RwSignal<String>,
) -> AnyView {
    let first = RwSignal::new(FEW);
    let effect = use_load(move || {
        let end = Moment::parse_local(&until.get());
        Some(api::pause_preview(id.clone(), end, first.get()))
    });
    let drawn = effect.draw(move |effect| would_not_fire(effect, zone.clone(), first));
    view! { <div role="status">{drawn}</div> }.into_any()
}

fn would_not_fire(effect: &PauseEffect, zone: Option<String>, first: RwSignal<i64>) -> AnyView {
    let Some(schedule) = effect.schedules.first() else { return ().into_any() };
    let fire = |fire: &PreviewFire| {
        let at = When::new(fire.at).zone(zone.clone()).suppressed(fire.suppressed_by.clone());
        view! { <li data-testid="suppressed-fire">{at.view()}</li> }.into_any()
    };
    let sample: Vec<_> = schedule.sample.iter().map(fire).collect();
    let rest = rest(effect.fires, sample.len(), first, MORE);
    let next = schedule.next_fire_at.map(|at| {
        view! { <p class="hint">"The next one after it is "{when(at, zone.clone())}</p> }.into_any()
    });
    view! {
        <p class="hint">{format!("{} fires would fall into it until ", effect.fires)}{when(effect.until, zone.clone())}</p>
        <ul class="sample">{sample}{rest}</ul>
        {next}
    }
    .into_any()
}

/// How many fires a way to resume starts.
pub(in crate::pages) fn comes_to(choice: &ResumeChoice, zone: Option<String>) -> AnyView {
    let words = counts(choice.runs, choice.others);
    let next = choice.next_fire_at.map(|at| view! { ", next "{when(at, zone)} }.into_any());
    view! { <span class="hint">{words}{next}</span> }.into_any()
}

/// `1 runs, 3 do not`.
fn counts(runs: i64, others: i64) -> String {
    let runs = match runs {
        1 => "1 runs".to_owned(),
        runs => format!("{runs} run"),
    };
    match others {
        1 => format!("{runs}, 1 does not"),
        others => format!("{runs}, {others} do not"),
    }
}

/// What becomes of each fire of the pause by a way to resume. `first` is how many are listed.
pub(super) fn resumed(
    choice: &ResumeChoice,
    zone: Option<String>,
    first: RwSignal<i64>,
) -> AnyView {
    let lines: Vec<_> =
        choice.rows.nodes.iter().map(|fire| resumed_fire(fire, zone.clone())).collect();
    if lines.is_empty() {
        return ().into_any();
    }
    let rest = rest(choice.row_count, lines.len(), first, MORE_OF_EACH);
    view! { <ul class="sample choice-fires">{lines}{rest}</ul> }.into_any()
}

/// A line of what resuming does with an instant, or with several at once.
pub(in crate::pages) fn resumed_fire(fire: &PausedFire, zone: Option<String>) -> AnyView {
    let many = (fire.count > 1).then(|| {
        let words = format!(" and {} more up to ", fire.count - 1);
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

/// The last line of a list: how many more there are. It is a button as long as `most` of them are not listed yet.
fn rest(total: i64, listed: usize, first: RwSignal<i64>, most: i64) -> Option<AnyView> {
    let more = left(total, listed)?;
    let line = if first.get_untracked() < most {
        let words = format!("Show more, {more} are left");
        view! {
            <li>
                <button type="button" class="button button-quiet" on:click=move |_| first.set(most)>{words}</button>
            </li>
        }
        .into_any()
    } else {
        view! { <li class="muted">{format!("and {more} more")}</li> }.into_any()
    };
    Some(line)
}

/// How many are not listed; none if all are.
fn left(total: i64, listed: usize) -> Option<i64> {
    let left = total - i64::try_from(listed).unwrap_or(i64::MAX);
    (left > 0).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FireKind, ReasonCode};

    #[test]
    fn one_fire_runs_or_does_not() {
        assert_eq!(counts(1, 3), "1 runs, 3 do not");
        assert_eq!(counts(0, 1), "0 run, 1 does not");
    }

    #[test]
    fn a_list_that_is_whole_says_nothing_of_more() {
        assert_eq!([left(5, 5), left(0, 0), left(7, 5)], [None, None, Some(2)]);
    }

    #[test]
    fn a_fire_of_a_pause_runs_or_says_why_not() {
        let at = Moment::from_millis(0);
        let fire = PausedFire {
            scheduled_at: at,
            last_scheduled_at: at,
            count: 1,
            kind: FireKind::Normal,
            verdict: Verdict::Pending,
            reason: ReasonCode::CaughtUp,
            detail: None,
        };
        assert_eq!(outcome(&fire), "runs");
        let skipped = PausedFire { verdict: Verdict::Skipped, reason: ReasonCode::Paused, ..fire };
        assert!(outcome(&skipped).starts_with("does not run: "));
        let calendar = PausedFire { detail: Some("holidays".to_owned()), ..skipped };
        assert_eq!(outcome(&calendar), "does not run: calendar holidays");
    }
}
