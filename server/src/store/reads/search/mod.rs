//! Translates the terms of a search to SQL.
//! Every word is a bound value; all text of statements comes from this module.
//!
//! A condition is never NULL, because its negation would then be NULL, too, and match nothing.
//! So every nullable column is checked first.
//!
//! The lists are read in the order of an index (`schedule_name`, or the key of runs) until the page
//! is full. Some terms use other indexes: `next` uses `schedule_due`; `state` uses the partial
//! indexes on live and on unsuccessful runs; a schedule, workflow, group, calendar or node is
//! looked up once by its name; `lost` uses the partial index on lost fires; `late` of a schedule
//! uses the key of its newest run. All other terms are compared row by row.
//!
//! - `schedule_terms`, `run_terms`: the terms of each list

mod run_terms;
mod schedule_terms;

use entity::{Timestamp, concurrency_group, workflow};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, IntoSimpleExpr, QueryFilter, QuerySelect, QueryTrait,
    sea_query::{ExprTrait, SelectStatement},
};

use super::{
    matching::{any_of, compare, is, some},
    within::Within,
};
use crate::{
    search::{Criterion, Search, State, TimeField, TimeOperand},
    store::Dialect,
};

/// A search, and the instant to which its relative times refer.
#[derive(Clone, Debug)]
pub struct TimedSearch {
    /// The terms of the search.
    pub search: Search,
    /// The current time, to which relative times refer.
    pub at: Timestamp,
    /// Whether error texts are searched, too.
    pub in_errors: bool,
}

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// The inputs of every condition.
struct ConditionInputs<'a> {
    dialect: &'a Dialect,
    within: &'a Within,
    now: i64,
    in_errors: bool,
}

impl TimedSearch {
    /// The condition for schedules that match the search.
    pub(super) fn schedules(&self, dialect: &Dialect, within: &Within) -> Condition {
        let scope = ConditionInputs { dialect, within, now: self.at.0, in_errors: self.in_errors };
        self.all(|test| scope.of_schedule(test))
    }

    /// The condition for runs that match the search.
    pub(super) fn runs(&self, dialect: &Dialect, within: &Within) -> Condition {
        let scope = ConditionInputs { dialect, within, now: self.at.0, in_errors: self.in_errors };
        self.all(|test| scope.of_run(test))
    }

    /// Whether the search can match only live runs.
    pub(super) fn is_of_live_runs(&self) -> bool {
        let is_of_live = |test: &Criterion| matches!(test, Criterion::State(states) if states.iter().copied().all(is_live));
        self.search.terms.iter().any(|term| !term.negated && is_of_live(&term.test))
    }

    fn all(&self, condition: impl Fn(&Criterion) -> Condition) -> Condition {
        self.search.terms.iter().fold(Condition::all(), |all, term| {
            let condition = condition(&term.test);
            all.add(if term.negated { condition.not() } else { condition })
        })
    }
}

impl ConditionInputs<'_> {
    /// The condition that a time matches.
    fn time<C: ColumnTrait>(&self, column: C, field: TimeField, moment: TimeOperand) -> Condition {
        let value = || column.into_simple_expr();
        let condition = match moment {
            TimeOperand::Never => return any_of(column.is_null()),
            TimeOperand::On(day) => {
                let from = day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis();
                value().gte(from).and(value().lt(from + DAY))
            }
            TimeOperand::At(order, at) => compare(value(), order, at.timestamp_millis()),
            TimeOperand::Away(order, span) if field.is_ahead() => {
                compare(value(), order, self.now.saturating_add(span.millis()))
            }
            TimeOperand::Away(order, span) => {
                compare(value(), order.reversed(), self.now.saturating_sub(span.millis()))
            }
        };
        some(column, condition)
    }

    fn workflows(&self, condition: Condition) -> SelectStatement {
        use workflow::Column as C;
        let such = workflow::Entity::find()
            .select_only()
            .column(C::Id)
            .filter(self.within.holds(C::NamespaceId))
            .filter(condition);
        such.into_query()
    }

    fn in_group<C: ColumnTrait>(&self, column: C, names: &[String]) -> Condition {
        use concurrency_group::Column as G;
        let groups = concurrency_group::Entity::find()
            .select_only()
            .column(G::Id)
            .filter(self.within.holds(G::NamespaceId))
            .filter(is(G::Name, names));
        some(column, column.in_subquery(groups.into_query()))
    }
}

fn is_live(state: State) -> bool {
    matches!(state, State::Queued | State::Running | State::Retrying)
}
