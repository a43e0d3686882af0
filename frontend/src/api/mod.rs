//! All access to the server: GraphQL, typed against `server/schema.graphql` when the console is compiled.
//!
//! Pages never build a request by hand. `calls` has a function for each query and mutation, and `feeds` has one for
//! each subscription; they return an `Ask` or a `Feed`, which `data` loads, sends or follows. This module knows no
//! pages and no state: it sends a request, and returns the model's types or a `Failure`.
//!
//! Answers stay JSON until a last step deserializes them into a type. So the code that waits, retries, aborts and
//! merges is compiled once, rather than once for each operation.
//!
//! - `operations`: the operations of `graphql/`, and the type of each answer
//! - `ask`: an operation with its variables, ready to be sent
//! - `calls`: one function for each query and mutation that a page sends
//! - `client`: the POST, and sign-in
//! - `socket`: one WebSocket for all subscriptions, which reconnects on its own
//! - `feeds`: subscriptions with their variables

mod ask;
mod calls;
mod client;
#[cfg(test)]
mod contract;
mod feeds;
mod operations;
mod socket;

pub(crate) use ask::{Answer, Ask, Request, pluck, read};
pub(crate) use calls::*;
pub(crate) use client::{
    FirstVisit, SignInMethods, provider_address, sign_in, sign_in_methods, sign_out,
};
pub(crate) use feeds::Feed;
pub(crate) use operations::{
    candidate as candidate_input, create_schedule, definition_effect as effect_input,
    preview as preview_input, test_call as test_call_input, update_schedule,
};
pub(crate) use socket::{Link, Notice, Socket, Subscriber};
