//! Workflows, and what schedules share.

use async_graphql::{Context, Object};
use uuid::Uuid;

use super::names::{
    IdOrName, ROOT, name_cursor, name_key, name_text, namespace_id, one_of, usual, within,
};
use crate::{
    api::{
        calendar::Calendar,
        context::ContextExt,
        error::Result,
        group::ConcurrencyGroup,
        page::{Connection, Paging, connection, cost, cost_by, search_cost},
        workflow::Workflow,
    },
    commands::groups::MAX_GROUPS,
    store::{calendars, groups, workflows},
};

/// Queries of workflows, calendars and concurrency groups.
#[derive(Default)]
pub(crate) struct ReadingShared;

/// Queries of workflows, calendars and concurrency groups.
#[Object]
impl ReadingShared {
    /// Workflows by name, ignoring case.
    #[graphql(complexity = "search_cost(text.as_deref()) + cost(first, None, child_complexity)")]
    async fn workflows(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only workflows whose names contain this text, ignoring case; at most 200 \
                    characters."
        )]
        text: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Workflow>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let window = Paging::forward(first, after).window(name_key)?;
        let text = name_text(text)?;
        let page = workflows::page(cx.store().read(), &within, text.as_deref(), &window).await?;
        Ok(connection(page, |row| name_cursor(row.id, &row.name), Workflow::current))
    }

    /// A workflow by id or by name.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn workflow(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The workflow's id; give this or `name`.")] id: Option<Uuid>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "Its name in `namespace`; give this or `id`.")] name: Option<String>,
    ) -> Result<Option<Workflow>> {
        cx.viewer()?;
        let connection = cx.store().read();
        let row = match one_of(id, name)? {
            IdOrName::Id(id) => {
                let found = workflows::by_ids(connection, &[id]).await?.pop();
                found.filter(|row| row.deleted_at.is_none() && cx.is_home(row.namespace_id))
            }
            IdOrName::Name(name) => {
                let namespace = namespace_id(cx, &namespace).await?;
                workflows::by_name(connection, namespace, &name).await?
            }
        };
        Ok(row.map(Workflow::current))
    }

    /// Calendars by name, ignoring case.
    #[graphql(complexity = "search_cost(text.as_deref()) + cost(first, None, child_complexity)")]
    async fn calendars(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only calendars whose names contain this text, ignoring case; at most 200 \
                    characters."
        )]
        text: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Calendar>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let window = Paging::forward(first, after).window(name_key)?;
        let text = name_text(text)?;
        let page = calendars::page(cx.store().read(), &within, text.as_deref(), &window).await?;
        Ok(connection(page, |row| name_cursor(row.id, &row.name), Calendar))
    }

    /// A calendar by its name; null if there is none.
    async fn calendar(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The calendar's name.")] name: String,
    ) -> Result<Option<Calendar>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        Ok(calendars::by_name(cx.store().read(), namespace, &name).await?.map(Calendar))
    }

    /// Concurrency groups by name, ignoring case; at most 500.
    #[graphql(complexity = "cost_by(500, 500, child_complexity)")]
    async fn concurrency_groups(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
    ) -> Result<Vec<ConcurrencyGroup>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let rows = groups::list_within(cx.store().read(), &within, MAX_GROUPS).await?;
        Ok(rows.into_iter().map(ConcurrencyGroup).collect())
    }
}
