//! The pages: each loads what it shows, listens for changes, and arranges components.
//!
//! Filters and cursors live in the address, so a view can be bookmarked and sent to a colleague. What a page shows it
//! gets from queries; events only merge into that or make it load again.

mod not_found;
mod overview;
mod run;
mod runs;
mod schedule;
mod schedule_form;
mod schedules;
mod sign_in;

pub(crate) use not_found::NotFound;
pub(crate) use overview::Overview;
pub(crate) use run::Run;
pub(crate) use runs::Runs;
pub(crate) use schedule::Schedule;
pub(crate) use schedule_form::{EditSchedule, NewSchedule};
pub(crate) use schedules::Schedules;
pub(crate) use sign_in::SignIn;

use crate::route::Route;

/// A route with a query; what is empty is left out.
fn with_query(route: Route, query: &[(&str, String)]) -> String {
    let pairs: Vec<String> = query
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", js_sys::encode_uri_component(value)))
        .collect();
    let path = route.path();
    if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
}
