//! Modules: their stored declarations, and the objects that they adopt.

use entity::{
    Timestamp,
    module::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ConnectionTrait, EntityTrait, QuerySelect, Set,
    sea_query::{Expr, ExprTrait, OnConflict, Query},
};
use uuid::Uuid;

use crate::store::{Dialect, StoreError};

/// A kind of object that a module declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredKind {
    /// An alert channel.
    AlertChannel,
    /// An alert rule.
    AlertRule,
    /// A calendar.
    Calendar,
    /// A concurrency group.
    Group,
    /// A budget of a tag.
    HealthBudget,
    /// A maintenance window.
    MaintenanceWindow,
    /// A workflow.
    Workflow,
    /// A schedule.
    Schedule,
}

/// The module, as it was last deployed.
pub async fn find<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id((namespace, name.to_owned())).one(connection).await?)
}

/// The module, as it was last deployed, locked until the transaction ends.
pub async fn lock<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id((namespace, name.to_owned())).lock_exclusive().one(tx).await?)
}

/// Stores the current declaration of the module.
pub async fn keep<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    name: &str,
    declared: serde_json::Value,
    by: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let row = ActiveModel {
        namespace_id: Set(namespace),
        name: Set(name.to_owned()),
        declared: Set(declared),
        deployed_by: Set(by.to_owned()),
        deployed_at: Set(at),
    };
    let anew = OnConflict::columns([Column::NamespaceId, Column::Name])
        .update_columns([Column::Declared, Column::DeployedBy, Column::DeployedAt])
        .to_owned();
    Entity::insert(row).on_conflict(anew).exec_without_returning(tx).await?;
    Ok(())
}

/// Removes a module that declares nothing any more.
pub async fn forget<C: ConnectionTrait>(
    tx: &C,
    namespace: Uuid,
    name: &str,
) -> Result<(), StoreError> {
    Entity::delete_by_id((namespace, name.to_owned())).exec(tx).await?;
    Ok(())
}

impl DeclaredKind {
    fn table(self) -> &'static str {
        match self {
            Self::AlertChannel => "alert_channel",
            Self::AlertRule => "alert_rule",
            Self::Calendar => "calendar",
            Self::Group => "concurrency_group",
            Self::HealthBudget => "health_budget",
            Self::MaintenanceWindow => "maintenance_window",
            Self::Workflow => "workflow",
            Self::Schedule => "schedule",
        }
    }
}

/// Makes the module the owner of an object that a person created.
pub async fn adopt<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    kind: DeclaredKind,
    id: Uuid,
    module: &str,
) -> Result<(), StoreError> {
    let mut update = Query::update();
    update.table(kind.table()).value("module", module).and_where(Expr::col("id").eq(id));
    if kind == DeclaredKind::Schedule {
        update.value("changed", Expr::cust(dialect.stamp("schedule")));
    }
    tx.execute(&update).await?;
    Ok(())
}
