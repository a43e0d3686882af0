//! Programs that pull tasks, and what they pull.
//!
//! - `programs`: who they are
//! - `queues`: how full each queue is, its limit, and where nobody pulls
//! - `jobs`: what workers do: taken, kept, ended; each write names the token of whoever took it
//! - `awaited`: what nodes do: made, watched, stopped, removed

#[expect(missing_docs, reason = "said above")]
pub mod awaited;
#[expect(missing_docs, reason = "said above")]
pub mod jobs;
#[expect(missing_docs, reason = "said above")]
pub mod programs;
#[expect(missing_docs, reason = "said above")]
pub mod queues;
