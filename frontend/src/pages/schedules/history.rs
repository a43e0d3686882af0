//! The recent fires of the schedules on the page, and the values derived from them. They are most of the data that a
//! list loads and draws, so they are loaded after the rows. The rows reserve their space.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    api,
    components::{Mark, badge, fire_history, live, reason_text, tally_bar},
    data::{Listing, Load, use_load},
    model::{RecentFire, ScheduleHistories, ScheduleHistory, ScheduleRow, Verdict},
    time::{Moment, duration, local_words},
};

/// The histories of the schedules on the page.
#[derive(Clone, Copy)]
pub(super) struct Histories(Load<ScheduleHistories>);

/// Loads the histories after each drawing of the list.
pub(super) fn use_histories(schedules: Listing<ScheduleRow>) -> Histories {
    Histories(use_load(move || {
        let _answers = schedules.drawn();
        let ids = untrack(|| schedules.list.ids());
        (!ids.is_empty()).then(|| api::schedule_histories(ids))
    }))
}

impl Histories {
    /// The last fires of a schedule as bars.
    pub(super) fn bars(self, schedule: &ScheduleRow) -> AnyView {
        self.cell(schedule, bars)
    }

    /// The 95th percentile of the durations of a schedule's recent runs.
    pub(super) fn p95(self, schedule: &ScheduleRow) -> AnyView {
        self.cell(schedule, p95)
    }

    /// The outcome of a schedule's newest fire, and the reason.
    pub(super) fn verdict(self, schedule: &ScheduleRow) -> AnyView {
        self.cell(schedule, verdict)
    }

    /// The outcomes of a schedule's fires of the last 24 hours.
    pub(super) fn day(self, schedule: &ScheduleRow) -> AnyView {
        self.cell(schedule, day)
    }

    /// A cell of a row, drawn without a history until the history is loaded.
    fn cell(
        self,
        schedule: &ScheduleRow,
        draw: fn(Option<&Arc<ScheduleHistory>>) -> AnyView,
    ) -> AnyView {
        let id = schedule.id.clone();
        let history = Memo::new(move |_| self.0.get().and_then(|all| all.of(&id)));
        live(move || draw(history.get().as_ref()))
    }
}

fn bars(history: Option<&Arc<ScheduleHistory>>) -> AnyView {
    let Some(history) = history else { return fire_history(&[], |_| None) };
    let marks: Vec<Mark> = history.recent_fires.iter().rev().map(|fire| mark(fire)).collect();
    let history = history.clone();
    fire_history(&marks, move |at| {
        // The bars are drawn with the oldest fire first.
        let fire = history.recent_fires.iter().rev().nth(at)?;
        let local = local_words(&fire.local, Moment::now());
        Some(format!("{local} {}: {}", fire.offset, fire.reason.text))
    })
}

fn mark(fire: &RecentFire) -> Mark {
    match (fire.run, fire.verdict) {
        (Some(run), Verdict::Started | Verdict::Pending) => Mark::Run(run.state),
        (_, verdict) => Mark::Verdict(verdict),
    }
}

fn verdict(history: Option<&Arc<ScheduleHistory>>) -> AnyView {
    match history.and_then(|history| history.recent_fires.first()) {
        Some(fire) => {
            let (text, mark) = (&fire.reason.text, Mark::Verdict(fire.verdict));
            view! {
                <div class="verdict-later">
                    {badge(mark)}<span class="cell-note" title=text.clone()>{reason_text(text)}</span>
                </div>
            }
            .into_any()
        }
        None => view! { <div class="verdict-later muted">"–"</div> }.into_any(),
    }
}

fn p95(history: Option<&Arc<ScheduleHistory>>) -> AnyView {
    let title = "95 % of the runs under \"Last 40\" took no longer";
    match history.and_then(|history| history.p95()) {
        Some(millis) => {
            view! { <span class="figure-later" title=title>{duration(millis)}</span> }.into_any()
        }
        None => view! { <span class="figure-later muted">"–"</span> }.into_any(),
    }
}

fn day(history: Option<&Arc<ScheduleHistory>>) -> AnyView {
    match history {
        Some(history) => tally_bar(history.tally),
        None => view! { <span class="tally"></span> }.into_any(),
    }
}
