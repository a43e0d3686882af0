use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use timetable::Timetable;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    payload::schedule,
    scalar::Instant,
    timing::{PREVIEW, Timing, TimingInput, TimingProblem, compile_with, preview_cost},
    timing_preview::PreviewFire,
};
use crate::commands::{
    CommandError,
    modules::{ScheduleOutlook, effect_of_edit},
};

/// Previews of edits.
#[derive(Default)]
pub(super) struct ReadingEffects;

/// Previews of edits.
#[Object]
impl ReadingEffects {
    /// How another timing would change a schedule's fires of the next 30 days, before it is saved.
    /// An invalid timing is not an error: see `problem`.
    #[graphql(
        complexity = "10 * PREVIEW + preview_cost(&timing, calendars.as_deref()) + child_complexity"
    )]
    async fn definition_effect(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "The new timing.")] timing: TimingInput,
        #[graphql(
            desc = "Names of calendars that suppress some of its fires; its current ones if absent."
        )]
        calendars: Option<Vec<String>>,
    ) -> Result<DefinitionEffect> {
        cx.viewer()?;
        let row = schedule(cx, schedule_id).await?.0;
        let is_there = row.deleted_at.is_none();
        is_there.then_some(()).ok_or_else(|| CommandError::not_found("schedule", schedule_id))?;
        let now = cx.commands().clock.now();
        let namespace = cx.rows().load_one(super::loaders::NamespaceName(row.namespace_id)).await?;
        let names = calendars.map(|names| (namespace.unwrap_or_default(), names));
        let after = match compile_with(cx, timing, Some(&row), names).await? {
            Ok(timetable) => timetable,
            Err(problem) => return Ok(DefinitionEffect::refused(problem.into(), now)),
        };
        let Ok(before) = Timing::of(&row).timetable(cx).await? else {
            let effect =
                DefinitionEffect { after: count(&after, now), ..DefinitionEffect::none(now) };
            return Ok(effect);
        };
        let outlook = ScheduleOutlook { row, timetable: before };
        let effect = effect_of_edit(&outlook, after.clone(), now);
        let told = |timetable: &Timetable, at: &DateTime<Utc>| {
            let fire = timetable.next_allowed(*at - TimeDelta::milliseconds(1))?;
            Some(PreviewFire::of(timetable, fire))
        };
        let added = effect.added_sample.iter().filter_map(|at| told(&after, at)).collect();
        let gone = &outlook.timetable;
        let removed = effect.removed_sample.iter().filter_map(|at| told(gone, at)).collect();
        Ok(DefinitionEffect {
            before: effect.before,
            after: effect.after,
            added: effect.added,
            removed: effect.removed,
            added_fires: added,
            removed_fires: removed,
            compared_until: effect.compared_until.into(),
            is_complete: effect.is_complete,
            ..DefinitionEffect::none(now)
        })
    }
}

/// How another timing would change the fires of a schedule.
#[derive(SimpleObject)]
pub(super) struct DefinitionEffect {
    /// Start of the compared range, inclusive.
    from: Instant,
    /// End of the compared range.
    until: Instant,
    /// Why the timing cannot be used; then the other fields are empty.
    problem: Option<TimingProblem>,
    /// How many fires there are now up to `until`; null if calendars have too many windows to
    /// count.
    before: Option<u64>,
    /// How many there would be with the new timing.
    after: Option<u64>,
    /// How many fires would be new.
    added: u64,
    /// How many fires would be gone.
    removed: u64,
    /// The first new fires; at most 20.
    added_fires: Vec<PreviewFire>,
    /// The first fires that would be removed; at most 20.
    removed_fires: Vec<PreviewFire>,
    /// `added` and `removed` are counted up to this instant.
    compared_until: Instant,
    /// Whether the whole range was compared.
    is_complete: bool,
}

/// How many days are compared.
const DAYS: i64 = 30;

fn count(timetable: &Timetable, now: DateTime<Utc>) -> Option<u64> {
    timetable.count_allowed(now, now + TimeDelta::days(DAYS))
}

impl DefinitionEffect {
    fn none(now: DateTime<Utc>) -> Self {
        let until = Instant(now + TimeDelta::days(DAYS));
        Self {
            from: now.into(),
            until,
            problem: None,
            before: Some(0),
            after: Some(0),
            added: 0,
            removed: 0,
            added_fires: vec![],
            removed_fires: vec![],
            compared_until: until,
            is_complete: true,
        }
    }

    fn refused(problem: TimingProblem, now: DateTime<Utc>) -> Self {
        Self { problem: Some(problem), before: None, after: None, ..Self::none(now) }
    }
}
