//! The engine: services that make what the tables say come true.
//!
//! Each service is `run_once() -> Report` inside one shared loop, woken by signal or by timer. A
//! wake-up carries no data: what to do is always read afresh from the tables, so a lost wake-up
//! costs time and a doubled one nothing.

mod signals;

pub use signals::Signals;
