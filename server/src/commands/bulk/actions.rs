//! The bulk actions, and what each does to one item.

use std::sync::Arc;

use entity::schedule::CatchUp;
use uuid::Uuid;

use super::BulkRequest;
use crate::{
    access::{Editor, Operator},
    commands::{
        AutomaticEnd, BulkItems, ByHand, Call, CommandError, Commands, Edit, ManyDone, ManyEdit,
        ScheduleWork, schedules::skip,
    },
    model::check,
    search::SearchedList,
    store::schedules as rows,
};

/// How often an edit is tried if a concurrent edit comes first.
const TRIES: usize = 3;

/// A bulk action and the permission it requires. It owns its data, because it continues even if the
/// caller stops waiting.
#[derive(Clone)]
pub(in crate::commands) enum BulkAction {
    Pause { right: Operator, reason: String, end: Option<AutomaticEnd> },
    Resume { right: Operator, missed: CatchUp },
    Trigger { right: Operator, by_hand: ByHand },
    Delete { right: Editor, reason: Option<String> },
    SkipNext { right: Operator, count: i64, reason: String },
    Change { right: Editor, change: Arc<ManyEdit>, reason: Option<String> },
    Cancel { right: Operator, reason: Option<String> },
    Retry { right: Operator },
}

impl Commands {
    /// Pauses schedules.
    pub async fn pause_many(
        &self,
        right: &Operator,
        which: &BulkItems,
        reason: &str,
        end: Option<AutomaticEnd>,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        check::reason("reason", reason)?;
        let (list, action) = (SearchedList::Schedules, "schedule.pause_many");
        let order = BulkRequest { which, list, action, reason: Some(reason), call };
        let deed = BulkAction::Pause { right: right.clone(), reason: reason.to_owned(), end };
        self.each(right.permit(), order, deed).await
    }

    /// Resumes schedules.
    pub async fn resume_many(
        &self,
        right: &Operator,
        which: &BulkItems,
        missed: CatchUp,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        let (list, action) = (SearchedList::Schedules, "schedule.resume_many");
        let order = BulkRequest { which, list, action, reason: None, call };
        let deed = BulkAction::Resume { right: right.clone(), missed };
        self.each(right.permit(), order, deed).await
    }

    /// Runs schedules once, apart from their timing.
    pub async fn trigger_many(
        &self,
        right: &Operator,
        which: &BulkItems,
        by_hand: &ByHand,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        let (list, action) = (SearchedList::Schedules, "schedule.trigger_many");
        let order = BulkRequest { which, list, action, reason: by_hand.reason.as_deref(), call };
        let deed = BulkAction::Trigger { right: right.clone(), by_hand: by_hand.clone() };
        self.each(right.permit(), order, deed).await
    }

    /// Deletes schedules.
    pub async fn delete_many(
        &self,
        right: &Editor,
        which: &BulkItems,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        let (list, action) = (SearchedList::Schedules, "schedule.delete_many");
        let order = BulkRequest { which, list, action, reason, call };
        let deed = BulkAction::Delete { right: right.clone(), reason: reason.map(str::to_owned) };
        self.each(right.permit(), order, deed).await
    }

    /// Skips the next fires of schedules.
    pub async fn skip_next_many(
        &self,
        right: &Operator,
        which: &BulkItems,
        count: i64,
        reason: &str,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        skip::check_order(count, reason)?;
        let (list, action) = (SearchedList::Schedules, "schedule.skip_next_many");
        let order = BulkRequest { which, list, action, reason: Some(reason), call };
        let deed = BulkAction::SkipNext { right: right.clone(), count, reason: reason.to_owned() };
        self.each(right.permit(), order, deed).await
    }

    /// Applies the same change to schedules.
    pub async fn update_many(
        &self,
        right: &Editor,
        which: &BulkItems,
        change: &ManyEdit,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        change.check()?;
        let (list, action) = (SearchedList::Schedules, "schedule.update_many");
        let order = BulkRequest { which, list, action, reason, call };
        let (change, reason) = (Arc::new(change.clone()), reason.map(str::to_owned));
        let deed = BulkAction::Change { right: right.clone(), change, reason };
        self.each(right.permit(), order, deed).await
    }

    /// Stops runs.
    pub async fn cancel_many(
        &self,
        right: &Operator,
        which: &BulkItems,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        let order = BulkRequest {
            which,
            list: SearchedList::Runs,
            action: "run.cancel_many",
            reason,
            call,
        };
        let deed = BulkAction::Cancel { right: right.clone(), reason: reason.map(str::to_owned) };
        self.each(right.permit(), order, deed).await
    }

    /// Retries settled runs.
    pub async fn retry_many(
        &self,
        right: &Operator,
        which: &BulkItems,
        call: &Call,
    ) -> Result<ManyDone, CommandError> {
        let order = BulkRequest {
            which,
            list: SearchedList::Runs,
            action: "run.retry_many",
            reason: None,
            call,
        };
        self.each(right.permit(), order, BulkAction::Retry { right: right.clone() }).await
    }

    /// Carries out the action for one item.
    pub(in crate::commands) async fn do_to(
        &self,
        deed: &BulkAction,
        id: Uuid,
        call: &Call,
    ) -> Result<(), CommandError> {
        match deed {
            BulkAction::Pause { right, reason, end } => {
                self.pause(right, id, reason, *end, call).await.map(drop)
            }
            BulkAction::Resume { right, missed } => {
                self.resume(right, id, *missed, call).await.map(drop)
            }
            BulkAction::Trigger { right, by_hand } => {
                self.trigger(right, id, by_hand, call).await.map(drop)
            }
            BulkAction::Delete { right, reason } => {
                self.delete_schedule(right, id, None, reason.as_deref(), call).await.map(drop)
            }
            BulkAction::SkipNext { right, count, reason } => {
                self.skip_next(right, id, *count, reason, call).await.map(drop)
            }
            BulkAction::Change { right, change, reason } => {
                self.change(right, id, change, reason.as_deref(), call).await
            }
            BulkAction::Cancel { right, reason } => {
                self.cancel(right, id, reason.as_deref(), call).await.map(drop)
            }
            BulkAction::Retry { right } => self.retry(right, id, call).await.map(drop),
        }
    }

    async fn change(
        &self,
        right: &Editor,
        id: Uuid,
        change: &Arc<ManyEdit>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<(), CommandError> {
        let mut tries = 0;
        loop {
            let row = rows::by_id(self.store.read(), id).await?;
            let row = row.filter(|row| row.deleted_at.is_none());
            let row = row.ok_or_else(|| CommandError::not_found("schedule", id))?;
            let made = change.clone();
            let edit = Edit {
                id,
                expected_version: row.version,
                apply: Box::new(move |spec| made.apply(spec)),
                work: change.workflow.clone().map(ScheduleWork::Workflow),
                reason: reason.map(str::to_owned),
            };
            match self.update_schedule(right, edit, call).await {
                Err(CommandError::Conflict { versions: Some(_), .. }) if tries < TRIES => {
                    tries += 1
                }
                done => return done.map(drop),
            }
        }
    }
}
