//! The audit log. Only ever written to, and read; nothing in it is changed.

use entity::{
    Timestamp,
    audit_event::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait,
};
use uuid::Uuid;

use crate::store::{Page, StoreError, Window};

/// Which entries. What is None does not narrow.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// They concern this namespace.
    pub namespace: Option<Uuid>,
    /// This one did it.
    pub actor: Option<String>,
    /// This was done: `schedule.pause`.
    pub action: Option<String>,
    /// It was done to one of this kind: `schedule`.
    pub kind: Option<String>,
    /// It was done to that.
    pub subject_id: Option<Uuid>,
    /// It was done to what had this name then.
    pub subject: Option<String>,
    /// At this instant or later.
    pub after: Option<Timestamp>,
    /// Earlier.
    pub before: Option<Timestamp>,
}

/// A page of the entries, newest first.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    filter: &Filter,
    window: &Window<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let order = if window.from_end { Order::Asc } else { Order::Desc };
    let list = Entity::find()
        .apply_if(filter.namespace, |query, id| query.filter(Column::NamespaceId.eq(id)))
        .apply_if(filter.actor.as_deref(), |query, actor| query.filter(Column::Actor.eq(actor)))
        .apply_if(filter.action.as_deref(), |query, word| query.filter(Column::Action.eq(word)))
        // Kinds are plain words: whoever asks has seen to that.
        .apply_if(filter.kind.as_deref(), |query, kind| {
            query.filter(Column::Action.starts_with(format!("{kind}.")))
        })
        .apply_if(filter.subject_id, |query, id| query.filter(Column::SubjectId.eq(id)))
        .apply_if(filter.subject.as_deref(), |query, name| query.filter(Column::Subject.eq(name)))
        .apply_if(filter.after, |query, at| query.filter(Column::At.gte(at)))
        .apply_if(filter.before, |query, at| query.filter(Column::At.lt(at)));
    let query = list
        .clone()
        .apply_if(window.after, |query, id| query.filter(Column::Id.lt(id)))
        .apply_if(window.before, |query, id| query.filter(Column::Id.gt(id)))
        .order_by(Column::Id, order)
        .limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// Adds an entry.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}
