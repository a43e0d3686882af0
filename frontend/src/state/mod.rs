//! State that outlives a page. Each kind is a newtype in a context, set by `provide` and read with its `use_...()`.
//!
//! - `address`: the current address
//! - `session`: the signed-in user
//! - `beat`: lets work that draws the page run at most four times a second
//! - `clock`: the ticking clock behind relative times
//! - `every`: repeats an action
//! - `zone`: the clock on which times are shown
//! - `theme`: light, dark, or the system's
//! - `personal`: a choice that the server keeps for the user
//! - `drafts`: unsent input of forms
//! - `density`: the height of rows
//! - `keys`: whether single-key shortcuts are enabled
//! - `notices`: messages about recent events, shown once and read aloud
//! - `memory`: the browser's storage
//! - `press`: whether a pointer is held down
//! - `range`: the range of time that a page shows
//! - `rows`: a list into which events are merged
//! - `hold`: holds live lists still
//! - `held`: a value of any type behind a pointer
//! - `throttle`: combines many calls into one action
//! - `remembered`: a choice that outlives the page
//! - `title`: the page's name

mod address;
mod beat;
mod clock;
mod density;
mod drafts;
mod every;
mod held;
mod hold;
mod keys;
mod memory;
mod notices;
mod personal;
mod press;
mod range;
mod remembered;
mod rows;
mod session;
mod theme;
mod throttle;
mod title;
mod zone;

pub(crate) use address::{Address, use_address};
pub(crate) use beat::{BEAT, Beat};
pub(crate) use clock::use_now;
pub(crate) use density::use_density;
pub(crate) use drafts::{
    EarlierDraft, Kept as Draft, SentDraft, earlier_draft, use_draft, version_key,
};
pub(crate) use every::use_every;
pub(crate) use held::Held;
pub(crate) use hold::{Hold, use_hold};
pub(crate) use keys::{is_typing, use_keys};
pub(crate) use notices::{Notice, Notices, Said, use_notices};
pub(crate) use personal::Personal;
pub(crate) use press::{Press, use_press};
pub(crate) use range::{Preset, Range, has_range, range_query, ranged_path, use_range};
pub(crate) use remembered::{Remembered, use_remembered};
pub(crate) use rows::{Change, Item, List, Showing};
pub(crate) use session::{PICKED, Session, SessionState, use_session};
pub(crate) use theme::use_theme;
pub(crate) use throttle::Throttle;
pub(crate) use title::{page_title, use_title};
pub(crate) use zone::{Zone, ZoneChoice, use_zone};

/// Provides every context. The app calls it once.
pub(crate) fn provide() {
    address::provide();
    clock::provide();
    zone::provide();
    theme::provide();
    density::provide();
    hold::provide();
    keys::provide();
    notices::provide();
    press::provide();
    session::provide();
    title::provide();
}
