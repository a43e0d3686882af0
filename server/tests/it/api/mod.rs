//! The control plane, asked directly: no HTTP in between.

mod backfilling;
mod batching;
mod buffering;
mod calendars;
mod creating;
mod creating_many;
mod creating_together;
mod deploying;
pub(crate) mod desk;
mod editing;
mod following;
mod grouping;
mod health;
mod ledger;
mod nodes;
mod paging;
mod pausing;
mod repeating;
mod resuming;
mod retention;
mod retrying;
mod rights;
mod rolling_back;
mod schema;
mod secrets;
mod skipping;
mod workflows;
