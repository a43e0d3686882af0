//! Carillon: a distributed cron with guaranteed execution, a GraphQL control plane and a
//! monitoring console.
//!
//! The rooms and who may know whom: `web -> api -> engine -> { store -> entity, target,
//! timetable, beacon }`; `search`, the language of lists, is below the store; `clock`, `config`,
//! `random` and `telemetry` are leaves that every room may use. `app` puts
//! them together, `cli` is the way in.

// The futures of the engine nest deeper than the compiler looks by itself.
#![recursion_limit = "256"]
// One large future of the store once made all that wait for it as large, and a thread overflowed.
#![warn(clippy::large_futures)]

pub mod api;
pub mod app;
pub mod beacon;
pub mod cli;
pub mod clock;
pub mod config;
pub mod engine;
pub mod random;
pub mod search;
pub mod store;
pub mod target;
pub mod telemetry;
pub mod web;

/// Its feature `override` puts it in the place of the C library's `malloc`, too: SQLite's driver
/// copies each value that it reads on one thread and frees it on another (decision 0047).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
