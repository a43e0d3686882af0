//! Calls external watchdogs (a dead man's switch). A schedule calls its watchdog after each
//! success. When the calls stop, the watchdog raises an alarm, even if Carillon itself is down.
//!
//! Nothing that fires, runs or settles waits for a call or writes anything extra for it. The feed
//! of runs is read afterwards, by a cursor that moves in the transaction that records the calls.
//! A schedule has at most one pending call: a newer one replaces an older one. So a schedule's
//! calls arrive in order, and a watchdog that was unreachable learns the current state. Events more
//! than an hour old are not reported, because a watchdog takes each call as current. An unreachable
//! watchdog is called less and less often and does not delay the others. Namespaces take turns.
//!
//! - `news`: which call a run requires, and whether its event is still worth reporting
//! - `service`: reads the feed and makes the calls; `wake`: wakes the service when runs change

mod news;
mod service;
mod wake;

pub(in crate::engine) use self::service::Pings;
pub use self::service::PingsReport;
pub(in crate::engine) use self::wake::wake_on_changes;
