//! Access to the database, and the building blocks of statements.
//!
//! - `primary`: connects to the writable server; `open`: opens and migrates a database; `inspect`,
//!   `stored`, `backup`, `database_file`: other operations on a whole database
//! - `dialect`: the differences between SQLite and PostgreSQL; `bulk`: a batch of rows as a table;
//!   `by_place`: reads rows by column position; `rows`: rows of one column; `lookups`: the lookups
//!   of each type of object
//! - `days`: the days that a statement touches; `live`: the days that can contain live rows
//! - `page`, `total`: lists; `within`: the namespaces of a list; `changes`: the change feed;
//!   `touched`: changed jobs
//! - `searching`: the time limit of searches
//! - `names`: conditions on names
//! - `error`, `writes`: errors, and whether the database accepts writes
//! - `faults`: the faults that a simulation injects; `sizes`: the number of schedules and runs

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
pub(super) mod names;
pub(super) mod open;
pub(super) mod page;
pub(super) mod primary;
pub(super) mod rows;
pub(super) mod searching;
pub(super) mod sizes;
pub mod stored;
pub(super) mod total;
pub(super) mod touched;
pub mod within;
pub(super) mod writes;
