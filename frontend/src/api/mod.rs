//! The one way to the server: GraphQL, typed against `server/schema.graphql` when the console is compiled.
//!
//! Pages never build a request by hand. They load with `use_load`, listen with `use_feed`, and act with the functions of
//! `calls`. A request that a page no longer needs is aborted when the page goes; a subscription is given back.
//! Errors come as `Failure`, which knows the field that they belong to and what to do about them.
//!
//! - `operations`: the operations of `graphql/`, one type each
//! - `convert`: their answers as the model's values
//! - `calls`: one function for each thing that a page asks or does
//! - `client`: the POST, and sign-in
//! - `failure`: what can go wrong, with its field and position
//! - `load`: a signal filled by a request; loads again when its inputs change or when told
//! - `socket`: one WebSocket for all subscriptions, which comes back by itself
//! - `feed`: a subscription as a page sees it, in batches

mod calls;
mod client;
mod convert;
mod failure;
mod feed;
mod load;
mod operations;
mod socket;

pub(crate) use calls::*;
pub(crate) use client::{sign_in, sign_out};
pub(crate) use failure::{Code, Failure, explain, sentence};
pub(crate) use feed::{use_log_feed, use_run_feed, use_schedule_feed};
pub(crate) use load::{Load, use_load};
pub(crate) use operations::{create_schedule, preview as preview_input, update_schedule};
pub(crate) use socket::{Link, Socket};
