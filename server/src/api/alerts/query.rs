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
        context::Ask,
        error::Result,
        page::{Connection, Paging, connection, cost},
        query::namespace_id,
    },
    commands::{
        BadInput, NewRule,
        alerts::{MAX_CHANNELS, MAX_RULES, check_rule},
    },
    engine::alerting::alerts::Preview,
    store::alerts::{channels, notes, outbox, rules},
};

/// What a preview costs beside its answer: it reads the past, so a request may hold only a few.
const PREVIEW: usize = 10_000;

/// Queries about alerts, rules and channels.
#[derive(Default)]
pub(crate) struct AlertQuery;

#[Object]
impl AlertQuery {
    /// The alert rules of a namespace by name; at most 100.
    #[graphql(complexity = "cost(Some(100), None, child_complexity)")]
    async fn alert_rules(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
    ) -> Result<Vec<AlertRule>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let rows = rules::list(cx.store().read(), namespace, MAX_RULES).await?;
        Ok(rows.into_iter().map(AlertRule).collect())
    }

    /// The channels of a namespace by name; at most 50.
    #[graphql(complexity = "cost(Some(50), None, child_complexity)")]
    async fn alert_channels(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
    ) -> Result<Vec<AlertChannel>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let rows = channels::list(cx.store().read(), namespace, MAX_CHANNELS).await?;
        Ok(rows.into_iter().map(AlertChannel).collect())
    }

    /// What a rule would have reported in the last 1 to 30 days; at most 200 messages. Its channels
    /// need not exist, and the rule need not be enabled.
    #[graphql(complexity = "PREVIEW + cost(Some(200), None, child_complexity)")]
    async fn alert_rule_preview(
        &self,
        cx: &Context<'_>,
        input: CreateAlertRuleInput,
        #[graphql(default = 7)] days: i64,
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
        let preview = Preview::of(cx.store(), (namespace, &name), spec.rule, now, days).await?;
        Ok(preview.into())
    }

    /// The alerts that the rules of a namespace have recorded, newest first.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn alerts(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        filter: Option<AlertFilter>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Connection<Alert>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let window = Paging::forward(first, after).window(key)?;
        let filter = filter.unwrap_or_default().into();
        let page = notes::page(cx.store(), namespace, &filter, &window).await?;
        Ok(connection(page, |row| cursor(row.id), Alert))
    }

    /// The messages of a namespace, newest first. DEAD means that delivery was given up.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn notifications(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        state: Option<NotificationState>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Connection<Notification>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let window = Paging::forward(first, after).window(key)?;
        let state = state.map(Into::into);
        let page = outbox::page(cx.store(), namespace, state, &window).await?;
        Ok(connection(page, |row| cursor(row.id), Notification))
    }
}

fn key(cursor: &str) -> Option<Uuid> {
    Uuid::try_parse(cursor).ok()
}

fn cursor(id: Uuid) -> String {
    id.simple().to_string()
}
