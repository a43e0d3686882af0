//! Dead man's pings: a schedule calls a watchdog outside after each success, so that somebody
//! notices when nothing succeeds any more, Carillon itself included.
//!
//! Promises: nothing that fires, runs or settles waits for a call, or writes a word more for it: the
//! feed of runs is read behind everybody else, by a cursor that moves in the transaction that notes
//! what was found. A schedule has one call to make, the newest: one that says less than what has
//! happened since is not made any more, so calls of a schedule arrive in their order, and a watchdog
//! that was away hears how it is and not how it was. What happened more than an hour ago is not
//! said: a watchdog takes a call for the present. Who is away is called ever less often, whatever
//! happens, and holds up nobody who is there; namespaces take turns.
//!
//! - `whom`: the addresses, checked and filled in; `news`: what runs mean for them, pure
//! - `service`: reads the feed, and makes the calls

mod news;
mod service;
mod whom;

pub(in crate::engine) use self::service::Pings;
pub use self::service::PingsReport;
