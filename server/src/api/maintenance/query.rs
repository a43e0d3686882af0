use async_graphql::{Context, Object};
use entity::{
    Timestamp,
    maintenance_window::{Model, State},
};
use uuid::Uuid;

use super::{
    preview::MaintenancePreview,
    window::{MaintenanceInput, MaintenanceState, MaintenanceWindow},
};
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        page::{Connection, Paging, connection, cost, search_cost},
        query::{ROOT, usual, within},
        scalar::Instant,
    },
    store::maintenance::{self, WindowOrder},
};

/// The cost of a preview: the fires of many schedules are counted.
const PREVIEW: usize = 15_000;

/// Queries of maintenance windows.
#[derive(Default)]
pub(crate) struct ReadingMaintenance;

/// Queries of maintenance windows.
#[Object]
impl ReadingMaintenance {
    /// Maintenance windows, those that begin last first. If only PLANNED and ACTIVE ones are
    /// requested, those that begin first come first.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn maintenance_windows(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only windows in these states; all if absent.")] states: Option<
            Vec<MaintenanceState>,
        >,
        #[graphql(desc = "Only windows that end after this instant.")] from: Option<Instant>,
        #[graphql(desc = "Only windows that begin before this instant.")] to: Option<Instant>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<MaintenanceWindow>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let states: Option<Vec<State>> =
            states.map(|states| states.into_iter().map(State::from).collect());
        let order = order_of(states.as_deref());
        let filter =
            maintenance::Filter { states, from: from.map(Into::into), to: to.map(Into::into) };
        let window = Paging::forward(first, after).window(cursor_key)?;
        let page = maintenance::page(cx.store().read(), &within, &filter, order, &window).await?;
        let cursor = |row: &Model| format!("{}.{}", row.starts_at.0, row.id.simple());
        Ok(connection(page, cursor, MaintenanceWindow))
    }

    /// A maintenance window by its id; null if there is none.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn maintenance_window(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The window's id.")] id: Uuid,
    ) -> Result<Option<MaintenanceWindow>> {
        cx.viewer()?;
        let row = maintenance::by_id(cx.store().read(), id).await?;
        Ok(row.filter(|row| cx.is_home(row.namespace_id)).map(MaintenanceWindow))
    }

    /// The effect that a maintenance window would have, before it is planned or changed. Refuses
    /// what `planMaintenance` would refuse.
    #[graphql(complexity = "PREVIEW + search_cost(input.search.as_deref()) + child_complexity")]
    async fn maintenance_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The window as it would be planned.")] input: MaintenanceInput,
        #[graphql(desc = "The window that would be changed: it is left out of `overlapping`.")]
        id: Option<Uuid>,
    ) -> Result<MaintenancePreview> {
        cx.viewer()?;
        MaintenancePreview::of(cx, input.into(), id).await
    }
}

/// The order of a list of windows in these states.
fn order_of(states: Option<&[State]>) -> WindowOrder {
    let is_ahead = |state: &State| matches!(state, State::Planned | State::Active);
    match states {
        Some(states) if !states.is_empty() && states.iter().all(is_ahead) => WindowOrder::Soonest,
        Some(_) | None => WindowOrder::Newest,
    }
}

/// Parses a cursor: the start and the key of a window.
fn cursor_key(cursor: &str) -> Option<(Timestamp, Uuid)> {
    let (at, id) = cursor.split_once('.')?;
    Some((Timestamp(at.parse().ok()?), Uuid::try_parse(id).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_what_is_ahead_begins_with_the_soonest() {
        let ahead = [State::Planned, State::Active];
        assert_eq!(order_of(Some(&ahead)), WindowOrder::Soonest);
        assert_eq!(order_of(Some(&ahead[..1])), WindowOrder::Soonest);
        assert_eq!(order_of(Some(&[State::Active, State::Ended])), WindowOrder::Newest);
        assert_eq!(order_of(Some(&[])), WindowOrder::Newest);
        assert_eq!(order_of(None), WindowOrder::Newest);
    }
}
