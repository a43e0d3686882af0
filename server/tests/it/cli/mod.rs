//! The command line, as the built binary.

mod backfill;
mod cluster;
mod configuration;
mod database;
mod people;
mod preview;
mod retention;
mod skipping;
mod stopping;
