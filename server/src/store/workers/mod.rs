//! Workers, and the jobs that they pull.
//!
//! - `programs`: the registered workers
//! - `queues`: the depth and limit of each queue, and queues without a worker
//! - `jobs`: the workers' operations: take, keep, end; each write names the token of the worker
//!   that took the job
//! - `awaited`: the nodes' operations: create, watch, stop, remove

#[expect(missing_docs, reason = "said above")]
pub mod awaited;
#[expect(missing_docs, reason = "said above")]
pub mod jobs;
#[expect(missing_docs, reason = "said above")]
pub mod programs;
#[expect(missing_docs, reason = "said above")]
pub mod queues;
