//! The control plane, asked directly: no HTTP in between.

mod batching;
mod creating;
mod deploying;
mod desk;
mod editing;
mod following;
mod health;
mod ledger;
mod paging;
mod pausing;
mod repeating;
mod retrying;
mod rights;
mod schema;
mod secrets;
