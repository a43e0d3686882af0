//! Workers, and the jobs that they pull from queues.
//!
//! - `programs`: the registered workers
//! - `queues`: the depth and the limit of each queue, and queues without a worker
//! - `jobs`: the operations of workers: take, keep and end jobs;
//!   each write names the token of the worker that took the job
//! - `held`: the jobs that a worker holds; `job_lines`: the lines that jobs have printed
//! - `awaited`: the operations of nodes: create, watch, stop and remove jobs

use sea_orm::sea_query::Expr;

pub mod awaited;
pub mod held;
pub mod job_lines;
pub mod jobs;
#[expect(missing_docs, reason = "said above")]
pub mod programs;
#[expect(missing_docs, reason = "said above")]
pub mod queues;

/// The condition that a worker holds the job.
///
/// The state is a constant and not a parameter: PostgreSQL plans these statements once for all
/// parameters, and then uses the indexes of held jobs only if the text says that the job is held.
/// With a parameter it would read all jobs, most of which have ended.
fn is_held() -> Expr {
    Expr::cust("job.state = 'held'")
}
