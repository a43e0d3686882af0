//! Relay's object identification: objects can be refetched by their id alone.

use async_graphql::{Context, ID, Interface, Object};
use uuid::Uuid;

use super::{
    alerts::{AlertChannel, AlertRule},
    backfill::Backfill,
    calendar::Calendar,
    calm::Calm,
    context::ContextExt,
    error::Result,
    fire::Fire,
    group::ConcurrencyGroup,
    loaders::{
        AlertChannelRow, AlertRuleRow, BackfillRow, CalendarRow, FireRow, GroupRow, MaintenanceRow,
        RunRow, ScheduleRow, WorkflowRow,
    },
    maintenance::MaintenanceWindow,
    page::cost_by,
    run::Run,
    schedule::Schedule,
    workflow::Workflow,
};
use crate::commands::BadInput;

/// Maximum number of ids in one request.
const MAX_IDS: usize = 100;
/// Maximum number of ids, in the type that the library uses for costs.
const IDS: i32 = 100;
/// The base cost of one object: it is looked up in all types.
const LOOKUP: usize = 100;

/// An object with an id that no other object has.
#[derive(Interface)]
#[graphql(
    name = "Node",
    field(name = "id", ty = "ID", desc = "Unique among all objects of all types.")
)]
#[expect(clippy::large_enum_variant, reason = "few of them exist at once, and for a moment only")]
pub(crate) enum Global {
    /// A schedule.
    Schedule(Schedule),
    /// A workflow.
    Workflow(Workflow),
    /// A run.
    Run(Run),
    /// A row of the ledger.
    Fire(Fire),
    /// A backfill.
    Backfill(Backfill),
    /// A calendar.
    Calendar(Calendar),
    /// A concurrency group.
    ConcurrencyGroup(ConcurrencyGroup),
    /// An alert rule.
    AlertRule(AlertRule),
    /// An alert channel.
    AlertChannel(AlertChannel),
    /// A maintenance window.
    MaintenanceWindow(MaintenanceWindow),
}

/// Queries for objects by their id alone.
#[derive(Default)]
pub(super) struct ReadingGlobally;

/// Queries for objects by their id alone.
#[Object]
impl ReadingGlobally {
    /// The object with this id; null if there is none that the caller may see.
    #[graphql(complexity = "LOOKUP + child_complexity")]
    async fn node(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The object's id.")] id: ID,
    ) -> Result<Option<Global>> {
        cx.viewer()?;
        Ok(load(cx, &[id]).await?.pop().flatten())
    }

    /// The objects with these ids, 1 to 100, in the same order; null for each that does not exist
    /// or that the caller may not see.
    #[graphql(
        complexity = "LOOKUP + cost_by(i32::try_from(ids.len()).unwrap_or(IDS), IDS, LOOKUP / 10 + child_complexity)"
    )]
    async fn nodes(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "1 to 100 ids of objects.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Calm<Global>>>> {
        cx.viewer()?;
        if !(1..=MAX_IDS).contains(&ids.len()) {
            let help = format!("give 1 to {MAX_IDS}");
            return Err(BadInput::new("ids", ids.len(), "are too many or none", help).into());
        }
        let found = load(cx, &ids).await?;
        Ok(found.into_iter().map(|object| object.map(Calm)).collect())
    }
}

/// One statement per type, until all are found; schedules come first, as runs and fires are searched
/// in many partitions. An id that is not a UUID finds nothing.
async fn load(cx: &Context<'_>, ids: &[ID]) -> Result<Vec<Option<Global>>> {
    let keys: Vec<Option<Uuid>> = ids.iter().map(|id| Uuid::try_parse(id).ok()).collect();
    let mut found: Vec<Option<Global>> = keys.iter().map(|_| None).collect();
    // Objects of other namespaces are found but not shown, and need not be looked up further.
    let mut missing: Vec<Uuid> = keys.iter().flatten().copied().collect();
    macro_rules! look {
        ($row:ident, $made:expr) => {
            if !missing.is_empty() {
                let rows = cx.rows().load_many(missing.iter().copied().map($row)).await?;
                missing.retain(|id| !rows.contains_key(&$row(*id)));
                for (place, key) in found.iter_mut().zip(&keys) {
                    if let Some(row) = key.and_then(|id| rows.get(&$row(id)))
                        && cx.is_home(row.namespace_id)
                    {
                        *place = $made(row.clone());
                    }
                }
            }
        };
    }
    look!(ScheduleRow, |row: entity::schedule::Model| {
        let is_there = row.deleted_at.is_none();
        is_there.then_some(Global::Schedule(Schedule(row)))
    });
    look!(RunRow, |row| Some(Global::Run(Run(row))));
    look!(FireRow, |row| Some(Global::Fire(Fire(row))));
    look!(WorkflowRow, |row: entity::workflow::Model| {
        let is_there = row.deleted_at.is_none();
        is_there.then(|| Global::Workflow(Workflow::current(row)))
    });
    look!(BackfillRow, |row| Some(Global::Backfill(Backfill(row))));
    look!(CalendarRow, |row: entity::calendar::Model| {
        let is_there = row.deleted_at.is_none();
        is_there.then_some(Global::Calendar(Calendar(row)))
    });
    look!(GroupRow, |row| Some(Global::ConcurrencyGroup(ConcurrencyGroup(row))));
    look!(AlertRuleRow, |row| Some(Global::AlertRule(AlertRule(row))));
    look!(AlertChannelRow, |row| Some(Global::AlertChannel(AlertChannel(row))));
    look!(MaintenanceRow, |row| Some(Global::MaintenanceWindow(MaintenanceWindow(row))));
    Ok(found)
}
