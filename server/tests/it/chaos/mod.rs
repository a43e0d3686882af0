//! Faults on real processes: servers are killed, frozen and restarted in turn, their database is
//! stopped, their network is broken, their clocks are stepped, their disk is full - while schedules
//! fire every second. The result must be that of an undisturbed server.
//!
//! An execution is a request to a sink in the test's process, which no fault affects. At the end,
//! sink and ledger are compared with an independently computed expansion. Every instant was
//! executed, or collapsed into a newer one that was due at the same claim (lost 0). No request came
//! without an instant, or before its instant (phantom 0). If an instant was executed twice, the
//! second execution is a further attempt with the same idempotency key and its own row, after a
//! recovery took the run over. Fires that were overdue when a fault ended were executed within the
//! lease and five seconds. Nothing is live any more.
//!
//! Each test has a short form, for every day, and a long one: `make chaos`, which is
//! `CARILLON_CHAOS=long`. `CARILLON_BINARY` names another build of the server. Each prints a line
//! with its counts.
//!
//! - `field`: the schedules, the faults, the end
//! - `expansion`: when schedules should fire
//! - `sink`: where executions arrive
//! - `node`, `postgres`, `proxy`: what the faults affect
//! - `stalls`: when the machine itself stood still
//! - `ledger`, `verdict`: the comparison
//! - `killing`, `freezing`, `database`, `network`, `clock`, `disk`, `promotion`, `redis`: the
//!   faults; `rolling`: no fault, but a restart of all nodes; `stopping`: a shutdown in the middle
//!   of a fault; `calling`: what callers and the log are told during one

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

/// The parameters of a test in its short and in its long form.
fn short_or_long<T>(short: T, long: T) -> T {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let form = std::env::var("CARILLON_CHAOS").unwrap_or_default();
    match form.as_str() {
        "" | "short" => short,
        "long" => long,
        other => panic!("CARILLON_CHAOS is '{other}': say short or long"),
    }
}
