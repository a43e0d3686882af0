//! Workers' requests about the jobs that they hold: heartbeats, log lines, extensions and ends.

use entity::job;
use futures::future::join_all;
use uuid::Uuid;

use super::{MAX_NAMED, WorkerError, bad};
use crate::{
    access::Viewer,
    commands::Commands,
    store::workers::{
        job_lines::{self, JobHead},
        jobs::{self, JobClaim, JobEnd},
        programs,
    },
    target::{MAX_TAIL_BYTES, MAX_TAIL_LINES, check_output},
};

/// Limits of one request: the number of lines, the length of a line, and the length of all lines.
const MAX_LINES: usize = 200;
const MAX_LINE_BYTES: usize = 16 * 1024;
const MAX_LINES_BYTES: usize = 256 * 1024;
/// Maximum number of lines stored from the beginning of a job's output. Of the rest, only the end
/// is kept.
const MAX_HEAD_LINES: i64 = 8_000;
const MAX_HEAD_BYTES: i64 = (4 * 1024 - 256) * 1024;
/// Lines between the beginning and the end are removed whenever this many have been added.
const TRIM_LINES: i64 = 1_000;
const TRIM_BYTES: i64 = 1024 * 1024;
/// Maximum number of a job's lines that are ever stored, most of them only until they are trimmed.
/// Later lines are only counted, because storing them would cost writes that other jobs need.
const MAX_STORED_LINES: i64 = 1_000_000;
const MAX_STORED_BYTES: i64 = 64 * 1024 * 1024;
/// The last stored line of a job that has reached the limit.
const FULL: &str = "the worker has printed 64 MiB or 1,000,000 lines: what follows is only counted";
const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Maximum number of jobs whose ends one request reports.
const MAX_ENDS: usize = 100;

/// The answer to a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// Jobs that the worker no longer holds: it must drop its work on them.
    pub lost: Vec<Uuid>,
    /// Jobs that the worker must stop.
    pub stop: Vec<Uuid>,
}

impl Commands {
    /// Handles the heartbeat of a worker that is working on these jobs.
    pub async fn keep_jobs(
        &self,
        who: &Viewer,
        id: Uuid,
        claims: &[JobClaim],
        is_draining: bool,
    ) -> Result<HeartbeatAnswer, WorkerError> {
        if claims.len() > MAX_NAMED {
            let problem = format!("names {} jobs", claims.len());
            return Err(bad("jobs", "", problem, "name at most 1000"));
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

    /// Stores lines that a job has printed; each says whether it was an error, and its text. Beyond
    /// a job's limit of lines, only the last ones stay; after 64 MiB or a million lines, none is
    /// stored.
    pub async fn log_job(
        &self,
        who: &Viewer,
        id: Uuid,
        claim: &JobClaim,
        mut lines: Vec<(bool, String)>,
    ) -> Result<(), WorkerError> {
        if lines.len() > MAX_LINES {
            let problem = format!("has {} lines", lines.len());
            return Err(bad("lines", "", problem, "send at most 200 in one request"));
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
            let help = "send at most 256 KiB in one request";
            return Err(bad("lines", "", "are too long together", help));
        }
        self.known_worker(who, id).await?;
        if lines.is_empty() {
            return Ok(());
        }
        let tx = self.store.begin().await?;
        let job = jobs::lock_if_held(&tx, claim).await?.ok_or(WorkerError::Stale)?;
        if is_full(&job, &[]) {
            job_lines::count_lines(&tx, &job, &lines).await?;
            return Ok(self.store.commit_unseen(tx).await?);
        }
        if is_full(&job, &lines) {
            lines.push((true, FULL.to_owned()));
        }
        let head = head_of(&job, &lines);
        job_lines::add_lines(&tx, &job, &lines, head, self.clock.now().into()).await?;
        let changed = std::iter::once(job.id);
        let Some(head) = head else { return Ok(self.store.commit_jobs(tx, changed).await?) };
        if is_trimmed(&job, &lines, head) {
            let limit = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
            let (lines, bytes) = (limit(MAX_TAIL_LINES), limit(MAX_TAIL_BYTES));
            self.store.trim_lines_of_job(&tx, job.id, head, lines, bytes).await?;
        }
        if job.head_lines.is_some() {
            // The attempt copies the end of the output when the job has ended.
            return Ok(self.store.commit_unseen(tx).await?);
        }
        Ok(self.store.commit_jobs(tx, changed).await?)
    }

    /// Ends a job as its worker reports.
    pub async fn end_job(
        &self,
        who: &Viewer,
        id: Uuid,
        claim: &JobClaim,
        end: JobEnd,
    ) -> Result<(), WorkerError> {
        let end = checked_end(end)?;
        self.known_worker(who, id).await?;
        self.record_end(claim, end).await
    }

    /// Ends up to a hundred jobs of one worker. The answers are in the order of the reports, and
    /// each is the one that the report would get alone.
    pub async fn end_jobs(
        &self,
        who: &Viewer,
        id: Uuid,
        ends: Vec<(JobClaim, JobEnd)>,
    ) -> Result<Vec<Result<(), WorkerError>>, WorkerError> {
        if ends.len() > MAX_ENDS {
            let problem = format!("names {} jobs", ends.len());
            return Err(bad("ends", "", problem, "report at most 100 in one request"));
        }
        self.known_worker(who, id).await?;
        let ended = ends.into_iter().map(async |(claim, end)| {
            let end = checked_end(end)?;
            self.record_end(&claim, end).await
        });
        Ok(join_all(ended).await)
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

/// The end as it is stored, if it is within the limits.
fn checked_end(end: JobEnd) -> Result<JobEnd, WorkerError> {
    match end {
        JobEnd::Completed(output) => match check_output(&output) {
            Ok(()) => Ok(JobEnd::Completed(output)),
            Err(problem) => Err(bad("output", "", problem, "return less, or say where it is")),
        },
        JobEnd::Failed(message, is_final) => {
            let size = message.len();
            if size > MAX_MESSAGE_BYTES {
                let problem = format!("has {size} bytes; the limit is {MAX_MESSAGE_BYTES}");
                return Err(bad("message", "", problem, "shorten it, and log the rest"));
            }
            let message = message.replace('\0', " ");
            if message.trim().is_empty() {
                return Err(bad("message", "", "is empty", "say what went wrong"));
            }
            Ok(JobEnd::Failed(message, is_final))
        }
    }
}

/// The stored beginning of the job's output, once the output with these lines exceeds it.
fn head_of(job: &job::Model, lines: &[(bool, String)]) -> Option<JobHead> {
    if let Some(head) = JobHead::of(job) {
        return Some(head);
    }
    let mut head = JobHead { lines: job.lines, bytes: job.line_bytes };
    for (_, text) in lines {
        let bytes = head.bytes.saturating_add(i64::try_from(text.len()).unwrap_or(i64::MAX));
        if head.lines >= MAX_HEAD_LINES || bytes > MAX_HEAD_BYTES {
            return Some(head);
        }
        head = JobHead { lines: head.lines + 1, bytes };
    }
    None
}

/// Whether adding these lines makes it time to remove lines between the beginning and the end.
fn is_trimmed(job: &job::Model, lines: &[(bool, String)], head: JobHead) -> bool {
    let grown = |before: i64, added: i64, head: i64, step: i64| {
        let before = before - head;
        before.div_euclid(step) != before.saturating_add(added).div_euclid(step)
    };
    grown(job.lines, count_of(lines), head.lines, TRIM_LINES)
        || grown(job.line_bytes, bytes_of(lines), head.bytes, TRIM_BYTES)
}

/// Whether the job has printed so much, including these lines, that no more is stored.
fn is_full(job: &job::Model, lines: &[(bool, String)]) -> bool {
    job.lines.saturating_add(count_of(lines)) >= MAX_STORED_LINES
        || job.line_bytes.saturating_add(bytes_of(lines)) >= MAX_STORED_BYTES
}

fn count_of(lines: &[(bool, String)]) -> i64 {
    i64::try_from(lines.len()).unwrap_or(i64::MAX)
}

fn bytes_of(lines: &[(bool, String)]) -> i64 {
    let bytes = lines.iter().map(|(_, text)| text.len()).sum::<usize>();
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use entity::{Timestamp, job::State};
    use serde_json::Value;

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
            head_lines: None,
            head_bytes: None,
            output: None,
            error: None,
            is_final: false,
            ended_at: None,
        }
    }

    fn lines(count: usize, text: &str) -> Vec<(bool, String)> {
        vec![(false, text.to_owned()); count]
    }

    #[test]
    fn the_beginning_of_an_output_ends_at_its_limit_and_stays() {
        assert_eq!(head_of(&job(0, 0), &lines(2, "one")), None);
        assert_eq!(head_of(&job(MAX_HEAD_LINES - 1, 5), &lines(1, "x")), None);
        let head = JobHead { lines: MAX_HEAD_LINES, bytes: 6 };
        assert_eq!(head_of(&job(MAX_HEAD_LINES - 1, 5), &lines(9, "x")), Some(head));
        let head = JobHead { lines: 8, bytes: MAX_HEAD_BYTES };
        assert_eq!(head_of(&job(7, MAX_HEAD_BYTES - 1), &lines(9, "x")), Some(head));
        let head = JobHead { lines: 3, bytes: 30 };
        let long = job::Model { head_lines: Some(3), head_bytes: Some(30), ..job(9_000, 90_000) };
        assert_eq!(head_of(&long, &lines(9, "x")), Some(head));
    }

    #[test]
    fn no_more_is_stored_of_a_job_that_prints_without_end() {
        assert!(!is_full(&job(MAX_STORED_LINES - 2, 0), &lines(1, "")));
        assert!(is_full(&job(MAX_STORED_LINES - 2, 0), &lines(2, "")));
        assert!(!is_full(&job(5, MAX_STORED_BYTES - 2), &lines(1, "x")));
        assert!(is_full(&job(5, MAX_STORED_BYTES - 2), &lines(1, "xy")));
        assert!(is_full(&job(5, MAX_STORED_BYTES), &[]));
    }

    #[test]
    fn lines_between_the_ends_are_removed_now_and_then() {
        let head = JobHead { lines: 8_000, bytes: 8_000 };
        let trims = |count: i64, bytes: i64, added: &[(bool, String)]| {
            is_trimmed(&job(8_000 + count, 8_000 + bytes), added, head)
        };
        assert!(!trims(100, 100, &lines(200, "x")));
        assert!(trims(900, 100, &lines(200, "x")));
        assert!(trims(2_900, 100, &lines(200, "x")));
        assert!(trims(100, TRIM_BYTES - 1, &lines(1, "x")));
        assert!(!trims(100, TRIM_BYTES, &lines(1, "x")));
    }
}
