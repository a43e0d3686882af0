//! The command line, as the built binary.

mod alerts;
mod backfill;
mod backup;
mod cluster;
mod configuration;
mod confined;
mod database;
mod desk;
mod doctor;
mod doctor_outside;
mod importing;
mod importing_more;
mod leftovers;
mod modules;
mod one_file;
mod operating;
mod ordering;
mod people;
mod preview;
mod redis;
mod retention;
mod searching;
mod secret;
mod skipping;
mod stopping;
