use std::{
    collections::{HashMap, HashSet},
    fmt,
    time::Duration,
};

use carillon::store::Store;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{expansion::Expansion, field::Fault, ledger::Ledger, sink::Execution, stalls::Stalls};

/// The findings, in the words of the promises.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Expected instants.
    fires: usize,
    /// Rows of the ledger.
    recorded: usize,
    /// Requests that arrived.
    executions: usize,
    /// Attempts after the first, according to the ledger.
    pub(super) further_attempts: usize,
    /// Executions of an instant after its first.
    pub(super) doubled: usize,
    /// Instants in whose place a newer one ran.
    collapsed: usize,
    /// Instants that were not executed and are not accounted for.
    lost: usize,
    /// Executions without an instant, or before their instant.
    phantom: usize,
    /// The recovery of each fire that a fault delayed, quickest first.
    recoveries: Vec<Recovery>,
    faults: usize,
    /// The number of outcomes that were refused because another node had taken the attempt over,
    /// according to the nodes' logs.
    pub(super) refused: usize,
    /// All other violations.
    broken: Vec<String>,
}

/// The recovery of a fire that a fault delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Recovery {
    /// The time from the end of the fault, or from the fire's own instant if that is later, to the
    /// execution, without stalls of the machine.
    took: Duration,
    /// The number of the fault, from 1.
    fault: usize,
    /// When the fire was due, or when its second-to-last attempt began.
    hit_at: DateTime<Utc>,
    /// The attempt that was executed last.
    attempt: i32,
}

/// Maximum number of findings reported per kind of defect.
const MAX_SHOWN: usize = 10;

/// A fire that is executed later than this was delayed by a fault.
const LATE: Duration = Duration::from_secs(1);

/// Compares the sink and the ledger with the expansion.
pub(super) async fn judge(
    store: &Store,
    expected: &Expansion,
    executions: &[Execution],
    faults: &[Fault],
    stalls: &Stalls,
) -> Verdict {
    let keys = expected.keys();
    let ledger = Ledger::read(store).await;
    let mut verdict = Verdict {
        fires: keys.len(),
        recorded: ledger.recorded(),
        executions: executions.len(),
        faults: faults.len(),
        broken: ledger.violations(expected),
        ..Verdict::default()
    };
    let mut seen: HashSet<(Uuid, i32)> = HashSet::new();
    let mut last: HashMap<&str, &Execution> = HashMap::new();
    for execution in executions {
        match keys.get(&execution.key) {
            Some((_, at)) if *at <= execution.at => {}
            Some(_) | None => {
                verdict.phantom += 1;
                verdict.broken.push(format!("phantom: {execution:?}"));
            }
        }
        let recorded = ledger.key_of(execution.run, execution.attempt);
        if recorded != Some(execution.key.as_str()) {
            verdict.broken.push(format!("no attempt of its own: {execution:?}"));
        }
        if !seen.insert((execution.run, execution.attempt)) {
            verdict.broken.push(format!("executed twice: {execution:?}"));
        }
        let latest = last.entry(&execution.key).or_insert(execution);
        if latest.attempt <= execution.attempt {
            *latest = execution;
        }
    }
    verdict.doubled = executions.len() - last.len();
    let collapsed = ledger.collapsed();
    for (key, (schedule, at)) in &keys {
        let Some(execution) = last.get(key.as_str()) else {
            if collapsed.contains(&(*schedule, *at)) {
                verdict.collapsed += 1;
                continue;
            }
            verdict.lost += 1;
            verdict.broken.push(format!("lost: {key}, due at {at}"));
            continue;
        };
        let late = (execution.at - *at).to_std().unwrap_or_default() > LATE;
        if late || execution.attempt > 1 {
            let hit_at = ledger.started_at(execution.run, execution.attempt - 1).unwrap_or(*at);
            verdict.recoveries.extend(recovery(faults, stalls, hit_at, execution));
        }
    }
    for (run, attempt) in ledger.succeeded() {
        if !seen.contains(&(run, attempt)) {
            verdict.broken.push(format!("succeeded and did nothing: run {run} attempt {attempt}"));
        }
    }
    verdict.further_attempts = ledger.further_attempts();
    verdict.recoveries.sort_unstable();
    verdict
}

/// The fault that delayed an execution, and how long the recovery took.
fn recovery(
    faults: &[Fault],
    stalls: &Stalls,
    hit_at: DateTime<Utc>,
    done: &Execution,
) -> Option<Recovery> {
    let before = (1..).zip(faults).filter(|(_, fault)| fault.from <= done.at);
    let hit = before.clone().find(|(_, fault)| fault.until >= hit_at);
    let (fault, hit) = hit.or_else(|| before.last())?;
    let began = hit.until.max(hit_at);
    let took = (done.at - began).to_std().unwrap_or_default();
    let took = took.saturating_sub(stalls.within(began, done.at));
    Some(Recovery { took, fault, hit_at, attempt: done.attempt })
}

impl Verdict {
    /// The longest time from the end of a fault to a fire that it had delayed.
    pub(super) fn slowest(&self) -> Duration {
        self.recoveries.last().map(|recovery| recovery.took).unwrap_or_default()
    }

    /// Panics if a promise was broken.
    pub(super) fn assert_promises_are_kept(&self, bound: Duration) {
        let slowest = self.slowest();
        let mut broken = self.broken.clone();
        broken.sort_unstable();
        let shown = broken.iter().take(MAX_SHOWN).collect::<Vec<_>>();
        assert!(
            broken.is_empty() && self.lost == 0 && self.phantom == 0,
            "{self}; {} defects, such as {shown:#?}",
            broken.len()
        );
        assert!(slowest <= bound, "{self}; a recovery may take {bound:?}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fires, recorded, executions, further_attempts, doubled, .. } = self;
        let Self { lost, phantom, faults, refused, collapsed, .. } = self;
        let (delayed, slowest) = (self.recoveries.len(), self.recoveries.last());
        let seconds = |recovery: &Recovery| recovery.took.as_secs_f64();
        let middle = self.recoveries.get(delayed / 2).map(seconds).unwrap_or_default();
        write!(
            f,
            "{faults} faults, {fires} fires expected, {recorded} recorded, {executions} executed, \
             {further_attempts} further attempts, {doubled} of them executed, {refused} stale \
             writes refused, {collapsed} collapsed, lost {lost}, phantom {phantom}, {delayed} delayed, recovery p50 \
             {middle:.2} s, max {:.2} s",
            slowest.map(seconds).unwrap_or_default(),
        )?;
        let Some(Recovery { fault, hit_at, attempt, .. }) = slowest else { return Ok(()) };
        write!(f, " (fault {fault}, attempt {attempt}, hit at {hit_at})")
    }
}

#[test]
fn a_recovery_counts_from_the_end_of_the_fault_that_hit_it() {
    let at = |second| DateTime::from_timestamp(second, 0).unwrap();
    let fault = |from, until| Fault { from: at(from), until: at(until) };
    let faults = [fault(10, 16), fault(30, 36), fault(50, 56)];
    let recovery = |hit_at, done| {
        let done = Execution { at: at(done), key: String::new(), run: Uuid::nil(), attempt: 2 };
        let found = recovery(&faults, &Stalls::of(&[(at(22), at(23))]), at(hit_at), &done)?;
        Some((found.fault, found.took.as_secs()))
    };
    assert_eq!(recovery(12, 20), Some((1, 4)), "during it");
    assert_eq!(recovery(5, 20), Some((1, 4)), "before it: what was begun then was undone by it");
    assert_eq!(recovery(12, 26), Some((1, 9)), "less what the machine stood still");
    assert_eq!(recovery(20, 33), Some((2, 0)), "before its end");
    assert_eq!(recovery(58, 60), Some((3, 2)), "after the last: what it left behind");
    assert_eq!(recovery(2, 4), None, "of no fault");
}
