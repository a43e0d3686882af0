//! Calendars of upcoming runs and badges, for programs that know nothing but an address.
//!
//! Promises: a feed shows what its owner may see at that moment, and nothing once they may not come
//! in; whoever has its address can do nothing else with it. What it shows is bounded, whatever the
//! schedules are: of one that fires often a day says how often, instead of each time.
//!
//! - `open`: from a key to what may be shown
//! - `standing`: how the last runs of what a badge shows went
//! - `events`: what is to come, asked of the calculator that the planner asks

mod events;
mod open;
mod standing;

pub use events::{Event, Shown, When, events};
pub use open::{Opened, open};
pub(crate) use open::{PREFIX, hashed};
pub use standing::{BadgeCounts, standing};
