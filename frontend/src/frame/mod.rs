//! The frame around every page: the rail with the pages, the header with the current page and the
//! clock, and on a phone the bar at the bottom. The frame knows the address and the session, so
//! that components need not know them.
//!
//! - `rail`: the pages, group by group. A page without an entry here can only be reached by a link
//! - `header`: namespace, breadcrumb, range, connection, clock, person
//! - `namespaces`: the picker of the namespace
//! - `ranges`: the picker of the range of time
//! - `zones`: the picker of the clock on which times are shown
//! - `person`: theme, keys, signing out
//! - `tallies`: the counts that the rail shows beside its pages
//! - `phone_bar`: the pages on a phone
//! - `palette`: finds pages, schedules and actions by a few letters
//! - `hold`: the button that holds live lists still
//! - `connection`: the mark of the live connection
//! - `shortcut_keys`: single keys that work wherever nothing is being typed

mod connection;
mod header;
mod hold;
mod namespaces;
mod palette;
mod person;
mod phone_bar;
mod rail;
mod ranges;
mod shortcut_keys;
mod tallies;
mod zones;

pub(crate) use header::Header;
pub(crate) use phone_bar::PhoneBar;
pub(crate) use rail::Rail;
pub(crate) use tallies::provide_counts;
