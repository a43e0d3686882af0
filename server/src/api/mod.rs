//! The control plane: GraphQL over the store's reads and the engine's commands.
//!
//! Promises: nothing is answered to nobody, since every root field but `me` asks for a right
//! before it reads; every list is bounded and every cursor stays valid; a refusal carries a code
//! and what a form needs, and nothing of the inside. It decides nothing: what is written goes
//! through `commands`, when a schedule fires is asked of `timetable`.
//!
//! Its types are structs of its own, one noun a file. A hop from a list to one row goes through a
//! loader, so a page costs the same number of statements however long it is.
//!
//! - `schema`, `limits`: what a request may ask for, and the text that `server/schema.graphql` keeps
//! - `aside`: requests that compute, away from the event loop
//! - `roots`: put together from `query`, `mutation`, `people` and others; `subscription`; `payload`:
//!   what mutations answer
//! - `call`: what a mutation is to its idempotency key
//! - `context`: rights and layers; `error`: refusals; `page`: Relay; `loaders`: batches
//! - `calm`: a list's items, so that its batches are whole; `follow`: reading a feed on and on
//! - `schedule`, `timing`, `fire`, `run`, `run_task`, `backfill`, `log`, `workflow`, `target`,
//!   `group`: the nouns
//! - `global`: what is read again by its id alone
//! - `ledger`: the fires of all schedules, listed and counted
//! - `minutes`: what is to come by the minute; `pause_preview`, `edit_effect`: what a pause and an edit
//!   would do
//! - `ping`: whom a schedule calls; `calendar`: what suppresses fires; `resume`: what a resume would do; `backfill_preview`: what a
//!   backfill would run
//! - `health_finding`, `problem`: what is wrong, and what to do about it
//! - `overview`, `upcoming`, `health`, `node`, `viewer`, `deploy`, `module`, `retention`, `secret`: the rest
//! - `alerts`: alert rules and channels, alerts, and notifications
//! - `schedule_input`, `task_input`, `workflow_input`, `filters`: what comes in; `sort`: the order
//!   of lists
//! - `run_forecast`: how a live run compares with what is usual; `slots`: what became of a schedule's instants
//! - `metrics`, `run_stats`, `schedule_stats`: how it goes, in figures; `watching`: the same and the health, followed;
//!   `answer_cache`: answers that are good for a moment
//! - `sentence`: why a fire became what it is, in words
//! - `worker`: programs that pull tasks, and their queues
//! - `values`: what scalars are given, read with the path to it
//! - `scalar`: instants, and whole numbers that outgrow `Int`

mod alerts;
mod answer_cache;
mod aside;
mod backfill;
mod backfill_preview;
mod calendar;
mod call;
mod calm;
mod context;
mod deleted;
mod deploy;
mod edit_effect;
mod error;
mod filters;
mod fire;
mod follow;
mod global;
mod group;
mod health;
mod health_finding;
mod ledger;
mod limits;
mod loaders;
mod log;
mod metrics;
mod minutes;
mod module;
mod mutation;
mod node;
mod overview;
mod page;
mod pause_preview;
mod payload;
mod people;
mod ping;
mod problem;
mod publish;
mod publish_input;
mod query;
mod resume;
mod retention;
mod roots;
mod run;
mod run_forecast;
mod run_stats;
mod run_task;
mod run_wait;
mod scalar;
mod schedule;
mod schedule_input;
mod schedule_stats;
mod schema;
mod secret;
mod sentence;
mod slots;
mod sort;
mod subscription;
mod target;
mod task_input;
mod timing;
mod upcoming;
mod values;
mod viewer;
mod watching;
mod worker;
mod workflow;
mod workflow_input;

pub use aside::{execute, execute_stream, is_mutation, is_refused};
pub(crate) use error::{RETRY_AFTER_SECONDS, UNAVAILABLE};
pub use roots::{Mutation, Query, Subscription};
pub use schema::{Schema, schema, sdl};
