//! Workers' reports on how jobs ended. Concurrent reports share a transaction.

use std::collections::HashSet;

use entity::job::State;
use uuid::Uuid;

use super::WorkerError;
use crate::{
    batcher::{Batcher, json_size},
    commands::Commands,
    store::{
        StoreError,
        workers::jobs::{self, JobClaim, JobEnd},
    },
};

/// Concurrent reports of workers.
pub(in crate::commands) type EndBatcher = Batcher<(JobClaim, JobEnd), ReportAnswer>;

/// The result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum ReportAnswer {
    /// The job ended as reported.
    Ended,
    /// The worker does not hold the job, or no longer holds it.
    NotHeld,
    /// The report must be recorded in its own transaction.
    Alone,
    /// The database did not answer within the time that a caller waits.
    Unavailable,
}

impl Commands {
    /// Records how a job ended, together with other jobs that are reported at the same time.
    pub(super) async fn record_end(
        &self,
        claim: &JobClaim,
        end: JobEnd,
    ) -> Result<(), WorkerError> {
        let commands = self.clone();
        let bytes = match &end {
            JobEnd::Completed(output) => json_size(output),
            JobEnd::Failed(error, _) => error.len(),
        };
        let answer = self.ends.submit((claim.clone(), end.clone()), bytes, move |reports| {
            let commands = commands.clone();
            async move { commands.end_together(reports).await }
        });
        match answer.await.unwrap_or(ReportAnswer::Alone) {
            ReportAnswer::Ended => return Ok(()),
            ReportAnswer::NotHeld => {}
            ReportAnswer::Alone => {
                let report = [(claim.clone(), end.clone())];
                let now = self.clock.now().into();
                if !self.store.settle_jobs_if_held(&report, now).await?.is_empty() {
                    return Ok(());
                }
            }
            ReportAnswer::Unavailable => return Err(StoreError::unanswered().into()),
        }
        // The worker may have lost the answer to an earlier report.
        let said = self.reported(claim).await?;
        if said == Some(end) { Ok(()) } else { Err(WorkerError::Stale) }
    }

    async fn end_together(&self, reports: Vec<(JobClaim, JobEnd)>) -> Vec<ReportAnswer> {
        let ids: Vec<Uuid> = reports.iter().map(|(claim, _)| claim.id).collect();
        // Of two reports on one job in a batch, the later one is recorded alone, and then sees the
        // effect of the first.
        let mut seen = HashSet::new();
        let is_first: Vec<bool> = ids.iter().map(|id| seen.insert(*id)).collect();
        let mut first = is_first.iter();
        let batch: Vec<(JobClaim, JobEnd)> =
            reports.into_iter().filter(|_| first.next() == Some(&true)).collect();
        match self.store.settle_jobs_if_held(&batch, self.clock.now().into()).await {
            Ok(ended) => {
                let answer = |(id, is_first): (&Uuid, bool)| match (is_first, ended.contains(id)) {
                    (true, true) => ReportAnswer::Ended,
                    (true, false) => ReportAnswer::NotHeld,
                    (false, _) => ReportAnswer::Alone,
                };
                ids.iter().zip(is_first).map(answer).collect()
            }
            Err(error) => {
                // A lock on the row of one job must not make the other reports fail.
                let is_of_one = error.is_lock_refused() || error.unavailable().is_none();
                let answer =
                    if is_of_one { ReportAnswer::Alone } else { ReportAnswer::Unavailable };
                vec![answer; ids.len()]
            }
        }
    }

    /// How the worker of this claim ended the job, if it has.
    async fn reported(&self, claim: &JobClaim) -> Result<Option<JobEnd>, WorkerError> {
        let row = jobs::of_claim(self.store.read(), claim).await?;
        Ok(row.and_then(|row| match row.state {
            State::Succeeded => Some(JobEnd::Completed(row.output.unwrap_or_default())),
            State::Failed => Some(JobEnd::Failed(row.error.unwrap_or_default(), row.is_final)),
            State::Waiting | State::Held | State::Lost | State::Cancelled => None,
        }))
    }
}
