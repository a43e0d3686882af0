//! People, their permissions, their credentials, and their audit trail.
//!
//! - `query`, `mutation`: the fields, merged into the roots
//! - `settings`: a person's console settings
//! - `deleted_tenant`: deleted namespaces
//! - `user`, `member`, `session`, `token`, `feed`, `tenant`, `audit`: the nouns

mod audit;
mod deleted_tenant;
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

pub(crate) use deleted_tenant::{DeletedTenantMutation, DeletedTenantQuery};
pub(crate) use feed::{FeedMutation, FeedQuery};
pub(crate) use mutation::PeopleMutation;
pub(crate) use query::PeopleQuery;
pub(crate) use settings::SettingsMutation;
