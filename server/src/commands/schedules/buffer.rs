//! Operators' changes to a schedule's buffer: purging fires, changing their order.

use std::collections::HashSet;

use entity::schedule::{ActiveModel, Model};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::{
    access::Operator,
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    store::{DatabaseTransaction, buffers, schedules},
};

/// A schedule's buffer after a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RearrangedBuffer {
    /// The schedule.
    pub schedule_id: Uuid,
    /// The fires that were purged.
    pub purged: Vec<Uuid>,
}

/// Maximum number of fires in a buffer, and in one call.
const MAX: usize = 1_000;

impl Commands {
    /// Purges all fires or the named ones from the buffer. Each is skipped, and its row says who
    /// purged it. If one of them has started meanwhile, the call is refused and purges none.
    pub async fn purge_buffer(
        &self,
        right: &Operator,
        schedule: Uuid,
        fires: Option<&[Uuid]>,
        call: &Call,
    ) -> Result<RearrangedBuffer, CommandError> {
        if let Some(fires) = fires {
            distinct(fires)?;
        }
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), schedule).await?;
        if let Some(fires) = fires {
            self.waiting(&tx, schedule, fires).await?;
        }
        let now = self.clock.now().into();
        let purged = self.store.purge_waiting(&tx, schedule, fires, &who.name, now).await?;
        if !purged.is_empty() {
            let entry = AuditEntry {
                action: "buffer.purge",
                namespace: Some(row.namespace_id),
                subject_id: Some(schedule),
                subject: &row.name,
                before: Some(json!({ "fires": purged })),
                ..AuditEntry::default()
            };
            self.audit(&tx, who, entry).await?;
            self.touch(&tx, &row).await?;
        }
        let answer = RearrangedBuffer { schedule_id: schedule, purged };
        self.remember(&tx, who, call, &answer).await?;
        self.store.commit(tx).await?;
        Ok(answer)
    }

    /// Moves the named fires to the head of the buffer, in the given order; the others follow in
    /// their current order.
    pub async fn reorder_buffer(
        &self,
        right: &Operator,
        schedule: Uuid,
        fires: &[Uuid],
        call: &Call,
    ) -> Result<RearrangedBuffer, CommandError> {
        distinct(fires)?;
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), schedule).await?;
        let before = self.waiting(&tx, schedule, fires).await?;
        let named: HashSet<&Uuid> = fires.iter().collect();
        let others = before.iter().filter(|fire| !named.contains(fire));
        let after: Vec<Uuid> = fires.iter().chain(others).copied().collect();
        if after != before {
            let places: Vec<(Uuid, i64)> = after.iter().copied().zip(1..).collect();
            self.store.place_waiting(&tx, schedule, &places).await?;
            let entry = AuditEntry {
                action: "buffer.reorder",
                namespace: Some(row.namespace_id),
                subject_id: Some(schedule),
                subject: &row.name,
                before: Some(json!({ "fires": before })),
                after: Some(json!({ "fires": after })),
                ..AuditEntry::default()
            };
            self.audit(&tx, who, entry).await?;
            self.touch(&tx, &row).await?;
        }
        let answer = RearrangedBuffer { schedule_id: schedule, purged: vec![] };
        self.remember(&tx, who, call, &answer).await?;
        self.store.commit(tx).await?;
        Ok(answer)
    }

    /// Marks the schedule as changed, so that subscribers see its new buffer.
    async fn touch(&self, tx: &DatabaseTransaction, row: &Model) -> Result<(), CommandError> {
        let (dialect, nothing) = (self.store.dialect(), ActiveModel::default());
        schedules::update_if_version(tx, dialect, row.id, row.version, nothing).await?;
        Ok(())
    }

    /// The schedule's queue. Fails unless it contains each of `fires`.
    async fn waiting(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        fires: &[Uuid],
    ) -> Result<Vec<Uuid>, CommandError> {
        let queue = buffers::queue(tx, schedule, 2 * MAX as u64).await?;
        let queue: Vec<Uuid> = queue.into_iter().map(|fire| fire.id).collect();
        for (index, fire) in fires.iter().enumerate() {
            if !queue.contains(fire) {
                let help = "read the buffer again: it may have started, or been removed";
                let field = format!("fireIds[{index}]");
                return Err(BadInput::new(field, fire, "does not wait in this buffer", help).into());
            }
        }
        Ok(queue)
    }
}

fn distinct(fires: &[Uuid]) -> Result<(), BadInput> {
    if fires.is_empty() {
        let help = "name at least one fire of the buffer";
        return Err(BadInput::new("fireIds", "", "is empty", help));
    }
    if fires.len() > MAX {
        let problem = format!("names {} fires; the limit is {MAX}", fires.len());
        return Err(BadInput::new("fireIds", "", problem, "name fewer"));
    }
    let mut seen = HashSet::new();
    for (index, fire) in fires.iter().enumerate() {
        if !seen.insert(fire) {
            let help = "name each fire once";
            return Err(BadInput::new(format!("fireIds[{index}]"), fire, "is named twice", help));
        }
    }
    Ok(())
}
