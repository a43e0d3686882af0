//! Requests over HTTP.

mod definition;
mod expected;
mod place;

pub use definition::{Http, Method};
pub use expected::StatusSet;
