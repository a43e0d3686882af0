//! Connections to the database: a URL with one or more hosts, the search for the writable one, and
//! a connection pool that is replaced when another host becomes the primary.
//!
//! Promises: a statement is sent to a server that was found to be the primary, or fails with an
//! error that says that the database is away. It never waits for a server that does not answer, and
//! never reads from a standby. After a fail-over, the pool connects to the new primary within
//! seconds, without a restart.
//!
//! This holds because each connection checks, before it is used, whether its server is in recovery,
//! and a server only becomes a standby by a restart, which ends its connections. In addition, the
//! store must notice that a server is gone, or that another has been promoted while the old one
//! still runs. Each connection error, each rejected write and each long silence triggers a check
//! (`keeper`), which queries all hosts at once (`search`). When a server is given up, everything
//! that waits for it fails at once (`link`).
//!
//! - `address`: the hosts of a URL, and the URL without its password
//! - `search`: which host is writable
//! - `link`: the current pool, which the store reads and writes through
//! - `suspicion`: what triggers a check
//! - `transaction`: a transaction through the pool
//! - `keeper`: checks when triggered, and replaces the pool
//! - `warm`: what a new connection does before it is used
//!
//! SQLite has a link too: to a pool that is never replaced.

mod address;
mod keeper;
mod link;
mod search;
mod suspicion;
mod transaction;
mod warm;

pub(in crate::store) use address::{Address, AddressProblem, masked};
pub(in crate::store) use keeper::{open, open_one};
pub(in crate::store) use link::Held;
pub use link::Link;
pub(in crate::store) use suspicion::{SuspicionReason, of_driver};
pub use transaction::DatabaseTransaction;
