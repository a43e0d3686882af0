//! What joins `api` and `state`: the values that pages load, the lists that events keep, the feeds that they follow and the
//! changes that they send. Neither of the two rooms knows the other, nor this one.
//!
//! A request that a page no longer needs is aborted when the page goes; a subscription is given back. Errors come as
//! `Failure`, which knows the field that they belong to and what to do about them; one that says that the session has
//! ended ends it here too.
//!
//! What travels is JSON, and only the last step reads it into a type; so all that waits, retries, aborts and merges is
//! compiled once, and not once for each operation.
//!
//! - `session`: asks who this is, and signs out
//! - `load`: a value filled by a request; loads again when its inputs change or when told
//! - `listing`: a page of a list that events merge into
//! - `actor`: what changes something, and says so
//! - `feed`: a subscription as a page sees it, in batches

mod actor;
mod feed;
mod listing;
mod load;
mod session;

pub(crate) use actor::{Actor, new_key, use_actor, use_once};
pub(crate) use feed::use_feed;
pub(crate) use listing::{Listing, use_listing};
pub(crate) use load::{Load, Loading, use_load};
pub(crate) use session::{ask_session, sign_out};

pub(crate) use crate::api::Feed;

use leptos::prelude::*;

use crate::api::Socket;

/// The socket that all subscriptions share.
#[derive(Clone, Copy)]
struct SharedSocket(StoredValue<Socket, LocalStorage>);

/// Gives the socket, and asks who this is. Called once, by the app, after `state::provide`.
pub(crate) fn provide() {
    provide_context(SharedSocket(StoredValue::new_local(Socket::new())));
    ask_session(crate::state::use_session());
}

pub(crate) fn use_socket() -> Socket {
    expect_context::<SharedSocket>().0.get_value()
}
