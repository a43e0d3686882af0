//! Carillon: a distributed cron with guaranteed execution, a GraphQL control plane and a
//! monitoring console.
//!
//! The layers, each of which knows only what is beneath it:
//! `web -> api -> commands -> { access, engine } -> { vault, model } -> store -> entity`. Beneath
//! them are `target`, `timetable`, `beacon` and `search`, the language of lists; `batcher`, `clock`,
//! `config`, `random`, `single_flight` and `telemetry` are leaves that every layer may use. `app`
//! puts them together, `cli` is the way in.

// The futures of the engine nest deeper than the compiler looks by itself.
#![recursion_limit = "256"]
// One large future of the store once made all that wait for it as large, and a thread overflowed.
#![warn(clippy::large_futures)]

pub mod access;
pub mod api;
pub mod app;
mod batcher;
pub mod beacon;
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

/// Its feature `override` puts it in the place of the C library's `malloc`, too: SQLite's driver
/// copies each value that it reads on one thread and frees it on another (decision 0047).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
