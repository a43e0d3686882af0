//! Reads the ledger of a schedule, newest first by scheduled time, which is unique for a schedule.

use entity::{
    Timestamp,
    fire::{Column, Entity, Model, Verdict},
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryTrait};
use uuid::Uuid;

use crate::store::{Page, PageWindow, Store, StoreError, db::page::page_descending};

/// Selects fires. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only fires with one of these verdicts.
    pub verdicts: Option<Vec<Verdict>>,
    /// Only fires scheduled at this instant or later.
    pub after: Option<Timestamp>,
    /// Only fires scheduled before this instant.
    pub before: Option<Timestamp>,
}

/// A page of the schedule's fires. The key of a fire is its scheduled time.
pub async fn page(
    store: &Store,
    schedule: Uuid,
    filter: &Filter,
    window: &PageWindow<Timestamp>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(Column::ScheduleId.eq(schedule))
        .apply_if(filter.verdicts.clone(), |query, verdicts| {
            query.filter(Column::Verdict.is_in(verdicts))
        })
        .apply_if(filter.after, |query, at| query.filter(Column::ScheduledAt.gte(at)))
        .apply_if(filter.before, |query, at| query.filter(Column::ScheduledAt.lt(at)));
    page_descending(store.read(), list, Column::ScheduledAt, window).await
}
