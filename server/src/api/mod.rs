//! The control plane: GraphQL over the store's reads and the engine's commands.
//!
//! Promises: an unauthenticated caller learns nothing, because every root field except `me`
//! requires a permission before it reads. Every list is bounded, and every cursor stays valid. A
//! refusal contains a code and the details that a form needs, but no internals. This module decides
//! nothing: writes go through `commands`, and `timetable` computes when a schedule fires.
//!
//! Its types are its own structs, one noun per file. A hop from a list to one row goes through a
//! loader, so a page takes the same number of statements whatever its length.
//!
//! - `schema`, `limits`: the schema, its text in `server/schema.graphql`, and the limits of a
//!   request
//! - `aside`: requests that compute, executed off the event loop; `tenants`: the namespaces that
//!   they count for
//! - `roots`: the root types, merged from `query`, `mutation`, `people` and others; `subscription`
//!   and `work_events`; `payload`: results of mutations
//! - `call`: the form in which a mutation is stored under its idempotency key
//! - `context`: permissions and layers; `error`: refusals; `page`: Relay pages; `loaders`: batched
//!   reads
//! - `calm`: list items that keep batches whole; `follow`: continuous reading of a feed
//! - `schedule`, `timing`, `fire`, `run`, `run_task`, `task_run`, `backfill`, `log`, `workflow`,
//!   `target`, `group`: the nouns
//! - `schedule_policy`, `schedule_state`, `schedule_version`, `tally`: parts of a schedule
//! - `global`: objects that can be refetched by their id alone
//! - `ledger`: the fires of all schedules, listed and counted; `ledger_check`, `ledger_finding`,
//!   `ledger_history`: whether they account for every instant
//! - `fire_day`: how often a schedule fires on each of the coming days
//! - `frequent`: schedules that start as often in each hour
//! - `timeline`: what schedules did and will do in a range of time, side by side
//! - `clock_changes`: the clock changes that affect schedules
//! - `minutes`: upcoming fires per minute; `pause_preview`, `edit_effect`: the effects of a pause
//!   and of an edit; `outage_preview`, `outage`: what each catch-up
//!   policy does about an outage
//! - `timing_preview`: the instants at which a timing fires
//! - `maintenance`: maintenance windows, and the pauses that they plan
//! - `ping`: a schedule's watchdog calls; `calendar`: suppresses fires; `resume`: the effects of a
//!   resume; `backfill_preview`: what a backfill would run
//! - `health_budget`: what the schedules with a tag may lose, and what they have used of it
//! - `health_finding`, `problem`: what is wrong, and what to do about it
//! - `overview`, `upcoming`, `health`, `node`, `viewer`, `deploy`, `drift`, `module`, `retention`,
//!   `secret`: the rest
//! - `alerts`: alert rules and channels, alerts, and notifications
//! - `schedule_input`, `task_input`, `workflow_input`, `filters`: inputs; `sort`: the order of
//!   lists
//! - `run_forecast`: how a live run compares with its schedule's usual runs; `slots`: the outcome
//!   of a schedule's instants
//! - `schedule_group`: schedules by tag or module; `workflow_text`: workflows as text
//! - `metrics`, `run_stats`, `schedule_stats`, `namespace_stats`: figures; `status_feeds`:
//!   subscriptions to metrics and health; `answer_cache`: answers that stay valid for a short time
//! - `sentence`: why a fire has its verdict, in words
//! - `worker`: programs that pull tasks, and their queues
//! - `values`: reads scalar values early, so that errors name their path
//! - `scalar`: instants, and integers that exceed `Int`

mod alerts;
mod answer_cache;
mod aside;
mod backfill;
mod backfill_preview;
mod broker;
mod calendar;
mod call;
mod calm;
mod clock_changes;
mod context;
mod deleted;
mod deploy;
mod drift;
mod edit_effect;
mod error;
mod filters;
mod fire;
mod fire_day;
mod follow;
mod frequent;
mod global;
mod group;
mod health;
mod health_budget;
mod health_finding;
mod ledger;
mod ledger_check;
mod ledger_finding;
mod ledger_history;
mod limits;
mod loaders;
mod log;
mod maintenance;
mod metrics;
mod minutes;
mod module;
mod mutation;
mod namespace_stats;
mod node;
mod outage;
mod outage_preview;
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
mod schedule_group;
mod schedule_input;
mod schedule_policy;
mod schedule_state;
mod schedule_stats;
mod schedule_version;
mod schema;
mod secret;
mod sentence;
mod slots;
mod sort;
mod status_feeds;
mod subscription;
mod tally;
mod target;
mod task_input;
mod task_run;
mod tenants;
mod timeline;
mod timing;
mod timing_preview;
mod upcoming;
mod values;
mod viewer;
mod work_events;
mod worker;
mod workflow;
mod workflow_input;
mod workflow_text;
mod zone_names;

pub use aside::{AnswerPlace, execute, execute_stream, is_mutation, is_refused};
pub(crate) use error::{PASSWORD_CHANGE_REQUIRED, RETRY_AFTER_SECONDS, UNAVAILABLE};
pub use roots::{Mutation, Query, Subscription};
pub use schema::{Schema, schema, sdl};
