//! Executes many seeds, on as many threads as there are processors, and shrinks a failing seed.

use std::{
    collections::BTreeMap,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use carillon::clock::Clock;

use super::{
    database::Kind,
    scenario::Scenario,
    world::{self, Size, Trace},
};

/// Executes all `seeds`; panics if any fails, with a line for each failure and all events of the
/// first one.
pub(crate) fn live_all(seeds: &[u64], kind: Kind) {
    let start = now();
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let told = AtomicU64::new(0);
    let total = Mutex::new(Size::default());
    let failed: Mutex<BTreeMap<u64, Failure>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = seeds.get(usize::try_from(number).unwrap()) else { return };
                    match live(&Scenario::draw(seed), kind) {
                        Ok(size) => total.lock().unwrap().add(size),
                        Err(failure) => {
                            let again = format!("make sim SIM_SEED={seed}");
                            println!("FAILED: {again} on {kind:?}: {}", gist(&failure.what));
                            failed.lock().unwrap().insert(seed, failure);
                        }
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    let step = start.elapsed().as_secs() / EVERY_SECONDS;
                    if told.fetch_max(step, Ordering::Relaxed) < step {
                        let failed = failed.lock().unwrap().len();
                        println!("{}", progress(done, seeds.len(), failed, start.elapsed()));
                    }
                }
            });
        }
    });
    let Size { fires, runs, attempts, backfills, removed, rounds } = total.into_inner().unwrap();
    let took = start.elapsed();
    let (count, failed) = (seeds.len(), failed.into_inner().unwrap());
    println!(
        "{count} seeds on {kind:?} in {took:.1?}: {rounds} rounds, {fires} fires, {runs} runs, \
         {attempts} attempts, {backfills} backfills, {removed} rows removed; {} seeds failed",
        failed.len()
    );
    let which: Vec<String> = failed.keys().map(u64::to_string).collect();
    if let Some((seed, failure)) = failed.into_iter().next() {
        let report = report(seed, kind, failure);
        panic!("{report}\nAll that failed ({} of {count}): {}", which.len(), which.join(" "));
    }
}

/// The first line of a violation.
fn gist(what: &str) -> String {
    what.lines().next().unwrap_or_default().chars().take(160).collect()
}

/// Why a scenario failed, and everything that happened until then.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) trace: Vec<String>,
}

/// The time limit for a seed, which usually takes about a second, and longer on a busy machine.
const LONGEST: Duration = Duration::from_mins(10);

/// Executes one scenario.
pub(crate) fn live(scenario: &Scenario, kind: Kind) -> Result<Size, Failure> {
    live_traced(scenario, kind).0
}

/// Executes one scenario; also returns all events.
pub(crate) fn live_traced(scenario: &Scenario, kind: Kind) -> (Result<Size, Failure>, Vec<String>) {
    let trace = Trace::default();
    let lived = catch_unwind(AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let lived = world::live(scenario, kind, trace.clone());
        // The limit uses the machine's clock, so it also ends code that would wait forever on a
        // simulated clock.
        let lived = runtime.block_on(Clock::system().timeout(LONGEST, lived));
        lived.unwrap_or_else(|_| Err("it hangs".to_owned()))
    }));
    let what = match lived {
        Ok(Ok(size)) => {
            let trace = std::mem::take(&mut *trace.lock().unwrap());
            return (Ok(size), trace);
        }
        Ok(Err(what)) => what,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            format!("panic: {}", text.unwrap_or_default())
        }
    };
    let trace = std::mem::take(&mut *trace.lock().unwrap());
    (Err(Failure { what, trace: trace.clone() }), trace)
}

/// The report about a failure, with everything that a developer needs.
fn report(seed: u64, kind: Kind, failure: Failure) -> String {
    // A hanging scenario would take the whole time limit at each attempt to shrink it.
    let (scenario, failure) = match failure.what.as_str() {
        "it hangs" => (Scenario::draw(seed), failure),
        _ => shrunk(Scenario::draw(seed), kind, failure),
    };
    let events = scenario.events.len();
    format!(
        "seed {seed} on {kind:?} ({events} events, {} schedules, {} nodes)\n{}\n\n{}\n\n\
         To see it again: make sim SIM_SEED={seed}",
        scenario.plans.len(),
        scenario.nodes,
        failure.trace.join("\n"),
        failure.what,
    )
}

/// The time limit for shrinking a failing seed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Removes half of the events and schedules, then a quarter, and so on, for as long as the rest
/// still fails.
fn shrunk(mut scenario: Scenario, kind: Kind, mut failure: Failure) -> (Scenario, Failure) {
    let start = now();
    let mut portion = scenario.events.len().div_ceil(2);
    while portion > 0 && start.elapsed() < PATIENCE {
        let mut at = 0;
        while at < scenario.events.len() && start.elapsed() < PATIENCE {
            let mut smaller = scenario.clone();
            let end = (at + portion).min(smaller.events.len());
            smaller.events.drain(at..end);
            match live(&smaller, kind) {
                Err(still) if same_kind(&still.what, &failure.what) => {
                    (scenario, failure) = (smaller, still);
                }
                Ok(_) | Err(_) => at = end,
            }
        }
        portion /= 2;
    }
    let mut at = 0;
    while at < scenario.plans.len() && start.elapsed() < PATIENCE {
        let mut smaller = scenario.clone();
        smaller.plans.remove(at);
        match live(&smaller, kind) {
            Err(still) if same_kind(&still.what, &failure.what) => {
                (scenario, failure) = (smaller, still);
            }
            Ok(_) | Err(_) => at += 1,
        }
    }
    (scenario, failure)
}

/// Whether two failures are probably the same: their texts agree, apart from names and numbers.
fn same_kind(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let head = text.split(": Model").next().unwrap_or(text);
        let words = head.split_whitespace().filter(|word| !word.contains(|c: char| c.is_numeric()));
        words.map(str::to_owned).collect()
    };
    words(one) == words(other)
}

impl Size {
    fn add(&mut self, other: Self) {
        self.fires += other.fires;
        self.runs += other.runs;
        self.attempts += other.attempts;
        self.backfills += other.backfills;
        self.removed += other.removed;
        self.rounds += other.rounds;
    }
}

/// How often progress is printed.
const EVERY_SECONDS: u64 = 15;

/// The progress: `12,300 of 20,000 seeds, 0 failed, 4 min left`.
fn progress(done: u64, of: usize, failed: usize, took: Duration) -> String {
    let of = u64::try_from(of).unwrap();
    let left = took.as_secs() * of.saturating_sub(done) / done;
    let left = if left < 120 { format!("{left} s") } else { format!("{} min", left / 60) };
    format!("{} of {} seeds, {failed} failed, {left} left", grouped(done), grouped(of))
}

/// A number with thousands separators.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

fn now() -> Instant {
    Clock::system().instant()
}

/// The seeds of a range, as `SIM_SEEDS` gives it: `0..300`.
pub(crate) fn range(text: &str) -> Range<u64> {
    let parse = || {
        let (from, to) = text.split_once("..")?;
        Some(from.trim().parse().ok()?..to.trim().parse().ok()?)
    };
    parse().unwrap_or_else(|| {
        panic!("SIM_SEEDS: '{text}' is not a range; give FROM..TO, as in 0..300")
    })
}
