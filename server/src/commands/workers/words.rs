use entity::job;
use serde_json::Value;
use uuid::Uuid;

use super::{MAX_NAMED, WorkerError, bad};
use crate::{
    access::Viewer,
    commands::Commands,
    store::workers::{
        jobs::{self, JobClaim, JobEnd},
        programs,
    },
    target::check_output,
};

/// Limits of one request: the number of lines, the longest line, and all lines together.
const MAX_LINES: usize = 200;
const MAX_LINE_BYTES: usize = 16 * 1024;
const MAX_LINES_BYTES: usize = 256 * 1024;
/// How much is stored of one job's lines; the rest is left out.
const MAX_JOB_LINES: i64 = 10_000;
const MAX_JOB_BYTES: i64 = 4 * 1024 * 1024;
const LEFT_OUT: &str = "the rest is left out: of a job's log 10000 lines and 4 MiB are kept";
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// The answer to a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// Jobs that no longer belong to the worker: it must drop their work.
    pub lost: Vec<Uuid>,
    /// Jobs that it must stop.
    pub stop: Vec<Uuid>,
}

impl Commands {
    /// Handles a heartbeat of a worker that is at work on these jobs.
    pub async fn keep_jobs(
        &self,
        who: &Viewer,
        id: Uuid,
        claims: &[JobClaim],
        is_draining: bool,
    ) -> Result<HeartbeatAnswer, WorkerError> {
        if claims.len() > MAX_NAMED {
            let problem = format!("names {} jobs", claims.len());
            return Err(bad("jobs", "", problem, "name 1000 at the most"));
        }
        let worker = self.worker(who, id).await?;
        let now = self.clock.now().into();
        let tx = self.store.begin().await?;
        programs::beat(&tx, worker.id, now, Some(is_draining)).await?;
        let kept = self.store.keep_jobs_if_held(&tx, claims, now).await?;
        self.store.commit_unseen(tx).await?;
        let lost = claims.iter().map(|claim| claim.id).filter(|id| !kept.contains_key(id));
        let lost = lost.collect();
        let stop = kept.into_iter().filter_map(|(id, stop)| stop.then_some(id)).collect();
        Ok(HeartbeatAnswer { lost, stop })
    }

    /// Stores lines that a job has printed: whether each was an error, and its text. Lines over the
    /// limit of a job are left out, and its log says so.
    pub async fn log_job(
        &self,
        who: &Viewer,
        id: Uuid,
        claim: &JobClaim,
        mut lines: Vec<(bool, String)>,
    ) -> Result<(), WorkerError> {
        if lines.len() > MAX_LINES {
            let problem = format!("has {} lines", lines.len());
            return Err(bad("lines", "", problem, "send 200 at the most in one request"));
        }
        for (index, (_, text)) in lines.iter_mut().enumerate() {
            if text.len() > MAX_LINE_BYTES {
                let (field, size) = (format!("lines[{index}].text"), text.len());
                let problem = format!("has {size} bytes; the limit is {MAX_LINE_BYTES}");
                return Err(bad(&field, "", problem, "send it in pieces"));
            }
            if text.contains(['\0', '\n', '\r']) {
                *text = text.replace(['\0', '\n', '\r'], " ");
            }
        }
        if lines.iter().map(|(_, text)| text.len()).sum::<usize>() > MAX_LINES_BYTES {
            let help = "send 256 KiB at the most in one request";
            return Err(bad("lines", "", "are too long together", help));
        }
        self.known_worker(who, id).await?;
        if lines.is_empty() {
            return Ok(());
        }
        let tx = self.store.begin().await?;
        let job = jobs::lock_if_held(&tx, claim).await?.ok_or(WorkerError::Stale)?;
        let (lines, bytes) = within_limit(&job, lines);
        if lines.is_empty() {
            return Ok(());
        }
        jobs::add_lines(&tx, &job, &lines, bytes, self.clock.now().into()).await?;
        Ok(self.store.commit(tx).await?)
    }

    /// Completes a job with that output.
    pub async fn complete_job(
        &self,
        who: &Viewer,
        id: Uuid,
        claim: &JobClaim,
        output: Value,
    ) -> Result<(), WorkerError> {
        if let Err(problem) = check_output(&output) {
            return Err(bad("output", "", problem, "give back less, or say where it is"));
        }
        self.known_worker(who, id).await?;
        self.end_job(claim, JobEnd::Completed(output)).await
    }

    /// Fails a job: why, and whether another attempt would fail as well.
    pub async fn fail_job(
        &self,
        who: &Viewer,
        id: Uuid,
        claim: &JobClaim,
        message: String,
        is_final: bool,
    ) -> Result<(), WorkerError> {
        let size = message.len();
        if size > MAX_MESSAGE_BYTES {
            let problem = format!("has {size} bytes; the limit is {MAX_MESSAGE_BYTES}");
            return Err(bad("message", "", problem, "say it in short, and log the rest"));
        }
        let message = message.replace('\0', " ");
        if message.trim().is_empty() {
            return Err(bad("message", "", "is empty", "say what went wrong"));
        }
        self.known_worker(who, id).await?;
        self.end_job(claim, JobEnd::Failed(message, is_final)).await
    }

    /// Extends a job's lease for a worker that cannot send heartbeats meanwhile.
    pub async fn extend_job(
        &self,
        who: &Viewer,
        id: Uuid,
        claim: &JobClaim,
        seconds: i64,
    ) -> Result<(), WorkerError> {
        self.worker(who, id).await?;
        let tx = self.store.begin().await?;
        let row = jobs::of_claim(&tx, claim).await?.ok_or(WorkerError::Stale)?;
        let most = (row.timeout_ms / 1_000).max(1);
        if !(1..=most).contains(&seconds) {
            let help = format!("give 1 to {most}, which is the attempt's timeout");
            return Err(bad("seconds", seconds, "is out of range", &help));
        }
        let lease = seconds.saturating_mul(1_000);
        if !jobs::extend_if_held(&tx, claim, lease, self.clock.now().into()).await? {
            return Err(WorkerError::Stale);
        }
        Ok(self.store.commit_unseen(tx).await?)
    }
}

/// The lines that are stored for the job, with a final note in place of the first one that is left
/// out; and the bytes that the job has then, stored or not.
fn within_limit(job: &job::Model, lines: Vec<(bool, String)>) -> (Vec<(bool, String)>, i64) {
    let (mut count, mut bytes) = (job.lines, job.line_bytes);
    let mut taken = Vec::with_capacity(lines.len());
    for (is_error, text) in lines {
        if count > MAX_JOB_LINES || bytes > MAX_JOB_BYTES {
            break;
        }
        count += 1;
        bytes = bytes.saturating_add(i64::try_from(text.len()).unwrap_or(i64::MAX));
        let is_over = count > MAX_JOB_LINES || bytes > MAX_JOB_BYTES;
        taken.push(if is_over { (true, LEFT_OUT.to_owned()) } else { (is_error, text) });
    }
    (taken, bytes)
}

#[cfg(test)]
mod tests {
    use entity::{Timestamp, job::State};

    use super::*;

    fn job(lines: i64, line_bytes: i64) -> job::Model {
        job::Model {
            id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            run_id: Uuid::nil(),
            run_task: String::new(),
            attempt: 1,
            state: State::Held,
            queue: String::new(),
            task: String::new(),
            tags: None,
            input: Value::Null,
            about: Value::Null,
            priority: 0,
            timeout_ms: 1,
            created_at: Timestamp(0),
            awaited_until: Timestamp(0),
            worker_id: None,
            token: None,
            taken_at: None,
            lease_until: None,
            lease_ms: 1,
            stop: false,
            lines,
            line_bytes,
            output: None,
            error: None,
            is_final: false,
            ended_at: None,
        }
    }

    #[test]
    fn what_is_over_the_limit_of_a_job_is_left_out_and_said_once() {
        let lines = |count: usize, text: &str| vec![(false, text.to_owned()); count];
        let texts = |job: &job::Model, lines: Vec<(bool, String)>| {
            let (taken, bytes) = within_limit(job, lines);
            (taken.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), bytes)
        };
        assert_eq!(texts(&job(0, 0), lines(2, "one")), (vec!["one".to_owned(); 2], 6));
        let full = texts(&job(MAX_JOB_LINES - 1, 0), lines(9, "x"));
        assert_eq!(full, (vec!["x".to_owned(), LEFT_OUT.to_owned()], 2));
        assert!(texts(&job(MAX_JOB_LINES + 1, 2), lines(9, "x")).0.is_empty());
        let full = texts(&job(7, MAX_JOB_BYTES), lines(9, "x"));
        assert_eq!(full, (vec![LEFT_OUT.to_owned()], MAX_JOB_BYTES + 1));
        assert!(texts(&job(8, MAX_JOB_BYTES + 1), lines(9, "x")).0.is_empty());
    }
}
