//! Reads backfills, newest first, and their fires in the order in which they start.

use std::collections::HashMap;

use entity::{
    backfill::{Column, Entity, Model, State},
    backfill_fire,
};
use sea_orm::{
    ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
};
use uuid::Uuid;

use super::within::Within;
use crate::store::{
    Page, PageWindow, Store, StoreError,
    db::{bulk::BulkValues, page::page_descending},
};

/// Selects backfills. A field that is `None` does not narrow the selection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Only backfills of this schedule.
    pub schedule_id: Option<Uuid>,
    /// Only backfills in this state.
    pub state: Option<State>,
}

/// The progress of a backfill: the number of its fires in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FiresByState {
    /// Number of fires that wait for their turn.
    pub pending: i64,
    /// Number of fires with a live run.
    pub running: i64,
    /// Number of fires whose run succeeded.
    pub succeeded: i64,
    /// Number of fires whose run failed.
    pub failed: i64,
    /// Number of fires that were stopped.
    pub cancelled: i64,
    /// Number of fires that were no longer needed.
    pub skipped: i64,
}

/// The backfill with this key.
pub async fn by_id(store: &Store, id: Uuid) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(store.read()).await?)
}

/// The backfills with these keys, in no particular order.
pub async fn by_ids(store: &Store, ids: &[Uuid]) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::Id.is_in(ids.iter().copied()));
    Ok(query.all(store.read()).await?)
}

/// A page of backfills, newest first.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &Filter,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(filter.schedule_id, |query, id| query.filter(Column::ScheduleId.eq(id)))
        .apply_if(filter.state, |query, state| query.filter(Column::State.eq(state)));
    page_descending(store.read(), list, Column::Id, window).await
}

/// A page of a backfill's fires, in the order in which they start.
/// The key of a fire is its position.
pub async fn fires(
    store: &Store,
    backfill: Uuid,
    state: Option<backfill_fire::State>,
    window: &PageWindow<i32>,
) -> Result<Page<backfill_fire::Model>, StoreError> {
    use backfill_fire::{Column, Entity};
    let list = Entity::find()
        .filter(Column::BackfillId.eq(backfill))
        .apply_if(state, |query, state| query.filter(Column::State.eq(state)));
    let query = list
        .clone()
        .apply_if(window.after, |query, position| query.filter(Column::Position.gt(position)))
        .order_by_asc(Column::Position)
        .limit(window.reach());
    Ok(window.page(query.all(store.read()).await?).of_list(list))
}

/// The progress of each of these backfills.
/// It is counted from an index, so it always agrees with the fires.
pub async fn progress(
    store: &Store,
    backfills: &[Uuid],
) -> Result<HashMap<Uuid, FiresByState>, StoreError> {
    #[derive(FromQueryResult)]
    struct StateCount {
        backfill_id: Uuid,
        state: backfill_fire::State,
        fires: i64,
    }
    if backfills.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = BulkValues::default().uuid("id", backfills.iter().copied()).statement(
        store.dialect(),
        "SELECT f.backfill_id AS backfill_id, f.state AS state, count(*) AS fires \
         FROM v JOIN backfill_fire f ON f.backfill_id = v.id GROUP BY f.backfill_id, f.state",
        vec![],
    );
    let mut all: HashMap<Uuid, FiresByState> = HashMap::new();
    for row in StateCount::find_by_statement(statement).all(store.read()).await? {
        let progress = all.entry(row.backfill_id).or_default();
        let count = match row.state {
            backfill_fire::State::Pending => &mut progress.pending,
            backfill_fire::State::Running => &mut progress.running,
            backfill_fire::State::Succeeded => &mut progress.succeeded,
            backfill_fire::State::Failed => &mut progress.failed,
            backfill_fire::State::Cancelled => &mut progress.cancelled,
            backfill_fire::State::Skipped => &mut progress.skipped,
        };
        *count = row.fires;
    }
    Ok(all)
}
