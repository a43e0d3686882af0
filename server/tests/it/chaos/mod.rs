//! Faults on real processes: servers are killed, frozen and restarted in turn, their database is
//! stopped, their network is broken, their clocks are stepped, their disk is full - while schedules
//! fire every second. What must come out is what an undisturbed server would have done.
//!
//! An execution is a request to a sink in the test's process, which no fault hits. When all is
//! over, sink and ledger are compared with an expansion that the test counts out by itself: every
//! instant was executed, or collapsed into a newer one that was due at the same claim (lost 0), nothing was executed that is no instant or before it (phantom 0),
//! what was executed twice is a further attempt with the same idempotency key and a row of its own,
//! after one recovery that took the run over, what was overdue when a fault ended was executed
//! within the lease and five seconds, and nothing is alive any more.
//!
//! Each test has a short form, for every day, and a long one: `make chaos`, which is
//! `CARILLON_CHAOS=long`. `CARILLON_BINARY` names another build of the server. Each prints a line
//! with what it counted.
//!
//! - `field`: the schedules, the faults, the end
//! - `expansion`: when schedules are to fire
//! - `sink`: where executions arrive
//! - `node`, `postgres`, `proxy`: what is hit
//! - `stalls`: when the machine itself stood still
//! - `ledger`, `verdict`: the comparison
//! - `killing`, `freezing`, `database`, `network`, `clock`, `disk`, `promotion`, `redis`: the
//!   faults; `rolling`: no fault, but a restart of all; `stopping`: a stop in the middle of a fault;
//!   `calling`: what callers and the log are told in one

mod calling;
mod clock;
mod database;
mod disk;
mod expansion;
mod field;
mod freezing;
mod killing;
mod ledger;
mod network;
mod node;
mod postgres;
mod promotion;
mod proxy;
mod redis;
mod rolling;
mod sink;
mod stalls;
mod stopping;
mod verdict;

/// What a test is to do in its short and in its long form.
fn short_or_long<T>(short: T, long: T) -> T {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let form = std::env::var("CARILLON_CHAOS").unwrap_or_default();
    match form.as_str() {
        "" | "short" => short,
        "long" => long,
        other => panic!("CARILLON_CHAOS is '{other}': say short or long"),
    }
}
