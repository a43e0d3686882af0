//! The engine on real databases: what it promises, seen in the tables.

mod firing;
mod misfire;
mod world;
