//! The terms of a search for schedules.

use entity::{Timestamp, calendar, fire, run, schedule, workflow};
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    sea_query::{Expr, ExprTrait, Func, SelectStatement, SimpleExpr},
};

use super::{ConditionInputs, DAY, is_live};
use crate::{
    search::{
        Comparator, Criterion, SearchSpan, SpanField, State, TimeField, TimeOperand, WordField,
    },
    store::reads::{
        matching::{any_of, any_part, compare, in_name_or_note, is, is_some, nothing, some},
        runs::ended_badly,
        schedules,
        skipped::SKIPPED_FOR_LOAD,
    },
};

impl ConditionInputs<'_> {
    /// The condition that a schedule matches a term.
    pub(super) fn of_schedule(&self, test: &Criterion) -> Condition {
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

    pub(super) fn schedule_word(&self, field: WordField, words: &[String]) -> Condition {
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
            WordField::Calendar => self.of_calendars(words),
            // Schedules do not have these fields.
            WordField::Node | WordField::Error => nothing(),
        }
    }

    /// The condition that a schedule has no value in the field.
    pub(super) fn schedule_no(&self, field: WordField) -> Condition {
        use schedule::Column as C;
        match field {
            WordField::Tag => any_of(Expr::cust(self.dialect.list_is_empty("schedule.tags"))),
            WordField::Module => any_of(C::Module.is_null()),
            WordField::Group => any_of(C::GroupId.is_null()),
            WordField::Calendar => any_of(C::Calendars.is_null()),
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

    /// The condition that the schedule refers to one of the calendars with these names. Whether
    /// such a calendar suppresses what it names or allows only that makes no difference.
    fn of_calendars(&self, names: &[String]) -> Condition {
        use calendar::Column as K;
        let keys = calendar::Entity::find()
            .select_only()
            .expr(Expr::cust(self.dialect.uuid_as_text("calendar.id")))
            .filter(self.within.holds(K::NamespaceId))
            .filter(K::DeletedAt.is_null())
            .filter(is(K::Name, names))
            .into_query();
        // The keys do not depend on the schedule, so the database finds them once.
        let placeholder = if self.dialect.is_postgres() { "$1" } else { "?" };
        let has = self.dialect.list_has_some_of("schedule.calendars", placeholder);
        let has = Expr::cust_with_exprs(has, [SimpleExpr::from(keys)]);
        some(schedule::Column::Calendars, has)
    }

    pub(super) fn schedule_time(&self, field: TimeField, moment: TimeOperand) -> Condition {
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
            TimeField::Lost => return self.last_fire(moment, lost_since),
            TimeField::Skipped => return self.last_fire(moment, skipped_since),
            TimeField::Paused => C::PausedAt,
            TimeField::Created => C::CreatedAt,
            TimeField::Updated => C::UpdatedAt,
            // Schedules do not have these fields.
            TimeField::Scheduled | TimeField::Started | TimeField::Finished => return nothing(),
        };
        self.time(column, field, moment)
    }

    /// The condition that the time of the schedule's last fire of a kind matches.
    /// The time is at or after an instant if and only if any such fire of the schedule is.
    fn last_fire(&self, moment: TimeOperand, fires_since: FiresSince) -> Condition {
        let since = |at: i64| any_of(schedule::Column::Id.in_subquery(fires_since(at)));
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
}

/// Selects the schedules with a fire of a kind at this instant or later.
type FiresSince = fn(i64) -> SelectStatement;

/// The schedules that have lost a fire at this instant or later.
fn lost_since(at: i64) -> SelectStatement {
    // The index on such fires is used only if this is worded exactly like its condition.
    fires_since("fire.verdict IN ('missed', 'abandoned')", at)
}

/// The schedules that have skipped a fire for load at this instant or later.
fn skipped_since(at: i64) -> SelectStatement {
    fires_since(SKIPPED_FOR_LOAD, at)
}

fn fires_since(condition: &'static str, at: i64) -> SelectStatement {
    fire::Entity::find()
        .select_only()
        .column(fire::Column::ScheduleId)
        .filter(Expr::cust(condition))
        .filter(fire::Column::DecidedAt.gte(Timestamp(at)))
        .into_query()
}
