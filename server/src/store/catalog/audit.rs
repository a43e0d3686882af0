//! The audit log. Entries are only added and read; they never change.

use entity::{
    Timestamp,
    audit_event::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryTrait, sea_query::LikeExpr,
};
use uuid::Uuid;

use crate::store::{Page, PageWindow, StoreError, db::page::page_descending};

/// Selects entries of the audit log. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only entries of this namespace.
    pub namespace: Option<Uuid>,
    /// Only entries by this actor.
    pub actor: Option<String>,
    /// Only entries of this action, such as `schedule.pause`.
    pub action: Option<String>,
    /// Only entries about this kind of object, such as `schedule`.
    pub kind: Option<String>,
    /// Only entries about the object with this key.
    pub subject_id: Option<Uuid>,
    /// Only entries about objects that had this name at the time.
    pub subject: Option<String>,
    /// Only entries at this instant or later.
    pub after: Option<Timestamp>,
    /// Only entries before this instant.
    pub before: Option<Timestamp>,
}

/// A page of entries, newest first.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    filter: &Filter,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .apply_if(filter.namespace, |query, id| query.filter(Column::NamespaceId.eq(id)))
        .apply_if(filter.actor.as_deref(), |query, actor| query.filter(Column::Actor.eq(actor)))
        .apply_if(filter.action.as_deref(), |query, word| query.filter(Column::Action.eq(word)))
        // The caller has checked that a kind has only letters and `_`, which LIKE reads as any
        // letter.
        .apply_if(filter.kind.as_deref(), |query, kind| {
            let pattern = format!("{}.%", kind.replace('_', "!_"));
            query.filter(Column::Action.like(LikeExpr::new(pattern).escape('!')))
        })
        .apply_if(filter.subject_id, |query, id| query.filter(Column::SubjectId.eq(id)))
        .apply_if(filter.subject.as_deref(), |query, name| query.filter(Column::Subject.eq(name)))
        .apply_if(filter.after, |query, at| query.filter(Column::At.gte(at)))
        .apply_if(filter.before, |query, at| query.filter(Column::At.lt(at)));
    page_descending(connection, list, Column::Id, window).await
}

/// Adds entries to the audit log.
pub async fn insert_all<C: ConnectionTrait>(
    tx: &C,
    rows: Vec<ActiveModel>,
) -> Result<(), StoreError> {
    if !rows.is_empty() {
        Entity::insert_many(rows).exec_without_returning(tx).await?;
    }
    Ok(())
}

/// Adds an entry to the audit log.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}
