use std::{
    collections::{HashMap, HashSet},
    fmt,
    time::Duration,
};

use carillon::store::Store;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{expansion::Expansion, field::Fault, ledger::Ledger, sink::Execution};

/// What was found, in the words of the promises.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Instants that were to be executed.
    fires: usize,
    /// Requests that arrived.
    executions: usize,
    /// Attempts behind the first, by the ledger.
    pub(super) further_attempts: usize,
    /// Executions behind the first of their instant.
    doubled: usize,
    /// Instants that nobody executed.
    lost: usize,
    /// Executions of no instant, or before it.
    phantom: usize,
    /// For each fire that a fault delayed: how long after the fault's end it was executed, sorted.
    recoveries: Vec<Duration>,
    faults: usize,
    /// Whatever else is not as it should be.
    broken: Vec<String>,
}

/// What is said at most of one kind of defect.
const MOST_SHOWN: usize = 10;

/// An execution that comes later than this was delayed.
const LATE: Duration = Duration::from_secs(1);

/// Compares the sink and the ledger with what was to happen.
pub(super) async fn judge(
    store: &Store,
    expected: &Expansion,
    executions: &[Execution],
    faults: &[Fault],
) -> Verdict {
    let keys = expected.keys();
    let ledger = Ledger::read(store).await;
    let mut verdict = Verdict {
        fires: keys.len(),
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
    for (key, (_, at)) in &keys {
        let Some(execution) = last.get(key.as_str()) else {
            verdict.lost += 1;
            verdict.broken.push(format!("lost: {key}, due at {at}"));
            continue;
        };
        let late = (execution.at - *at).to_std().unwrap_or_default() > LATE;
        if late || execution.attempt > 1 {
            let hit_at = ledger.started_at(execution.run, execution.attempt - 1).unwrap_or(*at);
            verdict.recoveries.extend(recovery(faults, hit_at, execution.at));
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

/// How long after the end of the fault that hit it something was executed, or after its own
/// instant if that came later.
fn recovery(faults: &[Fault], hit_at: DateTime<Utc>, done: DateTime<Utc>) -> Option<Duration> {
    let mut before = faults.iter().filter(|fault| fault.from <= done);
    let hit = before.clone().find(|fault| fault.until >= hit_at).or(before.next_back())?;
    Some((done - hit.until.max(hit_at)).to_std().unwrap_or_default())
}

impl Verdict {
    /// Panics if not.
    pub(super) fn assert_promises_are_kept(&self, bound: Duration) {
        let slowest = self.recoveries.last().copied().unwrap_or_default();
        let mut broken = self.broken.clone();
        broken.sort_unstable();
        let shown = broken.iter().take(MOST_SHOWN).collect::<Vec<_>>();
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
        let Self { fires, executions, further_attempts, doubled, lost, phantom, faults, .. } = self;
        let (delayed, slowest) = (self.recoveries.len(), self.recoveries.last());
        let middle = self.recoveries.get(delayed / 2).copied().unwrap_or_default();
        write!(
            f,
            "{faults} faults, {fires} fires, {executions} executions, {further_attempts} further \
             attempts, {doubled} of them executed, lost {lost}, phantom {phantom}, {delayed} \
             delayed, recovery p50 {:.2} s, max {:.2} s",
            middle.as_secs_f64(),
            slowest.copied().unwrap_or_default().as_secs_f64(),
        )
    }
}
