use chrono::{DateTime, TimeDelta, Utc};
use entity::alert_rule::ActiveModel;
use sea_orm::Set;
use serde_json::json;
use uuid::Uuid;

use super::rules::SavedRule;
use crate::{
    access::Operator,
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    store::alerts::rules,
};

/// Until when to mute a rule, and why.
#[derive(Clone, Debug)]
pub struct MuteRequest {
    /// `None` ends the mute.
    pub until: Option<DateTime<Utc>>,
    /// The reason, for people who wonder why no message has arrived.
    pub reason: String,
}

/// Maximum duration of a mute; to silence a rule for longer, disable it.
const LONGEST_MUTE: TimeDelta = TimeDelta::days(90);

impl Commands {
    /// Mutes a rule for a while, or ends the mute. Rules of modules can be muted as well.
    pub async fn mute_alert_rule(
        &self,
        right: &Operator,
        id: Uuid,
        muting: &MuteRequest,
        call: &Call,
    ) -> Result<SavedRule, CommandError> {
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_rule(&tx, right.permit(), id).await?;
        check::reason("reason", &muting.reason)?;
        if let Some(until) = muting.until
            && (until <= now || until > now + LONGEST_MUTE)
        {
            let problem = "is not within the next 90 days";
            let help = "give an instant in the future, or disable the rule";
            return Err(BadInput::new("until", until, problem, help).into());
        }
        let is_muted = muting.until.is_some();
        let columns = ActiveModel {
            muted_until: Set(muting.until.map(Into::into)),
            muted_by: Set(is_muted.then(|| right.who().name.clone())),
            muted_reason: Set(is_muted.then(|| muting.reason.clone())),
            ..ActiveModel::default()
        };
        rules::update(&tx, id, columns).await?;
        let entry = AuditEntry {
            action: if is_muted { "alert_rule.mute" } else { "alert_rule.unmute" },
            namespace: Some(row.namespace_id),
            subject_id: Some(id),
            subject: &row.name,
            reason: Some(&muting.reason),
            before: Some(json!({ "mutedUntil": row.muted_until.map(|at| at.utc()) })),
            after: Some(json!({ "mutedUntil": muting.until })),
        };
        self.audit(&tx, right.who(), entry).await?;
        let saved = SavedRule { id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }
}
