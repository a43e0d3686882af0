use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

/// When the schedules should fire, computed without the calculator: the expressions are simple
/// enough to count seconds.
#[derive(Debug)]
pub(super) struct Expansion {
    /// Schedules do not fire at this instant or before.
    pub(super) begin: DateTime<Utc>,
    /// Schedules do not fire after this instant.
    pub(super) end: DateTime<Utc>,
    /// The schedules, with the number that determines each one's expression.
    pub(super) schedules: HashMap<Uuid, usize>,
}

type IsDue = fn(i64, i64) -> bool;

/// Expressions, each with a function that says whether it fires at an instant (given as seconds
/// after the beginning, and as the second of the minute).
const EXPRESSIONS: [(&str, IsDue); 4] = [
    ("@every 1s", |_, _| true),
    ("* * * * * *", |_, _| true),
    ("@every 1s", |_, _| true),
    ("*/5 * * * * *", |_, second| second % 5 == 0),
];

impl Expansion {
    pub(super) fn new(begin: DateTime<Utc>, end: DateTime<Utc>) -> Self {
        Self { begin, end, schedules: HashMap::new() }
    }

    /// The expression of a schedule with that number.
    pub(super) fn expression(number: usize) -> &'static str {
        EXPRESSIONS[number % EXPRESSIONS.len()].0
    }

    /// The instants of a schedule with that number.
    pub(super) fn instants(&self, number: usize) -> impl Iterator<Item = DateTime<Utc>> {
        let (begin, is_due) = (self.begin, EXPRESSIONS[number % EXPRESSIONS.len()].1);
        let seconds = 1..=(self.end - self.begin).num_seconds();
        seconds.filter_map(move |since| {
            let at = begin + TimeDelta::seconds(since);
            is_due(since, at.timestamp() % 60).then_some(at)
        })
    }

    /// The idempotency keys of the executions of all instants.
    pub(super) fn keys(&self) -> HashMap<String, (Uuid, DateTime<Utc>)> {
        let all = self.schedules.iter().flat_map(|(id, number)| {
            self.instants(*number).map(move |at| (format!("{id}-{}", at.timestamp()), (*id, at)))
        });
        all.collect()
    }
}
