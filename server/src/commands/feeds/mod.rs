//! Calendars of upcoming runs, and badges, for programs that only have an address.
//!
//! Promises: a feed shows what its owner may see at that moment, and nothing once the owner may no
//! longer sign in. Its address gives access to nothing else. The size of a feed is bounded: for a
//! schedule that fires often, it shows a count per day instead of each fire.
//!
//! - `open`: finds the feed of a key, and its namespace
//! - `standing`: the results of the last runs, for a badge
//! - `event`: what a calendar shows of them
//! - `events`: upcoming fires, from the calculator that the planner uses, and current pauses,
//!   and maintenance windows
//! - `suppressed`: the days on which calendars suppress fires
//! - `content`: which of these events an address asks for

mod content;
mod event;
mod events;
mod open;
mod standing;
mod suppressed;

pub use content::FeedContent;
pub use event::{EventTime, FeedEvent, FeedPause, FeedSchedule, FeedWindow};
pub use events::events;
pub use open::{OpenFeed, open};
pub(crate) use open::{PREFIX, hashed};
pub use standing::{BadgeCounts, standing, tag_of};
pub use suppressed::SuppressedDay;
