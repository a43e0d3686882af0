//! Access to the database, and the building blocks of every statement.
//!
//! - `primary`: follows a fail-over; `open`: connects and migrates; `inspect`, `backup`, `database_file`:
//!   other operations on a whole database
//! - `dialect`: the differences between SQLite and PostgreSQL; `bulk`: a batch of rows as a table;
//!   `by_place`: rows read by column position; `lookups`: how an object's rows are found
//! - `days`: the days that a statement touches; `live`: the days that can contain live rows
//! - `page`, `total`: lists; `changes`: wakes followers of changes
//! - `searching`: the time limit of database searches
//! - `error`, `writes`: what went wrong, and whether the database accepts writes
//! - `faults`: faults that a simulation injects; `sizes`: the numbers of schedules and waiting runs

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
pub(super) mod total;
pub(super) mod writes;
