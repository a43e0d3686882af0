//! The one way to the server: GraphQL, typed against `server/schema.graphql` when the console is compiled.
//!
//! Pages never build a request by hand. `calls` has a function for each thing that can be asked or done, and `feeds` one
//! for each thing that can be followed; what they give is an `Ask`, which `data` loads, sends or follows. This room knows
//! no page and no state: it is told what to ask and answers with the model's types, or with a `Failure`.
//!
//! What travels is JSON, and only the last step reads it into a type; so all that waits, retries, aborts and merges is
//! compiled once, and not once for each operation.
//!
//! - `operations`: the operations of `graphql/`, and what each answers
//! - `ask`: an operation with its variables, ready to be sent
//! - `calls`: one function for each thing that a page asks or does
//! - `client`: the POST, and sign-in
//! - `socket`: one WebSocket for all subscriptions, which comes back by itself
//! - `feeds`: what can be followed

mod ask;
mod calls;
mod client;
#[cfg(test)]
mod contract;
mod feeds;
mod operations;
mod socket;

pub(crate) use ask::{Ask, Request, pluck, read};
pub(crate) use calls::*;
pub(crate) use client::{identity_provider, provider_address, sign_in, sign_out};
pub(crate) use feeds::Feed;
pub(crate) use operations::{
    candidate as candidate_input, create_schedule, preview as preview_input,
    test_call as test_call_input, update_schedule,
};
pub(crate) use socket::{Link, Notice, Socket, Subscriber};
