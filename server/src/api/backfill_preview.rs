use async_graphql::{Context, Enum, Object};
use entity::Timestamp;

use super::{
    context::Ask,
    error::Result,
    fire::Fire,
    loaders::FireRow,
    page::{Connection, Paging, connection, cost},
    scalar::Instant,
    timing::{FireKind, LOCAL},
};
use crate::{
    commands::{Looked, Preview},
    engine::planning::backfill,
    store::Total,
};

/// What a backfill of a window would run.
pub(crate) struct BackfillPreview(pub(crate) Preview);

/// What a backfill of a window would run.
#[Object]
impl BackfillPreview {
    /// The window's fires.
    async fn total(&self) -> i32 {
        self.count(|_| true)
    }

    /// Nothing has run for them.
    async fn missing(&self) -> i32 {
        self.of(InstantState::Missing)
    }

    /// A run for them succeeded.
    async fn succeeded(&self) -> i32 {
        self.of(InstantState::Succeeded)
    }

    /// Runs for them have ended, none of them well.
    async fn failed(&self) -> i32 {
        self.of(InstantState::Failed)
    }

    /// A run for them is alive, or about to start.
    async fn live(&self) -> i32 {
        self.of(InstantState::Live)
    }

    /// Nothing has run for them, and a calendar of the schedule suppresses them.
    async fn suppressed(&self) -> i32 {
        self.of(InstantState::Suppressed)
    }

    /// They are so long ago that what has run for them may have been removed.
    async fn forgotten(&self) -> i32 {
        self.of(InstantState::Forgotten)
    }

    /// Those that a backfill in this mode would run.
    async fn selected(&self) -> i32 {
        self.count(|fire| fire.selected)
    }

    /// The window's fires, oldest first: all of them, those that have come to the same, or those
    /// that would run.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn fires(
        &self,
        standing: Option<InstantState>,
        #[graphql(default = false)] selected_only: bool,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Connection<BackfillPreviewFire>> {
        let key = |text: &str| text.parse().ok().map(Timestamp);
        let window = Paging::forward(first, after).window(key)?;
        let at = |looked: &Looked| Timestamp::from(looked.fire.at);
        let wanted = |looked: &&Looked| {
            (looked.selected || !selected_only)
                && standing.is_none_or(|standing| InstantState::from(looked.standing) == standing)
        };
        let total = i64::from(self.count(|looked| wanted(&looked)));
        let behind = |looked: &&Looked| window.after.is_none_or(|after| at(looked) > after);
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

    /// There are 10,000 at the most.
    fn count(&self, wanted: impl Fn(&Looked) -> bool) -> i32 {
        let count = self.0.fires.iter().filter(|fire| wanted(fire)).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    }
}

/// A fire of a window, and what it has come to.
pub(crate) struct BackfillPreviewFire(Looked);

/// A fire of a window, and what it has come to.
#[Object]
impl BackfillPreviewFire {
    async fn at(&self) -> Instant {
        self.0.fire.at.into()
    }

    /// Wall-clock time in the schedule's zone, without offset: 2026-03-29T03:00:00
    async fn local(&self) -> String {
        self.0.fire.local.format(LOCAL).to_string()
    }

    /// As +02:00
    async fn offset(&self) -> String {
        self.0.fire.offset.to_string()
    }

    async fn kind(&self) -> FireKind {
        self.0.fire.kind.into()
    }

    async fn standing(&self) -> InstantState {
        self.0.standing.into()
    }

    /// Whether a backfill in this mode would run it.
    async fn selected(&self) -> bool {
        self.0.selected
    }

    /// The ledger's row that accounts for it, alone or among others.
    async fn fire(&self, cx: &Context<'_>) -> Result<Option<Fire>> {
        let Some(id) = self.0.fire_id else { return Ok(None) };
        Ok(cx.rows().load_one(FireRow(id)).await?.map(Fire))
    }
}

/// What an instant of the past has come to.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "backfill::InstantState", name = "BackfillStanding")]
pub(crate) enum InstantState {
    /// Nothing has run for it: the ledger has no row of it, or one that says why not.
    Missing,
    /// A run for it succeeded.
    Succeeded,
    /// Runs for it have ended, none of them well.
    Failed,
    /// A run for it is alive, or about to start.
    Live,
    /// Nothing has run for it, and a calendar of the schedule says that nothing should.
    Suppressed,
    /// It is so long ago that what has run for it may have been removed.
    Forgotten,
}
