//! The one way to the server: GraphQL, typed against `server/schema.graphql` when the console is compiled.
//!
//! Pages never build a request by hand. `calls` has a function for each thing that can be asked or done; what it gives is
//! an `Ask`, which a page loads with `use_load` or `use_listing`, or sends with `use_actor`. A request that a page no longer
//! needs is aborted when the page goes; a subscription is given back. Errors come as `Failure`, which knows the field that
//! they belong to and what to do about them.
//!
//! What travels is JSON, and only the last step reads it into a type; so all that waits, retries, aborts and merges is
//! compiled once, and not once for each operation.
//!
//! - `operations`: the operations of `graphql/`, and what each answers
//! - `ask`: an operation with its variables, ready to be sent
//! - `calls`: one function for each thing that a page asks or does
//! - `client`: the POST, and sign-in
//! - `failure`: what can go wrong, with its field and position
//! - `held`: a value of any type behind a pointer
//! - `load`: a value filled by a request; loads again when its inputs change or when told
//! - `listing`: a page of a list that events merge into
//! - `actor`: what changes something, and says so
//! - `socket`: one WebSocket for all subscriptions, which comes back by itself
//! - `feed`: a subscription as a page sees it, in batches

mod actor;
mod ask;
mod calls;
mod client;
#[cfg(test)]
mod contract;
mod failure;
mod feed;
mod held;
mod listing;
mod load;
mod operations;
mod socket;

pub(crate) use actor::{Actor, new_key, use_actor, use_once};
pub(crate) use ask::Ask;
pub(crate) use calls::*;
pub(crate) use client::{identity_provider, provider_address, sign_in, sign_out};
pub(crate) use failure::{Code, Failure, explain, field_name, sentence};
pub(crate) use feed::{Feed, use_feed};
pub(crate) use held::Held;
pub(crate) use listing::{Listing, use_listing};
pub(crate) use load::{Load, Loading, use_load};
pub(crate) use operations::{create_schedule, preview as preview_input, update_schedule};
pub(crate) use socket::{Link, Socket};
