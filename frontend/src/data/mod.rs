//! Joins `api` and `state`: the values that pages load, the lists that events update, the subscriptions that pages
//! follow and the changes that they send. `api` and `state` know neither each other nor this module.
//!
//! When a page is left, its requests are aborted and its subscriptions end. Errors are `Failure`s, which contain the
//! field that they belong to and the advice for the user. If an error says that the session has ended, this module
//! ends the session in the console, too.
//!
//! Answers stay JSON until a last step deserializes them into a type. So the code that waits, retries, aborts and
//! merges is compiled once, rather than once for each operation.
//!
//! - `session`: loads the signed-in user, and signs out
//! - `appearance`: the theme and the density that the server keeps for the user
//! - `load`: a value filled by a request, which loads again when its inputs change or on request
//! - `namespaces`: the namespaces that the user may see, for all pickers
//! - `listing`: a page of a list into which events are merged
//! - `total`: the length of a list, counted apart from its page
//! - `actor`: sends changes, and reports their outcome
//! - `feed`: a subscription of a page, whose events arrive in batches

mod actor;
mod appearance;
mod feed;
mod listing;
mod load;
mod namespaces;
mod session;
mod total;

pub(crate) use actor::{Actor, new_key, use_actor, use_once};
pub(crate) use feed::{use_ending_feed, use_feed, use_frame_feed};
pub(crate) use listing::{Listing, use_listing};
pub(crate) use load::{Load, Loading, use_load};
pub(crate) use namespaces::{provide_namespaces, use_namespaces};
pub(crate) use session::{ask_session, sign_out};
pub(crate) use total::use_total;

pub(crate) use crate::api::Feed;

use leptos::prelude::*;

use crate::api::Socket;

/// The socket that all subscriptions share.
#[derive(Clone, Copy)]
struct SharedSocket(StoredValue<Socket, LocalStorage>);

/// Provides the socket, and loads the signed-in user with the appearance of the console. The app calls it once, after
/// `state::provide`.
pub(crate) fn provide() {
    provide_context(SharedSocket(StoredValue::new_local(Socket::new())));
    let session = crate::state::use_session();
    ask_session(session);
    appearance::follow(session);
}

pub(crate) fn use_socket() -> Socket {
    expect_context::<SharedSocket>().0.get_value()
}
