//! Users and programs: how they authenticate, and their permissions.

pub mod devices;
pub mod feeds;
pub mod guesses;
pub mod memberships;
pub mod sessions;
pub mod tokens;
pub mod user_settings;
pub mod users;
