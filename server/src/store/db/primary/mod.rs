//! Connections to the database: a URL with one or more hosts, the search for the writable server,
//! and a pool of connections that is replaced when another server becomes the primary.
//!
//! A statement is sent to a server that was found to be the primary, or fails with an error
//! that says that the database does not answer.
//! It never waits for a server that does not answer, and never reads from a standby.
//! After a fail-over, the pool connects to the new primary within seconds, without a restart.
//!
//! This holds because each connection checks, before it is used, that its server is not
//! in recovery. A server becomes a standby only by a restart, which ends its connections.
//! In addition, the store must notice that a server is gone, or that another was promoted while
//! the old one still runs. So each connection error, each rejected write and each long silence
//! triggers a check (`keeper`), which queries all hosts at once (`search`).
//! When a server is given up, all statements that wait for it fail at once (`link`).
//!
//! - `address`: the hosts of a URL, and the URL without its password
//! - `search`: finds the writable host
//! - `link`: the way to the current pool, through which the store reads and writes
//! - `pool`: the connections to the current server
//! - `suspicion`: the reasons for a check
//! - `transaction`: a transaction through the pool
//! - `keeper`: checks the hosts, and replaces the pool
//! - `warm`: prepares a new connection before it is used
//!
//! SQLite has links, too: to a pool that is never replaced.

mod address;
mod keeper;
mod link;
mod pool;
mod search;
mod suspicion;
mod transaction;
mod warm;

pub(in crate::store) use address::{Address, AddressProblem, masked};
pub(in crate::store) use keeper::{open, open_one};
pub use link::DatabaseLink;
pub(in crate::store) use pool::UsedPool;
pub(in crate::store) use suspicion::{SuspicionReason, of_driver};
pub use transaction::DatabaseTransaction;
