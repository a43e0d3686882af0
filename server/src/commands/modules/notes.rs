use uuid::Uuid;

use crate::{
    access::Operator,
    commands::{
        Call, CommandError, Commands, SavedSchedule,
        schedules::update::{ChangeNote, StoredSchedule},
        workflows::Judgement,
    },
};

impl Commands {
    /// Sets the note of a schedule, even if a module declares the schedule. The note in the file
    /// applies again once the file changes it.
    pub async fn annotate(
        &self,
        right: &Operator,
        id: Uuid,
        note: &str,
        call: &Call,
    ) -> Result<SavedSchedule, CommandError> {
        // If the caller sees no such schedule, the transaction reports that.
        let timing = match self.visible_schedule(right.permit(), id).await? {
            Some(row) => self.foresee_stored(&row).await?,
            None => None,
        };
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        let spec = self.spec_of(&tx, &row).await?;
        let stored = StoredSchedule { row: &row, spec, ended: None };
        let mut spec = stored.spec.clone();
        note.clone_into(&mut spec.note);
        let (none, note) = (Judgement::default(), ChangeNote::default());
        let (who, timing) = (right.who(), timing.as_ref());
        let saved = self.update_in(&tx, who, stored, &spec, None, &none, timing, note);
        let (saved, _) = saved.await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        Ok(saved)
    }
}
