//! The engine on real databases: what it promises, seen in the tables.
//!
//! - `world`: a database with schedules, and an engine on a clock
//! - `plant`: how schedules get into it
//! - `gate`: a receiver that keeps a run alive for as long as the test likes
//! - `forge`: rows as a crash would have left them
//! - `past`: settled rows of any age
//! - the others: one promise a file

mod backfill;
mod broken;
mod buffer;
mod calendar;
mod cancel;
mod clock;
mod cluster;
mod deadline;
mod firing;
mod flow;
mod forge;
mod fortnight;
mod gate;
mod groups;
mod handoff;
mod limits;
mod logs;
mod max_fires;
mod membership;
mod misfire;
mod overlap;
mod partitions;
mod past;
mod pause;
mod plant;
mod pruning;
mod recovery;
mod relay;
mod retention;
mod retry;
mod settling;
mod shutdown;
mod templates;
mod timeout;
pub(crate) mod world;
