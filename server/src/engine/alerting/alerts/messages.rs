//! Turns ripe alerts into messages.

use std::collections::HashMap;

use chrono::TimeDelta;
use entity::{alert_rule, notification, notification::State};
use sea_orm::{IntoActiveModel, Set};
use serde_json::json;
use uuid::Uuid;

use super::{look::FailurePass, rule::ActiveRule, words};
use crate::{
    engine::EngineError,
    random::new_id,
    store::{
        alerts::{
            outbox,
            pending::{self, ToTell},
            rules,
        },
        namespaces,
    },
};

/// Maximum number of alerts that a message lists one by one; the others are only counted.
const SHOWN: u64 = 50;

impl FailurePass<'_> {
    /// Turns ripe alerts into messages. Returns the number of alerts and the number of messages.
    pub(super) async fn tell(&self) -> Result<(u64, usize), EngineError> {
        let ripe = pending::to_tell(&self.core.store, self.now.into()).await?;
        if ripe.is_empty() {
            return Ok((0, 0));
        }
        let rules: HashMap<Uuid, &ActiveRule> =
            self.rules.iter().map(|active| (active.row.id, active)).collect();
        let (mut told, mut messages) = (0, 0);
        for ripe in ripe {
            let Some(active) = rules.get(&ripe.rule_id) else { continue };
            // An error in one rule must not delay the messages of the others.
            match self.tell_of(active, ripe).await {
                Ok((alerts, sent)) => {
                    told += alerts;
                    messages += sent;
                }
                Err(error) => {
                    let rule_id = active.row.id;
                    tracing::error!(%rule_id, %error, "failed to create the messages of a rule");
                }
            }
        }
        Ok((told, messages))
    }

    async fn tell_of(
        &self,
        active: &ActiveRule,
        ripe: ToTell,
    ) -> Result<(u64, usize), EngineError> {
        let (store, rule) = (&self.core.store, &active.rule);
        let is_muted =
            |row: &alert_rule::Model| row.muted_until.is_some_and(|until| until.utc() > self.now);
        // Quiet hours do not apply if the zone data no longer contains their zone.
        let is_quiet = rule.quiet.as_ref().is_some_and(|quiet| quiet.is_at(self.now) == Ok(true));
        let digest = TimeDelta::try_seconds(rule.digest_seconds).unwrap_or_default();
        let is_muted_now = is_muted(&active.row);
        if !is_muted_now && (is_quiet || ripe.since.utc() + digest > self.now) {
            return Ok((0, 0));
        }
        let namespace = namespaces::by_ids(store.read(), &[active.row.namespace_id]).await?.pop();
        let Some(tx) = self.lease.begin(store, &self.core.clock).await? else {
            return Ok((0, 0));
        };
        // Read the rule again: a user may have muted, disabled or deleted it in the meantime.
        let row = rules::lock(&tx, active.row.id).await?.filter(|row| row.enabled);
        let Some(row) = row.filter(|row| is_muted(row) == is_muted_now) else {
            tx.rollback().await?;
            return Ok((0, 0));
        };
        if is_muted_now {
            if pending::hush(&tx, row.id, self.now.into()).await? == 0 {
                tx.rollback().await?;
            } else {
                store.commit(tx).await?;
            }
            return Ok((0, 0));
        }
        let (alerts, counts) = pending::telling(&tx, row.id, self.now.into(), SHOWN).await?;
        let mut ended = Vec::new();
        if counts.iter().map(|count| count.alerts).sum::<i64>() > SHOWN.cast_signed() {
            ended = pending::ended(&tx, row.id, self.now.into()).await?;
            ended.retain(|id| alerts.iter().all(|alert| alert.id != *id));
        }
        let told = pending::told(store, &tx, row.id, self.now.into()).await?;
        let place = words::MessageOrigin {
            namespace: namespace.map(|row| row.name).unwrap_or_default(),
            rule: (row.id, row.name.clone()),
            console: self.core.settings.public_url.clone(),
        };
        let (subject, mut body) = words::message(&place, &alerts, &counts);
        if !ended.is_empty() {
            body[words::ENDED_LEFT_OUT] = json!(ended);
        }
        let message = notification::Model {
            id: Uuid::nil(),
            namespace_id: row.namespace_id,
            rule_id: Some(row.id),
            channel_id: Uuid::nil(),
            state: State::Pending,
            subject,
            body,
            alerts: i64::try_from(told).unwrap_or(i64::MAX),
            attempts: 0,
            next_attempt_at: self.now.into(),
            error: None,
            progress: None,
            created_at: self.now.into(),
            settled_at: None,
        };
        let messages: Vec<notification::ActiveModel> = rule
            .channels
            .iter()
            .map(|channel| notification::ActiveModel {
                id: Set(new_id(self.now)),
                channel_id: Set(*channel),
                ..message.clone().into_active_model()
            })
            .collect();
        let sent = messages.len();
        outbox::add(&tx, messages).await?;
        store.commit(tx).await?;
        self.core.outbox.notify_one();
        Ok((told, sent))
    }
}
