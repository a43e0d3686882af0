//! Access to the database, and the building blocks of every statement.
//!
//! - `primary`: follows a fail-over; `open`: connects and migrates; `inspect`, `stored`, `backup`,
//!   `database_file`: what else is done with a database as a whole
//! - `dialect`: what differs between SQLite and PostgreSQL; `bulk`: a batch of rows as a table;
//!   `by_place`: rows read by the places of their columns; `lookups`: how a noun's rows are found
//! - `days`: the days that a statement touches; `live`: those in which something can be alive
//! - `page`, `total`: lists; `within`: the namespaces that they are read from; `changes`: wakes who follows them
//! - `searching`: how long somebody may have the database look for something
//! - `error`, `writes`: what went wrong, and whether the database takes what is written
//! - `faults`: what a simulation does to a store; `sizes`: how much there is

pub mod backup;
pub(crate) mod bulk;
pub(super) mod by_place;
pub(super) mod changes;
pub(super) mod database_file;
pub(crate) mod days;
pub(super) mod dialect;
pub(super) mod error;
pub(super) mod faults;
pub mod inspect;
pub mod live;
pub(super) mod lookups;
pub(super) mod open;
pub(super) mod page;
pub(super) mod primary;
pub(super) mod searching;
pub(super) mod sizes;
pub mod stored;
pub(super) mod total;
pub mod within;
pub(super) mod writes;
