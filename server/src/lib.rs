//! Carillon: a distributed cron with guaranteed execution, a GraphQL control plane and a monitoring
//! console.
//!
//! A layer only knows the layers beneath it: `web -> api -> commands -> { access, engine } -> {
//! vault, model } -> store -> entity`. Beneath them are `target`, `timetable`, `beacon` and
//! `search`, the language of lists; `batcher`, `bulkhead`, `clock`, `config`, `random`,
//! `single_flight` and `telemetry` are leaves that every layer may use. `app` puts them together,
//! and `cli` is the entry point.

// The futures of the engine nest deeper than the compiler permits by default.
#![recursion_limit = "256"]
// Warns, because a large future of the store once made every future that awaits it as large, and a
// thread's stack overflowed.
#![warn(clippy::large_futures)]

pub mod access;
pub mod api;
pub mod app;
mod batcher;
pub mod beacon;
mod bulkhead;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod engine;
pub mod model;
pub mod random;
pub mod search;
mod single_flight;
pub mod store;
pub mod target;
pub mod telemetry;
pub mod vault;
pub mod web;

/// The allocator. Its feature `override` also replaces the C library's `malloc`, because SQLite's
/// driver copies each value that it reads on one thread and frees it on another (decision 0047).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
