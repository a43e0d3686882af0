use async_graphql::{Context, Object};
use uuid::Uuid;

use super::{
    alert::{Alert, AlertFilter},
    channel::AlertChannel,
    notification::{Notification, NotificationState},
    preview::{AlertRulePreview, MAX_DAYS},
    rule::AlertRule,
    rule_input::CreateAlertRuleInput,
};
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        page::{Connection, Paging, connection, cost, cost_by},
        query::{namespace_id, usual, within},
    },
    commands::{
        BadInput, NewRule,
        alerts::{MAX_CHANNELS, MAX_RULES, check_rule},
    },
    engine::alerting::alerts::RulePreview,
    store::alerts::{channels, notes, outbox, rules},
};

/// The cost of a preview in addition to its answer: it reads the past, so a request may contain
/// only a few.
const PREVIEW: usize = 10_000;

/// Maximum number of rules or channels listed for several namespaces.
const MAX_ACROSS: u64 = 500;

/// Maximum number listed: for one namespace the `most` that it may have, otherwise a common limit.
fn limit(namespace: Option<&str>, most: u64) -> u64 {
    namespace.map_or(MAX_ACROSS, |_| most)
}

fn listed(namespace: Option<&str>, most: u64, row: usize) -> usize {
    let most = i32::try_from(limit(namespace, most)).unwrap_or(i32::MAX);
    cost_by(most, most, row)
}

/// Queries about alerts, rules and channels.
#[derive(Default)]
pub(crate) struct AlertQuery;

#[Object]
impl AlertQuery {
    /// The alert rules by name: at most 100, or 500 across several namespaces.
    #[graphql(complexity = "listed(namespace.as_deref(), MAX_RULES, child_complexity)")]
    async fn alert_rules(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
    ) -> Result<Vec<AlertRule>> {
        cx.viewer()?;
        let limit = limit(namespace.as_deref(), MAX_RULES);
        let within = within(cx, namespace.as_deref()).await?;
        let rows = rules::list_within(cx.store().read(), &within, limit).await?;
        Ok(rows.into_iter().map(AlertRule).collect())
    }

    /// The channels by name: at most 50, or 500 across several namespaces.
    #[graphql(complexity = "listed(namespace.as_deref(), MAX_CHANNELS, child_complexity)")]
    async fn alert_channels(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
    ) -> Result<Vec<AlertChannel>> {
        cx.viewer()?;
        let limit = limit(namespace.as_deref(), MAX_CHANNELS);
        let within = within(cx, namespace.as_deref()).await?;
        let rows = channels::list_within(cx.store().read(), &within, limit).await?;
        Ok(rows.into_iter().map(AlertChannel).collect())
    }

    /// What a rule would have reported in the last 1 to 30 days; at most 200 messages. Its channels
    /// need not exist, and the rule need not be enabled.
    #[graphql(complexity = "PREVIEW + cost(Some(200), None, child_complexity)")]
    async fn alert_rule_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The rule to try.")] input: CreateAlertRuleInput,
        #[graphql(default = 7, desc = "How many days to look back, 1 to 30.")] days: i64,
    ) -> Result<AlertRulePreview> {
        cx.viewer()?;
        let NewRule { namespace: name, spec } = input.into();
        let namespace = namespace_id(cx, &name).await?;
        if !(1..=MAX_DAYS).contains(&days) {
            let problem = format!("is not 1 to {MAX_DAYS} days");
            return Err(BadInput::new("days", days, problem, "ask for fewer days").into());
        }
        check_rule(&spec)?;
        let now = cx.commands().clock.now();
        let (store, timings) = (cx.store(), &cx.commands().cache);
        let preview =
            RulePreview::of(store, timings, namespace, &name, spec.rule, now, days).await?;
        Ok(preview.into())
    }

    /// The alerts that rules have recorded, newest first.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn alerts(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only alerts that match this filter.")] filter: Option<AlertFilter>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Alert>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let window = Paging::forward(first, after).window(key)?;
        let filter = filter.unwrap_or_default().at(cx.commands().clock.now());
        let page = notes::page(cx.store(), &within, &filter, &window).await?;
        Ok(connection(page, |row| cursor(row.id), Alert))
    }

    /// The messages, newest first. Those whose delivery was given up are DEAD.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn notifications(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only messages in this state.")] state: Option<NotificationState>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Notification>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let window = Paging::forward(first, after).window(key)?;
        let state = state.map(Into::into);
        let page = outbox::page(cx.store(), &within, state, &window).await?;
        Ok(connection(page, |row| cursor(row.id), Notification))
    }
}

fn key(cursor: &str) -> Option<Uuid> {
    Uuid::try_parse(cursor).ok()
}

fn cursor(id: Uuid) -> String {
    id.simple().to_string()
}
