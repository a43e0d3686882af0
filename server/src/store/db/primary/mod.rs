//! The way to the database: an address with one host or several, the search for the one that may be
//! written, and the pool of connections that is replaced when that is another one.
//!
//! Promises: a statement is sent to a server that was found to be the primary, or fails with an
//! error that says that the database is lost for now; it never waits for a server that does not
//! answer, and it never reads from a standby. After a fail-over the pool leads to the new primary
//! within seconds, without a restart.
//!
//! Why it holds: each connection asks its server whether it is in recovery before it is used. A
//! server becomes a standby by a restart only, which ends its connections. So what is left is to
//! notice that a server is gone, or that another one has been promoted although it is not: each
//! error of a connection, each refusal to write and each long silence is a reason to look
//! (`keeper`), and looking asks all hosts at once (`search`). Whatever waits for a server that is
//! given up is told so at once (`link`).
//!
//! - `address`: the hosts of a URL, and the URL without its password
//! - `search`: which of them may be written
//! - `link`: the current pool, which the store reads and writes through
//! - `suspicion`: what is a reason to look
//! - `transaction`: a transaction through it
//! - `keeper`: looks when there is reason to, and replaces the pool
//! - `warm`: what a new connection does before it is used
//!
//! SQLite has a link, too: to a pool that nobody replaces.

mod address;
mod keeper;
mod link;
mod search;
mod suspicion;
mod transaction;
mod warm;

pub(in crate::store) use address::{Address, Problem, masked};
pub(in crate::store) use keeper::{open, open_one};
pub(in crate::store) use link::Held;
pub use link::Link;
pub(in crate::store) use suspicion::{Reason, of_driver};
pub use transaction::DatabaseTransaction;
