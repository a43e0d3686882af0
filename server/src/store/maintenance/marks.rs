//! Marks schedules with the pause that a maintenance window plans for them.
//!
//! A schedule has at most one mark: that of the window that begins first. When its pause has begun,
//! the next window can mark the schedule.

use entity::{
    Timestamp,
    maintenance_window::{self, Model, State},
    schedule::{Column, Entity},
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, Select,
    sea_query::{Expr, SelectStatement},
};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, rows::KeyRow, within::Within},
    reads::{schedules, search::TimedSearch},
};

/// When the pause of a schedule begins: a schedule that is created during the window is paused from
/// its creation on.
const BEGINS: &str = "CASE WHEN created_at > {0} THEN created_at ELSE {0} END";

/// The condition that a schedule should get the mark of a window, apart from the window's search.
fn lacks_mark(window: &Model) -> Condition {
    let (id, starts_at) = (window.id, window.starts_at);
    let is_free = Condition::any()
        .add(Column::PauseWindowId.is_null())
        // The window that begins first has the mark.
        .add(
            Condition::all().add(Column::PauseWindowId.ne(id)).add(Column::PauseFrom.gt(starts_at)),
        );
    let was_paused =
        Condition::any().add(Column::PausedWindowId.is_null()).add(Column::PausedWindowId.ne(id));
    let all = Condition::all().add(was_paused).add(Column::CreatedAt.lt(window.ends_at));
    if window.state == State::Planned {
        // A window that was moved takes its marks along.
        let is_moved = Condition::all()
            .add(Column::PauseWindowId.eq(id))
            .add(Column::PauseFrom.ne(starts_at))
            .add(Column::CreatedAt.lte(starts_at));
        return all.add(is_free.add(is_moved));
    }
    // Schedules that are older than the window were marked before it began. If one of them is not
    // paused now, a user has resumed it.
    let is_new = Condition::all()
        .add(Column::Enabled.eq(true))
        .add(Column::PausedWindowId.is_null())
        .add(Column::CreatedAt.gte(starts_at));
    // Another window holds the schedule, but not until this one ends.
    let ends_earlier = Condition::any()
        .add(Column::PausedUntil.lt(window.ends_at))
        .add(Column::PausedWindowId.in_subquery(cancelled()));
    let is_held = Condition::all()
        .add(Column::Enabled.eq(false))
        .add(Column::PausedWindowId.is_not_null())
        .add(ends_earlier);
    all.add(is_free).add(Condition::any().add(is_new).add(is_held))
}

/// The windows that are cancelled, and whose pauses are about to end.
fn cancelled() -> SelectStatement {
    use maintenance_window::{Column, Entity};
    Entity::find()
        .select_only()
        .column(Column::Id)
        .filter(Column::State.eq(State::Cancelled))
        .filter(Column::IsOpen.eq(true))
        .into_query()
}

/// The schedules that match a window.
fn matching(store: &Store, window: &Model, search: Option<&TimedSearch>) -> Select<Entity> {
    let filter = schedules::Filter { search: search.cloned(), ..schedules::Filter::default() };
    schedules::matching(store, &Within::One(window.namespace_id), &filter)
}

impl Store {
    /// Up to `limit` schedules that should get the mark of a window.
    pub async fn to_mark(
        &self,
        window: &Model,
        search: Option<&TimedSearch>,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let query = matching(self, window, search)
            .filter(lacks_mark(window))
            .select_only()
            .column(Column::Id)
            .limit(limit);
        self.found_keys(query, search.is_some()).await
    }

    /// Up to `limit` schedules that have the mark of a window, no longer match its search, and whose
    /// pause has not begun.
    pub async fn to_unmark(
        &self,
        window: &Model,
        search: &TimedSearch,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let theirs = matching(self, window, Some(search)).select_only().column(Column::Id);
        let query = Entity::find()
            .select_only()
            .column(Column::Id)
            .filter(Column::PauseWindowId.eq(window.id))
            .filter(Column::PauseFrom.gt(search.at))
            .filter(Column::Id.not_in_subquery(theirs.into_query()))
            .limit(limit);
        self.found_keys(query, true).await
    }

    /// Gives these schedules the mark of a locked window, as far as they should still have it.
    /// Returns their number.
    pub async fn mark(
        &self,
        tx: &DatabaseTransaction,
        window: &Model,
        schedules: &[Uuid],
    ) -> Result<u64, StoreError> {
        let query = Entity::find()
            .select_only()
            .column(Column::Id)
            .filter(Column::Id.is_in(schedules.iter().copied()))
            .filter(Column::DeletedAt.is_null())
            .filter(lacks_mark(window))
            .order_by_asc(Column::Id)
            .lock_exclusive();
        let locked: Vec<Uuid> = query.into_tuple().all(tx).await?;
        if locked.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "UPDATE schedule SET pause_from = {BEGINS}, pause_window_id = {{1}}, changed = {} \
             FROM v WHERE schedule.id = v.marked",
            self.dialect().stamp("schedule")
        );
        let values = vec![window.starts_at.0.into(), window.id.into()];
        let statement = BulkValues::default().uuid("marked", locked.into_iter()).statement(
            self.dialect(),
            &sql,
            values,
        );
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }

    /// Removes the mark of a locked window from these schedules. Returns how many had it.
    pub async fn unmark(
        &self,
        tx: &DatabaseTransaction,
        window: Uuid,
        schedules: &[Uuid],
    ) -> Result<u64, StoreError> {
        let query = Entity::find()
            .select_only()
            .column(Column::Id)
            .filter(Column::Id.is_in(schedules.iter().copied()))
            .filter(Column::PauseWindowId.eq(window))
            .order_by_asc(Column::Id)
            .lock_exclusive();
        let locked: Vec<Uuid> = query.into_tuple().all(tx).await?;
        if locked.is_empty() {
            return Ok(0);
        }
        let update = Entity::update_many()
            .col_expr(Column::PauseFrom, Expr::value(None::<Timestamp>))
            .col_expr(Column::PauseWindowId, Expr::value(None::<Uuid>))
            .col_expr(Column::Changed, Expr::cust(self.dialect().stamp("schedule")))
            .filter(Column::Id.is_in(locked));
        Ok(update.exec(tx).await?.rows_affected)
    }

    /// Up to `limit` schedules that have the mark of a window.
    pub async fn marked(&self, window: Uuid, limit: u64) -> Result<Vec<Uuid>, StoreError> {
        let query = Entity::find()
            .select_only()
            .column(Column::Id)
            .filter(Column::PauseWindowId.eq(window))
            .limit(limit);
        Ok(query.into_tuple().all(self.rounds()).await?)
    }

    /// Schedules whose mark is due by `now` and which the window leaves alone: those that were
    /// paused already when it began, unless another window holds them and ends earlier. Up to
    /// `limit`.
    pub async fn to_leave_alone(
        &self,
        window: &Model,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT id FROM schedule WHERE pause_window_id = $1 AND pause_from <= $2 \
               AND NOT enabled AND (paused_until IS NULL OR paused_until > pause_from) \
               AND (paused_window_id IS NULL OR paused_until IS NULL OR (paused_until >= $3 \
                 AND paused_window_id NOT IN (SELECT id FROM maintenance_window \
                   WHERE state = 'cancelled' AND is_open))) LIMIT $4";
        let values =
            [window.id.into(), now.0.into(), window.ends_at.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        let rows = KeyRow::find_by_statement(statement).all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}
