//! People, what they may do, by what they come in, and what they did.
//!
//! - `query`, `mutation`: the fields, merged into the roots
//! - `settings`: what the console keeps for a person
//! - `user`, `member`, `session`, `token`, `feed`, `tenant`, `audit`: the nouns

mod audit;
mod feed;
mod member;
mod mutation;
mod query;
mod quota;
mod session;
pub(crate) mod settings;
mod tenant;
mod token;
mod user;

pub(crate) use feed::{FeedMutation, FeedQuery};
pub(crate) use mutation::PeopleMutation;
pub(crate) use query::PeopleQuery;
pub(crate) use settings::SettingsMutation;
