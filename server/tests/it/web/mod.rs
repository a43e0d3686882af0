//! HTTP, asked of the built binary.

mod console;
mod graphql;
mod other_sites;
mod sign_in;
mod watched;
