//! The effects of resuming a schedule.

use async_graphql::{Object, SimpleObject};
use entity::Timestamp;

use super::{
    error::Result,
    fire::{ReasonCode, Verdict},
    page::{Connection, DECLARED, Paging, connection, cost},
    scalar::{Instant, Long},
    schedule_policy::CatchUp,
    timing_preview::FireKind,
};
use crate::{
    commands,
    store::{Total, claims::NewFire},
};

/// The effects of resuming a schedule at an instant, for each way to resume.
#[derive(SimpleObject)]
pub(crate) struct ResumePreview {
    /// The instant: pass it back as `at` to read the next page of rows.
    at: Instant,
    /// Whether the schedule is paused. If not, resuming does nothing, and there are no choices
    /// unless `ifPaused` or `until` asks for them.
    paused: bool,
    /// The effects of each way to resume.
    #[graphql(complexity = "DECLARED * child_complexity")]
    choices: Vec<ResumeChoice>,
}

/// The effects of one way to resume.
pub(crate) struct ResumeChoice(commands::ResumeChoice);

/// The effects of one way to resume.
#[Object]
impl ResumeChoice {
    /// What becomes of the fires that fell into the pause.
    async fn missed(&self) -> CatchUp {
        self.0.missed.into()
    }

    /// How many of these fires would run: one after another, except under the overlap policy ALLOW.
    async fn runs(&self) -> Long {
        self.0.foreseen.runs.into()
    }

    /// How many instants would not run.
    async fn others(&self) -> Long {
        self.0.foreseen.others.into()
    }

    /// The rows that the ledger would get, in order; at most the first 10,000. Pass the first
    /// page's `at` to read later pages of the same list.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn rows(
        &self,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<ResumeRow>> {
        page_of(&self.0.foreseen.fires, first, after)
    }

    /// How many rows the ledger would get in total.
    async fn row_count(&self) -> Long {
        self.0.foreseen.rows.into()
    }

    /// The first instant after the pause.
    async fn next_fire_at(&self) -> Option<Instant> {
        self.0.next.map(Into::into)
    }
}

/// A page of the rows that the end of a pause would write.
pub(crate) fn page_of(
    fires: &[NewFire],
    first: Option<i32>,
    after: Option<String>,
) -> Result<Connection<ResumeRow>> {
    // Each instant has at most one row, so the instant serves as the cursor.
    let key = |text: &str| text.parse().ok().map(Timestamp);
    let window = Paging::forward(first, after).window(key)?;
    let behind = |fire: &&NewFire| window.after.is_none_or(|after| fire.scheduled_at > after);
    let reach = usize::try_from(window.reach()).unwrap_or(usize::MAX);
    let rows = fires.iter().filter(behind).take(reach).collect();
    let cursor = |fire: &&NewFire| fire.scheduled_at.0.to_string();
    let total = i64::try_from(fires.len()).unwrap_or(i64::MAX);
    let page = window.page(rows).counted(|| Total::Known(total));
    Ok(connection(page, cursor, ResumeRow::from))
}

/// An instant of a pause, or a range of instants with the same outcome.
#[derive(SimpleObject)]
pub(crate) struct ResumeRow {
    /// Always true: the ledger has this row only once the pause has ended.
    r#virtual: bool,
    /// The instant, before jitter; the first one of a range.
    scheduled_at: Instant,
    /// The last instant of a range; equal to `scheduledAt` if there is only one.
    last_scheduled_at: Instant,
    /// The number of instants.
    count: Long,
    /// When the fire would run, if it would.
    due_at: Instant,
    /// How a clock change affects the instant.
    kind: FireKind,
    /// PENDING means that it would run.
    verdict: Verdict,
    /// Why it has this verdict.
    reason: ReasonCode,
    /// The calendar that suppresses the fire, if one does.
    detail: Option<String>,
}

impl From<&NewFire> for ResumeRow {
    fn from(fire: &NewFire) -> Self {
        Self {
            r#virtual: true,
            scheduled_at: fire.scheduled_at.into(),
            last_scheduled_at: fire.last_scheduled_at.into(),
            count: fire.count.into(),
            due_at: fire.due_at.into(),
            kind: fire.kind.into(),
            verdict: fire.verdict.into(),
            reason: fire.reason.into(),
            detail: fire.detail.clone(),
        }
    }
}

impl From<commands::ResumePreview> for ResumePreview {
    fn from(preview: commands::ResumePreview) -> Self {
        let choices = preview.choices.into_iter().map(ResumeChoice).collect();
        Self { at: preview.at.into(), paused: preview.paused, choices }
    }
}
