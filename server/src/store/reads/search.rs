//! Translates the terms of a search to SQL.
//! Every word is a bound value; all text of statements comes from this module.
//!
//! A condition is never NULL, because its negation would then be NULL, too, and match nothing.
//! So every nullable column is checked first.
//!
//! The lists are read in the order of an index (`schedule_name`, or the key of runs) until the page
//! is full. Some terms use other indexes: `next` uses `schedule_due`; `state` uses the partial
//! indexes on live and on unsuccessful runs; a schedule, workflow, group or node is looked up once
//! by its name; `lost` uses the partial index on lost fires; `late` of a schedule uses the key of
//! its newest run. All other terms are compared row by row.

use super::{
    matching::{
        any_of, any_part, compare, contains, contains_some, in_name_or_note, is, is_some, nothing,
        some,
    },
    runs::ended_badly,
    schedules,
    within::Within,
};
use crate::{
    search::{
        Comparator, Criterion, Search, SearchSpan, SpanField, State, TimeField, TimeOperand,
        Trigger, WordField,
    },
    store::Dialect,
};
use entity::{Timestamp, concurrency_group, fire, node, run, schedule, workflow};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, IntoSimpleExpr, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait,
    sea_query::{Expr, ExprTrait, Func, SelectStatement, SimpleExpr},
};

/// A search, and the instant to which its relative times refer.
#[derive(Clone, Debug)]
pub struct Sought {
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

impl Sought {
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
    fn of_schedule(&self, test: &Criterion) -> Condition {
        match test {
            Criterion::Text(text) => in_name_or_note(self.dialect, text),
            Criterion::State(states) => {
                states.iter().fold(Condition::any(), |any, state| any.add(self.standing(*state)))
            }
            Criterion::Word(field, words) => self.schedule_word(*field, words),
            Criterion::No(fields) => {
                fields.iter().fold(Condition::any(), |any, field| any.add(self.schedule_no(*field)))
            }
            Criterion::Time(field, moment) => self.schedule_time(*field, *moment),
            Criterion::Span(field, order, span) => self.schedule_span(*field, *order, *span),
            // Schedules do not have these terms; the parser rejects them.
            Criterion::Id(_) | Criterion::Trigger(_) => nothing(),
        }
    }

    fn of_run(&self, test: &Criterion) -> Condition {
        use run::Column as C;
        match test {
            Criterion::Text(text) => {
                let named = contains(schedule::Column::Name, text);
                let workflows = self.workflows(contains(workflow::Column::Name, text));
                let errors =
                    if self.in_errors { contains_some(C::Error, text) } else { Condition::any() };
                errors.add(self.by_schedule(named)).add(C::WorkflowId.in_subquery(workflows))
            }
            Criterion::State(states) => {
                states.iter().fold(Condition::any(), |any, state| any.add(run_stands(*state)))
            }
            Criterion::Id(ids) => any_of(C::Id.is_in(ids.iter().copied())),
            Criterion::Trigger(triggers) => {
                any_of(C::Trigger.is_in(triggers.iter().map(|trigger| trigger_of(*trigger))))
            }
            Criterion::Word(field, words) => self.run_word(*field, words),
            Criterion::No(fields) => {
                fields.iter().fold(Condition::any(), |any, field| any.add(self.run_no(*field)))
            }
            Criterion::Time(field, moment) => self.run_time(*field, *moment),
            Criterion::Span(field, order, span) => self.run_span(*field, *order, *span),
        }
    }

    fn schedule_word(&self, field: WordField, words: &[String]) -> Condition {
        use schedule::Column as C;
        match field {
            WordField::Tag => words.iter().fold(Condition::any(), |any, tag| {
                let placeholder = if self.dialect.is_postgres() { "$1" } else { "?" };
                let has = self.dialect.list_has("schedule.tags", placeholder);
                any.add(Expr::cust_with_values(has, [tag.clone()]))
            }),
            WordField::Workflow => {
                let workflows = self.workflows(is(workflow::Column::Name, words));
                any_of(C::WorkflowId.in_subquery(workflows))
            }
            WordField::Schedule => is(C::Name, words),
            WordField::Name => any_part(C::Name, words),
            WordField::Note => any_part(C::Note, words),
            WordField::Module => is_some(C::Module, words),
            WordField::Zone => is(C::Zone, words),
            WordField::Group => self.in_group(C::GroupId, words),
            // Schedules do not have these fields.
            WordField::Node | WordField::Error => nothing(),
        }
    }

    fn run_word(&self, field: WordField, words: &[String]) -> Condition {
        use run::Column as C;
        match field {
            WordField::Workflow => {
                let workflows = self.workflows(is(workflow::Column::Name, words));
                any_of(C::WorkflowId.in_subquery(workflows))
            }
            WordField::Group => self.in_group(C::GroupId, words),
            WordField::Node => {
                let nodes = node::Entity::find()
                    .select_only()
                    .column(node::Column::Id)
                    .filter(is(node::Column::Name, words));
                some(C::NodeId, C::NodeId.in_subquery(nodes.into_query()))
            }
            WordField::Error => words
                .iter()
                .fold(Condition::any(), |any, part| any.add(contains_some(C::Error, part))),
            WordField::Tag
            | WordField::Schedule
            | WordField::Name
            | WordField::Note
            | WordField::Module
            | WordField::Zone => any_of(self.by_schedule(self.schedule_word(field, words))),
        }
    }

    /// The condition that a schedule has no value in the field.
    fn schedule_no(&self, field: WordField) -> Condition {
        use schedule::Column as C;
        match field {
            WordField::Tag => any_of(Expr::cust(self.dialect.list_is_empty("schedule.tags"))),
            WordField::Module => any_of(C::Module.is_null()),
            WordField::Group => any_of(C::GroupId.is_null()),
            WordField::Note => any_of(C::Note.eq("")),
            // Schedules always have these fields, or never; the parser rejects the term.
            WordField::Workflow
            | WordField::Schedule
            | WordField::Name
            | WordField::Zone
            | WordField::Node
            | WordField::Error => nothing(),
        }
    }

    /// The condition that a run has no value in the field.
    /// A run without a schedule has no tag and no module.
    fn run_no(&self, field: WordField) -> Condition {
        use run::Column as C;
        match field {
            WordField::Tag | WordField::Module => {
                self.by_schedule(self.schedule_no(field).not()).not()
            }
            WordField::Group => any_of(C::GroupId.is_null()),
            WordField::Node => any_of(C::NodeId.is_null()),
            // The parser rejects the term for these fields.
            WordField::Workflow
            | WordField::Schedule
            | WordField::Name
            | WordField::Note
            | WordField::Zone
            | WordField::Error => nothing(),
        }
    }

    fn schedule_time(&self, field: TimeField, moment: TimeOperand) -> Condition {
        use schedule::Column as C;
        let column = match field {
            TimeField::Next => {
                // The index on due schedules is used only if this is worded exactly like its
                // condition.
                let due = C::Enabled.eq(true).and(C::NextFireAt.is_not_null());
                return match moment {
                    TimeOperand::Never => any_of(due.not()),
                    TimeOperand::On(_) | TimeOperand::Away(..) | TimeOperand::At(..) => {
                        Condition::all().add(due).add(self.time(C::NextFireAt, field, moment))
                    }
                };
            }
            TimeField::Last => C::LastFireAt,
            TimeField::Lost => return self.last_lost(moment),
            TimeField::Paused => C::PausedAt,
            TimeField::Created => C::CreatedAt,
            TimeField::Updated => C::UpdatedAt,
            // Schedules do not have these fields.
            TimeField::Scheduled | TimeField::Started | TimeField::Finished => return nothing(),
        };
        self.time(column, field, moment)
    }

    fn run_time(&self, field: TimeField, moment: TimeOperand) -> Condition {
        use run::Column as C;
        let column = match field {
            TimeField::Created => C::CreatedAt,
            TimeField::Scheduled => C::ScheduledAt,
            TimeField::Started => C::StartedAt,
            TimeField::Finished => C::FinishedAt,
            TimeField::Next
            | TimeField::Last
            | TimeField::Lost
            | TimeField::Paused
            | TimeField::Updated => {
                return any_of(self.by_schedule(self.schedule_time(field, moment)));
            }
        };
        self.time(column, field, moment)
    }

    /// The condition that the time of the schedule's last lost fire matches.
    /// The time is at or after an instant if and only if any lost fire of the schedule is.
    fn last_lost(&self, moment: TimeOperand) -> Condition {
        let since = |at: i64| any_of(schedule::Column::Id.in_subquery(lost_since(at)));
        let before = |at: i64| Condition::all().add(since(i64::MIN)).add(since(at).not());
        let compared = |order: Comparator, at: i64| match order {
            Comparator::Less => before(at),
            Comparator::AtMost => before(at.saturating_add(1)),
            Comparator::More => since(at.saturating_add(1)),
            Comparator::AtLeast => since(at),
        };
        match moment {
            TimeOperand::Never => since(i64::MIN).not(),
            TimeOperand::On(day) => {
                let from = day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis();
                Condition::all().add(since(from)).add(since(from + DAY).not())
            }
            TimeOperand::At(order, at) => compared(order, at.timestamp_millis()),
            TimeOperand::Away(order, span) => {
                compared(order.reversed(), self.now.saturating_sub(span.millis()))
            }
        }
    }

    /// The condition that the lateness of the schedule's newest run matches. A run that has not
    /// started is late until it settled, or until now. A schedule without runs never matches.
    fn schedule_span(&self, field: SpanField, order: Comparator, span: SearchSpan) -> Condition {
        use run::Column as C;
        if field != SpanField::Late {
            // Schedules do not have this field; the parser rejects it.
            return nothing();
        }
        let of_run = |column: C| Expr::col((run::Entity, column));
        let ends = [of_run(C::StartedAt), of_run(C::FinishedAt), Expr::val(self.now)];
        let late = SimpleExpr::from(Func::coalesce(ends)).sub(of_run(C::DueAt));
        let newest = run::Entity::find()
            .select_only()
            .expr(late)
            .filter(of_run(C::ScheduleId).equals((schedule::Entity, schedule::Column::Id)))
            .order_by_desc(C::Id)
            .limit(1)
            .into_query();
        let none = match order {
            Comparator::Less | Comparator::AtMost => i64::MAX,
            Comparator::More | Comparator::AtLeast => i64::MIN,
        };
        let late = Func::coalesce([SimpleExpr::from(newest), Expr::val(none)]);
        any_of(compare(SimpleExpr::from(late), order, span.millis()))
    }

    fn run_span(&self, field: SpanField, order: Comparator, span: SearchSpan) -> Condition {
        use run::Column as C;
        let started = Expr::col((run::Entity, C::StartedAt));
        let took = match field {
            SpanField::Late => started.sub(Expr::col((run::Entity, C::DueAt))),
            SpanField::Took => {
                let end = Expr::col((run::Entity, C::FinishedAt));
                let end = SimpleExpr::from(Func::coalesce([end, Expr::val(self.now)]));
                end.sub(started)
            }
        };
        some(C::StartedAt, compare(took, order, span.millis()))
    }

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

    fn standing(&self, state: State) -> Condition {
        use schedule::Column as C;
        let fires = || any_of(C::NextScheduledAt.is_not_null()).add(schedules::is_manual());
        let enabled = || Condition::all().add(C::Enabled.eq(true));
        let spent = || {
            let most = Expr::col((schedule::Entity, C::MaxFires));
            let count = Expr::col((schedule::Entity, C::FireCount));
            some(C::MaxFires, count.gte(most))
        };
        match state {
            State::Active => enabled().add(fires()),
            State::Paused => any_of(C::Enabled.eq(false)),
            State::Finished => enabled().add(fires().not()).add(spent().not()),
            State::Exhausted => enabled().add(fires().not()).add(spent()),
            State::Queued
            | State::Running
            | State::Retrying
            | State::Succeeded
            | State::Failed
            | State::TimedOut
            | State::Cancelled => self.last_run_stands(state),
        }
    }

    /// The condition that the newest run of the schedule is in this state.
    /// The names of states are written into the text, because a partial index is used only if
    /// the condition in the text matches. For rare states, runs in the state are found first,
    /// and then each is checked for being the newest of its schedule.
    fn last_run_stands(&self, state: State) -> Condition {
        let word = state.word();
        let newest = format!(
            "coalesce((SELECT r.state FROM run r WHERE r.schedule_id = schedule.id \
               ORDER BY r.id DESC LIMIT 1), '') = '{word}'"
        );
        let all = Condition::all();
        let all = if is_live(state) {
            all.add(Expr::cust(format!(
                "schedule.id IN (SELECT run.schedule_id FROM run \
                   WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = '{word}' \
                     AND run.schedule_id IS NOT NULL)"
            )))
        } else if state == State::Succeeded {
            all
        } else {
            let candidates = run::Entity::find()
                .select_only()
                .column(run::Column::ScheduleId)
                .filter(self.within.holds(run::Column::NamespaceId))
                .filter(ended_badly())
                .filter(Expr::cust(format!("run.state = '{word}'")))
                .filter(run::Column::ScheduleId.is_not_null());
            all.add(schedule::Column::Id.in_subquery(candidates.into_query()))
        };
        all.add(Expr::cust(newest))
    }

    /// The condition that a run belongs to a schedule that matches.
    fn by_schedule(&self, condition: Condition) -> Condition {
        use schedule::Column as C;
        let such = schedule::Entity::find()
            .select_only()
            .column(C::Id)
            .filter(self.within.holds(C::NamespaceId))
            .filter(condition)
            .into_query();
        // SQLite would read all runs of all of these schedules and sort them.
        // A plus sign keeps it from using the index by schedule, so that it reads
        // runs in their order until the page is full.
        let column = if self.dialect.is_postgres() {
            run::Column::ScheduleId.into_simple_expr()
        } else {
            Expr::cust("+run.schedule_id")
        };
        some(run::Column::ScheduleId, column.in_subquery(such))
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

/// The schedules that have lost a fire at this instant or later.
/// The index on such fires is used only if this is worded exactly like its condition.
fn lost_since(at: i64) -> SelectStatement {
    fire::Entity::find()
        .select_only()
        .column(fire::Column::ScheduleId)
        .filter(Expr::cust("fire.verdict IN ('missed', 'abandoned')"))
        .filter(fire::Column::DecidedAt.gte(Timestamp(at)))
        .into_query()
}

fn run_stands(state: State) -> Condition {
    use run::State as R;
    let wanted = match state {
        // Runs do not have these states, and the parser rejects them.
        State::Active | State::Paused | State::Finished | State::Exhausted => return nothing(),
        State::Queued => R::Queued,
        State::Running => R::Running,
        State::Retrying => R::Retrying,
        State::Succeeded => R::Succeeded,
        State::Failed => R::Failed,
        State::TimedOut => R::TimedOut,
        State::Cancelled => R::Cancelled,
    };
    let stands = Condition::all().add(run::Column::State.eq(wanted));
    let ends_badly = !is_live(state) && state != State::Succeeded;
    if ends_badly { stands.add(ended_badly()) } else { stands }
}

fn is_live(state: State) -> bool {
    matches!(state, State::Queued | State::Running | State::Retrying)
}

fn trigger_of(trigger: Trigger) -> run::Trigger {
    match trigger {
        Trigger::Schedule => run::Trigger::Schedule,
        Trigger::Manual => run::Trigger::Manual,
        Trigger::Retry => run::Trigger::Retry,
        Trigger::Backfill => run::Trigger::Backfill,
    }
}
