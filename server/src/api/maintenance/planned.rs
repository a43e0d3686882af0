use async_graphql::{Context, SimpleObject};
use entity::{maintenance_window, schedule::Model};
use timetable::{Timetable, TimingError};

use super::window::MaintenanceWindow;
use crate::{
    api::{
        context::ContextExt, error::Result, loaders::MaintenanceRow, scalar::Instant,
        schedule_policy::CatchUp, timing::Timing,
    },
    engine::planning::windows::pause_text,
};

/// The pause that a maintenance window will begin.
#[derive(SimpleObject)]
pub(crate) struct PlannedPause {
    /// When the schedule will be paused, inclusive.
    from: Instant,
    /// When it will resume.
    until: Instant,
    /// What becomes of the fires that fall into the pause.
    missed: CatchUp,
    /// The window that plans it.
    window: MaintenanceWindow,
}

impl PlannedPause {
    /// The pause that is planned for a schedule; `None` without a mark.
    pub(in crate::api) async fn of(cx: &Context<'_>, row: &Model) -> Result<Option<Self>> {
        let Some(window) = window_of(cx, row).await? else { return Ok(None) };
        Ok(row.pause_from.map(|from| Self {
            from: from.into(),
            until: window.ends_at.into(),
            missed: window.missed.into(),
            window: MaintenanceWindow(window),
        }))
    }
}

/// The timetable of a schedule's row, in which the pause that is planned for it suppresses fires as
/// a calendar does, so that no forecast promises them.
pub(in crate::api) async fn timetable(
    cx: &Context<'_>,
    row: &Model,
) -> Result<std::result::Result<Timetable, TimingError>> {
    let timetable = Timing::of(row).timetable(cx).await?;
    let (Some(from), Some(window)) = (row.pause_from, window_of(cx, row).await?) else {
        return Ok(timetable);
    };
    let reason = pause_text(&window).reason;
    Ok(timetable.map(|plain| plain.without(&reason, from.utc(), window.ends_at.utc())))
}

/// The window that has marked a schedule.
async fn window_of(cx: &Context<'_>, row: &Model) -> Result<Option<maintenance_window::Model>> {
    let Some(id) = row.pause_window_id else { return Ok(None) };
    Ok(cx.rows().load_one(MaintenanceRow(id)).await?)
}
