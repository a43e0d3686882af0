//! What will happen: the fires of a timing, and the effects of pauses, resumes and edits.

use super::super::{Ask, operations};
use crate::{
    model::{
        Candidate, DefinitionEffect, FireDay, PauseEffect, PausedFires, Preview, PreviewFire,
        ResumeEffect, SearchPauseEffect, SlotAccount,
    },
    time::Moment,
};

pub(crate) fn preview(
    timing: operations::preview::TimingInput,
    calendars: Vec<String>,
    namespace: String,
    schedule_id: Option<String>,
    count: i64,
) -> Ask<Preview> {
    let calendars = Some(calendars);
    Ask::new::<operations::Preview>(operations::preview::Variables {
        timing,
        count,
        calendars,
        namespace,
        schedule_id,
    })
}

/// The starts that a timing would add to each minute of the next week, beside those of all other schedules of the
/// namespace.
pub(crate) fn candidate(
    timing: operations::candidate::TimingInput,
    namespace: String,
    schedule_id: Option<String>,
    workflow: Option<String>,
) -> Ask<Candidate> {
    let variables = operations::candidate::Variables { namespace, timing, schedule_id, workflow };
    Ask::new::<operations::Candidate>(variables)
}

/// The effect of another timing, with these calendars, on a schedule's fires of the next 30 days.
pub(crate) fn definition_effect(
    id: String,
    timing: operations::definition_effect::TimingInput,
    calendars: Vec<String>,
) -> Ask<DefinitionEffect> {
    let calendars = Some(calendars);
    let variables = operations::definition_effect::Variables { id, timing, calendars };
    Ask::new::<operations::DefinitionEffect>(variables)
}

/// The effect of resuming a schedule now, or of the automatic end of its pause at `until`, for each policy for missed
/// fires, with at most this many rows of each.
pub(crate) fn resume_preview(id: String, until: Option<Moment>, first: i64) -> Ask<ResumeEffect> {
    Ask::new::<operations::ResumePreview>(operations::resume_preview::Variables {
        id,
        until,
        first,
    })
}

/// A schedule's upcoming fires, from an instant on.
pub(crate) fn fires_ahead(id: String, count: i64, from: Option<Moment>) -> Ask<Vec<PreviewFire>> {
    Ask::new::<operations::FiresAhead>(operations::fires_ahead::Variables { id, count, from })
}

/// How often a schedule fires on each of the coming days.
pub(crate) fn fire_days(id: String, count: i64) -> Ask<Vec<FireDay>> {
    Ask::new::<operations::FireDays>(operations::fire_days::Variables { id, count })
}

/// The fires that have fallen into a schedule's pause so far.
pub(crate) fn paused_fires(id: String, first: i64) -> Ask<PausedFires> {
    Ask::new::<operations::PausedFires>(operations::paused_fires::Variables { id, first })
}

/// The outcomes of a schedule's instants in the last seven days.
pub(crate) fn slots(id: String) -> Ask<SlotAccount> {
    Ask::new::<operations::Slots>(operations::slots::Variables { id })
}

/// The fires that pausing a schedule now would suppress; at most this many of them are listed.
pub(crate) fn pause_preview(id: String, until: Option<Moment>, first: i64) -> Ask<PauseEffect> {
    let variables = operations::pause_preview::Variables { ids: vec![id], until, first };
    Ask::new::<operations::PausePreview>(variables)
}

/// The fires that pausing all schedules of a search would suppress.
pub(crate) fn pause_preview_of_search(
    namespace: String,
    search: String,
    until: Option<Moment>,
) -> Ask<SearchPauseEffect> {
    Ask::new::<operations::PausePreviewOfSearch>(operations::pause_preview_of_search::Variables {
        namespace,
        search,
        until,
    })
}
