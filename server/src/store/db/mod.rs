//! Access to the database, and the building blocks of every statement.
//!
//! - `primary`: follows a fail-over; `open`: connects and migrates; `inspect`, `stored`, `backup`,
//!   `database_file`: other operations on a database as a whole
//! - `dialect`: what differs between SQLite and PostgreSQL; `bulk`: a batch of rows as a table;
//!   `by_place`: rows read by column position; `lookups`: the lookup functions of each object type
//! - `days`: the days that a statement touches; `live`: the days that can contain live rows
//! - `page`, `total`: lists; `within`: the namespaces from which they are read; `changes`: changed
//!   rows, for followers
//! - `searching`: how long a caller may let the database search
//! - `error`, `writes`: errors, and whether the database accepts writes
//! - `faults`: the faults that a simulation injects; `sizes`: the sizes of tables

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
