//! Acknowledges alerts, and problems of schedules.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, alert, problem_acknowledgement as acknowledgement};
use serde_json::json;
use uuid::Uuid;

use crate::{
    access::Operator,
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    engine::alerting::alerts::Rule,
    model::check,
    store::{
        DatabaseTransaction,
        alerts::{acknowledgements, notes, rules},
        reads::{
            problems::{self, FailureCause, ProblemGroup},
            within::Within,
        },
        schedules,
    },
};

/// A person's acknowledgement of an alert or of a problem.
#[derive(Clone, Debug, Default)]
pub struct AcknowledgementInput {
    /// A note for others who see the problem.
    pub note: Option<String>,
    /// When the acknowledgement ends; `None` if it lasts until the problem is over.
    pub until: Option<DateTime<Utc>>,
}

/// A problem after its acknowledgement was recorded or withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AcknowledgedProblem {
    /// The problem's key.
    pub id: Uuid,
}

/// Maximum duration of an acknowledgement with an end.
const LONGEST: TimeDelta = TimeDelta::days(90);

/// How far back to search for a problem: as far as problems are listed.
const LOOKED_BACK: TimeDelta = TimeDelta::days(30);

impl AcknowledgementInput {
    /// This acknowledgement, trimmed and checked.
    fn checked(&self, now: DateTime<Utc>) -> Result<Self, BadInput> {
        let note = self.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        if let Some(note) = note {
            check::text("note", note, 500)?;
        }
        if let Some(until) = self.until
            && (until <= now || until > now + LONGEST)
        {
            let problem = "is not within the next 90 days";
            let help = "give an instant in the future, or none to acknowledge it until it is over";
            return Err(BadInput::new("until", until, problem, help));
        }
        Ok(Self { note: note.map(str::to_owned), until: self.until })
    }
}

impl Commands {
    /// Acknowledges an alert. It stays open, and its end is reported. Its beginning is not
    /// reported, unless the acknowledgement ends while the alert is open.
    pub async fn acknowledge_alert(
        &self,
        right: &Operator,
        id: Uuid,
        given: &AcknowledgementInput,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = locked(&tx, right, id).await?;
        let AcknowledgementInput { note, until } = given.checked(now)?;
        // If another person acknowledges the alert again, the first acknowledgement stays.
        let is_repeated = notes::is_acknowledged(&row, now.into())
            && row.acknowledged_until.is_none()
            && note.is_none()
            && until.is_none();
        if !is_repeated {
            let tells_again = telling(&tx, &row).await?.is_some();
            let given = notes::Acknowledgement {
                at: now.into(),
                by: right.who().name.clone(),
                note: note.clone(),
                until: until.map(Into::into),
                tells_again,
            };
            notes::acknowledge(self.store.dialect(), &tx, &row, given).await?;
            let entry = AuditEntry {
                action: "alert.acknowledge",
                namespace: Some(row.namespace_id),
                subject_id: Some(id),
                subject: &row.subject,
                reason: note.as_deref(),
                after: until.map(|until| json!({ "until": until })),
                ..AuditEntry::default()
            };
            self.audit(&tx, right.who(), entry).await?;
        }
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Withdraws the acknowledgement of an alert.
    pub async fn unacknowledge_alert(
        &self,
        right: &Operator,
        id: Uuid,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = locked(&tx, right, id).await?;
        if row.acknowledged_at.is_some() {
            // The alert may have been acknowledged within its rule's grace period, which still has
            // to pass.
            let tell_at = telling(&tx, &row).await?.map(|rule| {
                let grace = rule.grace_seconds.saturating_mul(1_000);
                let ripe = Timestamp(row.began_at.0.saturating_add(grace));
                ripe.max(self.clock.now().into())
            });
            notes::unacknowledge(self.store.dialect(), &tx, &row, tell_at).await?;
            let entry = AuditEntry {
                action: "alert.unacknowledge",
                namespace: Some(row.namespace_id),
                subject_id: Some(id),
                subject: &row.subject,
                ..AuditEntry::default()
            };
            self.audit(&tx, right.who(), entry).await?;
        }
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Acknowledges a problem of a schedule, until it is over or until an instant.
    pub async fn acknowledge_problem(
        &self,
        right: &Operator,
        schedule: Uuid,
        id: Uuid,
        given: &AcknowledgementInput,
        call: &Call,
    ) -> Result<AcknowledgedProblem, CommandError> {
        let now = self.clock.now();
        let row = self.troubled(right, schedule).await?;
        // A repeated call gets the first answer, even if the problem or the acknowledgement is over.
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        let AcknowledgementInput { note, until } = given.checked(now)?;
        let problem = self.problem_of(&row, id, now).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let done = AcknowledgedProblem { id };
        let (kind, last_run_id) = match &problem.what {
            FailureCause::Failing { last_run, .. } => ("failing", Some(*last_run)),
            FailureCause::Losing { .. } => ("losing_fires", None),
            FailureCause::Skipping { .. } => ("skipping_fires", None),
        };
        let acknowledged = acknowledgement::Model {
            id,
            schedule_id: schedule,
            last_run_id,
            last_at: problem.last,
            acknowledged_at: now.into(),
            acknowledged_by: right.who().name.clone(),
            acknowledged_note: note.clone(),
            acknowledged_until: until.map(Into::into),
        };
        if let Some(earlier) = acknowledgements::add_or_lock(&tx, &acknowledged).await? {
            // Another person's repeated click must not replace the first acknowledgement.
            let is_plain = note.is_none() && until.is_none();
            if is_plain && self.is_endless(&problem, earlier, now).await? {
                self.remember(&tx, right.who(), call, &done).await?;
                self.store.commit(tx).await?;
                return Ok(done);
            }
            acknowledgements::put(&tx, acknowledged).await?;
        }
        let entry = AuditEntry {
            action: "problem.acknowledge",
            namespace: Some(row.namespace_id),
            subject_id: Some(schedule),
            subject: &row.name,
            reason: note.as_deref(),
            after: Some(json!({ "kind": kind, "until": until })),
            ..AuditEntry::default()
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &done).await?;
        self.store.commit(tx).await?;
        Ok(done)
    }

    /// Withdraws the acknowledgement of a problem.
    pub async fn unacknowledge_problem(
        &self,
        right: &Operator,
        schedule: Uuid,
        id: Uuid,
        call: &Call,
    ) -> Result<AcknowledgedProblem, CommandError> {
        let row = self.troubled(right, schedule).await?;
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        self.problem_of(&row, id, self.clock.now()).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        if acknowledgements::lock(&tx, id).await?.is_some() {
            acknowledgements::delete(&tx, id).await?;
            let entry = AuditEntry {
                action: "problem.unacknowledge",
                namespace: Some(row.namespace_id),
                subject_id: Some(schedule),
                subject: &row.name,
                ..AuditEntry::default()
            };
            self.audit(&tx, right.who(), entry).await?;
        }
        let done = AcknowledgedProblem { id };
        self.remember(&tx, right.who(), call, &done).await?;
        self.store.commit(tx).await?;
        Ok(done)
    }

    /// Whether this acknowledgement of the problem is in force and has no end. Its row is locked,
    /// so this stays true until the transaction ends; the rest of the answer is read without a
    /// lock.
    async fn is_endless(
        &self,
        problem: &ProblemGroup,
        earlier: acknowledgement::Model,
        now: DateTime<Utc>,
    ) -> Result<bool, CommandError> {
        if earlier.acknowledged_until.is_some() {
            return Ok(false);
        }
        let one = std::slice::from_ref(problem);
        let over = problems::over(&self.store, one).await?;
        let rows = vec![earlier];
        let counting = acknowledgements::counting_of(&self.store, rows, one, &over, now).await?;
        Ok(!counting.is_empty())
    }

    /// The schedule, if this person may acknowledge its problems.
    async fn troubled(
        &self,
        right: &Operator,
        id: Uuid,
    ) -> Result<entity::schedule::Model, CommandError> {
        let row = schedules::by_ids(self.store.read(), &[id]).await?.pop();
        let row = row.filter(|row| row.deleted_at.is_none());
        let row = row.ok_or_else(|| CommandError::not_found("schedule", id))?;
        right.permit().over(row.namespace_id, "schedule", id)?;
        Ok(row)
    }

    /// The schedule's problem with this key.
    async fn problem_of(
        &self,
        schedule: &entity::schedule::Model,
        id: Uuid,
        now: DateTime<Utc>,
    ) -> Result<ProblemGroup, CommandError> {
        let within = Within::One(schedule.namespace_id);
        let since = (now - LOOKED_BACK).into();
        let all = problems::groups_since(&self.store, &within, since).await?;
        let mut all = all.into_iter();
        let found = all.find(|one| one.schedule_id == schedule.id && one.key() == id);
        found.ok_or_else(|| CommandError::not_found("problem", id))
    }
}

/// The alert's rule, if it reports the beginning of such alerts.
async fn telling(
    tx: &DatabaseTransaction,
    row: &alert::Model,
) -> Result<Option<Rule>, CommandError> {
    let rule = rules::by_ids(tx, &[row.rule_id]).await?.pop();
    let rule = rule.and_then(|rule| serde_json::from_value::<Rule>(rule.definition).ok());
    Ok(rule.filter(|rule| rule.tells_of(row.kind)))
}

/// The alert, locked until the transaction ends, if this person may acknowledge it.
async fn locked(
    tx: &DatabaseTransaction,
    right: &Operator,
    id: Uuid,
) -> Result<alert::Model, CommandError> {
    let row = notes::lock(tx, id).await?;
    let row = row.ok_or_else(|| CommandError::not_found("alert", id))?;
    right.permit().over(row.namespace_id, "alert", id)?;
    Ok(row)
}
