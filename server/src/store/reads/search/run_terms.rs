//! The terms of a search for runs.

use entity::{node, run, schedule, workflow};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, IntoSimpleExpr, QueryFilter, QuerySelect, QueryTrait,
    sea_query::{Expr, ExprTrait, Func, SimpleExpr},
};

use super::{ConditionInputs, is_live};
use crate::{
    search::{
        Comparator, Criterion, SearchSpan, SpanField, State, TimeField, TimeOperand, Trigger,
        WordField,
    },
    store::reads::{
        matching::{any_of, compare, contains, contains_some, is, nothing, some},
        runs::ended_badly,
    },
};

impl ConditionInputs<'_> {
    /// The condition that a run matches a term.
    pub(super) fn of_run(&self, test: &Criterion) -> Condition {
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
            | WordField::Zone
            | WordField::Calendar => any_of(self.by_schedule(self.schedule_word(field, words))),
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
            | WordField::Calendar
            | WordField::Error => nothing(),
        }
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
            | TimeField::Skipped
            | TimeField::Paused
            | TimeField::Updated => {
                return any_of(self.by_schedule(self.schedule_time(field, moment)));
            }
        };
        self.time(column, field, moment)
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

fn trigger_of(trigger: Trigger) -> run::Trigger {
    match trigger {
        Trigger::Schedule => run::Trigger::Schedule,
        Trigger::Manual => run::Trigger::Manual,
        Trigger::Retry => run::Trigger::Retry,
        Trigger::Backfill => run::Trigger::Backfill,
    }
}
