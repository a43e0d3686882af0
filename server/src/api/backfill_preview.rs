use async_graphql::{Context, Enum, Object};
use entity::Timestamp;

use super::{
    context::ContextExt,
    error::Result,
    fire::Fire,
    loaders::FireRow,
    page::{Connection, Paging, connection, cost},
    scalar::Instant,
    timing_preview::{FireKind, LOCAL},
};
use crate::{
    commands::{FiresPreview, PreviewedFire},
    engine::planning::backfill,
    store::Total,
};

/// What a backfill of a window would run.
pub(crate) struct BackfillPreview(pub(crate) FiresPreview);

/// What a backfill of a window would run.
#[Object]
impl BackfillPreview {
    /// The number of fires in the window.
    async fn total(&self) -> i32 {
        self.count(|_| true)
    }

    /// Fires that have had no run.
    async fn missing(&self) -> i32 {
        self.of(InstantState::Missing)
    }

    /// Fires for which a run succeeded.
    async fn succeeded(&self) -> i32 {
        self.of(InstantState::Succeeded)
    }

    /// Fires whose runs have ended, none of them successfully.
    async fn failed(&self) -> i32 {
        self.of(InstantState::Failed)
    }

    /// Fires with a run that is alive or about to start.
    async fn live(&self) -> i32 {
        self.of(InstantState::Live)
    }

    /// Fires that have had no run and that a calendar of the schedule suppresses.
    async fn suppressed(&self) -> i32 {
        self.of(InstantState::Suppressed)
    }

    /// Fires so old that their runs may have been removed.
    async fn forgotten(&self) -> i32 {
        self.of(InstantState::Forgotten)
    }

    /// Fires that a backfill in this mode would run.
    async fn selected(&self) -> i32 {
        self.count(|fire| fire.selected)
    }

    /// The window's fires, oldest first: all of them, or only those with this `standing`, or only
    /// those that would run.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn fires(
        &self,
        #[graphql(desc = "Only fires in this state.")] standing: Option<InstantState>,
        #[graphql(default = false, desc = "Whether to leave out fires that would not run.")]
        selected_only: bool,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<BackfillPreviewFire>> {
        let key = |text: &str| text.parse().ok().map(Timestamp);
        let window = Paging::forward(first, after).window(key)?;
        let at = |looked: &PreviewedFire| Timestamp::from(looked.fire.at);
        let wanted = |looked: &&PreviewedFire| {
            (looked.selected || !selected_only)
                && standing.is_none_or(|standing| InstantState::from(looked.standing) == standing)
        };
        let total = i64::from(self.count(|looked| wanted(&looked)));
        let behind = |looked: &&PreviewedFire| window.after.is_none_or(|after| at(looked) > after);
        let reach = usize::try_from(window.reach()).unwrap_or(usize::MAX);
        let rows = self.0.fires.iter().filter(wanted).filter(behind).take(reach).copied().collect();
        let page = window.page(rows).counted(|| Total::Known(total));
        Ok(connection(page, |looked| at(looked).0.to_string(), BackfillPreviewFire))
    }
}

impl BackfillPreview {
    fn of(&self, standing: InstantState) -> i32 {
        self.count(|fire| InstantState::from(fire.standing) == standing)
    }

    /// Cannot overflow: there are at most 10,000 fires.
    fn count(&self, wanted: impl Fn(&PreviewedFire) -> bool) -> i32 {
        let count = self.0.fires.iter().filter(|fire| wanted(fire)).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    }
}

/// A fire of a window, and its state.
pub(crate) struct BackfillPreviewFire(PreviewedFire);

/// A fire of a window, and its state.
#[Object]
impl BackfillPreviewFire {
    /// The instant.
    async fn at(&self) -> Instant {
        self.0.fire.at.into()
    }

    /// Wall-clock time in the schedule's zone, without offset: 2026-03-29T03:00:00
    async fn local(&self) -> String {
        self.0.fire.local.format(LOCAL).to_string()
    }

    /// UTC offset, such as +02:00
    async fn offset(&self) -> String {
        self.0.fire.offset.to_string()
    }

    /// How a clock change affects the instant.
    async fn kind(&self) -> FireKind {
        self.0.fire.kind.into()
    }

    /// What has become of the instant.
    async fn standing(&self) -> InstantState {
        self.0.standing.into()
    }

    /// Whether a backfill in this mode would run the fire.
    async fn selected(&self) -> bool {
        self.0.selected
    }

    /// The ledger row that accounts for the fire, alone or with other fires.
    async fn fire(&self, cx: &Context<'_>) -> Result<Option<Fire>> {
        let Some(id) = self.0.fire_id else { return Ok(None) };
        Ok(cx.rows().load_one(FireRow(id)).await?.map(Fire))
    }
}

/// The state of a past instant.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "backfill::InstantState", name = "BackfillStanding")]
pub(crate) enum InstantState {
    /// The instant has had no run: the ledger has no row for it, or one that says why it did not
    /// run.
    Missing,
    /// A run for the instant succeeded.
    Succeeded,
    /// The runs of the instant have ended, none of them successfully.
    Failed,
    /// A run for the instant is alive, or about to start.
    Live,
    /// The instant has had no run, and a calendar of the schedule suppresses it.
    Suppressed,
    /// The instant is so old that its runs may have been removed.
    Forgotten,
}
