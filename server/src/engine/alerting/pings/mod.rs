//! Dead man's switch: a schedule calls an external watchdog after each success, so that the
//! watchdog raises an alarm when successes stop, even if Carillon itself is down.
//!
//! Promises: nothing that fires, runs or settles waits for a call or writes anything extra for it:
//! the feed of runs is read after the fact, by a cursor that moves in the transaction that records
//! the calls. A schedule has at most one pending call, the newest: it replaces any older one, so a
//! schedule's calls arrive in order, and a watchdog that was unreachable learns the current state
//! and not a past one. Events more than an hour old are not reported, because a watchdog takes a
//! call as current. An unreachable watchdog is called less and less often, and does not
//! hold up the others; namespaces take turns.
//!
//! - `whom`: how long an event is worth reporting; `news`: which call a run requires, pure
//! - `service`: reads the feed, and makes the calls; `wake`: wakes it when runs change

mod news;
mod service;
mod wake;
mod whom;

pub(in crate::engine) use self::service::Pings;
pub use self::service::PingsReport;
pub(in crate::engine) use self::wake::wake_on_changes;
