//! The engine on real databases. The tests check its promises in the tables.
//!
//! - `world`: a database with schedules, and an engine on a clock
//! - `plant`: adding schedules to a world
//! - `gate`: a receiver that keeps a run alive for as long as the test wants
//! - `forge`: rows as a crash would have left them
//! - `past`: settled rows of any age
//! - the others: one promise per file

pub(crate) mod alerts;
mod backfill;
mod broken;
mod buffer;
mod calendar;
mod canary;
mod cancel;
mod clock;
mod cluster;
mod compiling;
mod deadline;
pub(crate) mod editing;
mod ended_namespaces;
mod firing;
mod flow;
mod forge;
mod fortnight;
pub(crate) mod gate;
mod groups;
mod handoff;
mod held_up;
mod idle;
mod ledger_check;
mod limits;
mod logs;
mod lost_answers;
mod lost_workers;
mod many_alive;
mod max_fires;
mod membership;
mod misfire;
mod nesting;
mod ordered_again;
mod outage_holds;
mod overlap;
mod partitions;
mod past;
mod pause;
mod pause_end;
mod plant;
mod preview_holds;
mod pruning;
mod publish;
mod queues;
mod quotas;
mod recovery;
mod refused;
mod relay;
mod retention;
mod retry;
mod secrets;
mod settling;
mod sharing;
mod shutdown;
mod silenced;
mod stats;
mod stood_still;
mod taken_again;
mod templates;
mod timeout;
mod turns;
mod untaken;
mod waiting_for;
mod windows;
mod windows_ahead;
mod windows_ends;
mod windows_meeting;
pub(crate) mod world;
