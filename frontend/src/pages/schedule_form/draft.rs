//! The fields of the form, as text.

use leptos::prelude::*;

use super::ping::PingFields;
use crate::{
    model::{CatchUp, Failure, GapPolicy, OverlapHourPolicy, OverlapPolicy, ScheduleDetail},
    pages::task_form::TaskFields,
    time::{Moment, Wall, browser_zone},
};

type Text = RwSignal<String>;

/// Every field. A copy contains the same handles, not copies of the texts.
#[derive(Clone, Copy)]
pub(in crate::pages) struct Draft {
    pub(super) name: Text,
    pub(super) note: Text,
    /// The tags, separated by commas.
    pub(super) tags: Text,
    /// The expressions, each with a key, so that removing one does not redraw the others.
    pub(super) expressions: RwSignal<Vec<(String, Text)>>,
    pub(super) zone: Text,
    pub(super) gap: Text,
    pub(super) overlap_hour: Text,
    pub(super) start: Text,
    pub(super) end: Text,
    /// The start and the end of the schedule that the form was filled from.
    bounds: StoredValue<[Option<Moment>; 2]>,
    pub(super) jitter: Text,
    /// The names of the calendars, separated by commas.
    pub(super) calendars: Text,
    pub(super) max_fires: Text,
    pub(super) catch_up: Text,
    pub(super) grace: Text,
    pub(super) max: Text,
    pub(super) spacing: Text,
    pub(super) window: Text,
    pub(super) overlap: Text,
    pub(super) buffer_limit: Text,
    pub(super) group: Text,
    pub(super) priority: Text,
    pub(super) deadline: Text,
    pub(super) retention: Text,
    pub(super) context: Text,
    /// The addresses of the watchdog.
    pub(super) ping: PingFields,
    pub(super) workflow: Text,
    /// The task's fields. The kind is `workflow` if the schedule runs an existing workflow.
    pub(super) task: TaskFields,
}

impl Draft {
    /// A draft with the schema's defaults.
    pub(super) fn new() -> Self {
        let text = |value: &str| RwSignal::new(value.to_owned());
        Self {
            name: text(""),
            note: text(""),
            tags: text(""),
            expressions: RwSignal::new(vec![("1".to_owned(), text("*/5 * * * *"))]),
            zone: text("UTC"),
            gap: text("shift"),
            overlap_hour: text("first"),
            start: text(""),
            end: text(""),
            bounds: StoredValue::new([None; 2]),
            jitter: text("0"),
            calendars: text(""),
            max_fires: text(""),
            catch_up: text("latest"),
            grace: text("300"),
            max: text("100"),
            spacing: text("0"),
            window: text("86400"),
            overlap: text("skip"),
            buffer_limit: text("100"),
            group: text(""),
            priority: text("0"),
            deadline: text(""),
            retention: text(""),
            context: text("{}"),
            ping: PingFields::new(),
            workflow: text(""),
            task: TaskFields::new(),
        }
    }

    /// The draft of an existing schedule.
    ///
    /// # Errors
    /// If this console does not know the target of the schedule's task.
    pub(super) fn of(schedule: &ScheduleDetail) -> Result<Self, Failure> {
        let draft = Self::new();
        let (row, schedule) = (&schedule.row, &schedule.more);
        draft.name.set(row.name.clone());
        draft.note.set(row.note.clone());
        draft.tags.set(row.tags.join(", "));
        draft.set_expressions(row.timing.expressions.iter().map(String::as_str));
        draft.zone.set(row.timing.zone.clone());
        draft.gap.set(gap_name(schedule.policy.gap).to_owned());
        draft.overlap_hour.set(overlap_hour_name(schedule.policy.overlap).to_owned());
        draft.start.set(local(schedule.policy.start_at));
        draft.end.set(local(schedule.policy.end_at));
        draft.bounds.set_value([schedule.policy.start_at, schedule.policy.end_at]);
        draft.jitter.set(schedule.policy.jitter_seconds.to_string());
        let calendars: Vec<&str> =
            schedule.calendars.iter().map(|calendar| calendar.name.as_str()).collect();
        draft.calendars.set(calendars.join(", "));
        draft.max_fires.set(schedule.max_fires.map(|most| most.to_string()).unwrap_or_default());
        draft.catch_up.set(catch_up_name(schedule.misfire.catch_up).to_owned());
        draft.grace.set(schedule.misfire.grace_seconds.to_string());
        draft.max.set(schedule.misfire.max.to_string());
        draft.spacing.set(schedule.misfire.spacing_seconds.to_string());
        draft.window.set(schedule.misfire.window_seconds.to_string());
        draft.overlap.set(overlap_name(schedule.on_overlap).to_owned());
        if let Some(limit) = schedule.buffer_limit {
            draft.buffer_limit.set(limit.to_string());
        }
        draft.group.set(schedule.group.clone().unwrap_or_default());
        draft.priority.set(schedule.priority.to_string());
        draft
            .deadline
            .set(schedule.start_deadline_seconds.map(|s| s.to_string()).unwrap_or_default());
        draft
            .retention
            .set(schedule.retention_days.map(|days| days.to_string()).unwrap_or_default());
        draft.context.set(serde_json::to_string_pretty(&schedule.context).unwrap_or_default());
        if let Some(ping) = &schedule.ping {
            draft.ping.set(ping);
        }
        draft.workflow.set(row.workflow.name.clone());
        match schedule.work.tasks()?.as_slice() {
            [task] => draft.task.set_task(task),
            // Several tasks can only come from a separate workflow, to which the schedule refers.
            _ => draft.task.kind.set("workflow".to_owned()),
        }
        Ok(draft)
    }

    /// Replaces the expressions. A field on the page belongs to the handle of its expression, so known handles are kept
    /// under their keys.
    pub(super) fn set_expressions<'a>(&self, texts: impl Iterator<Item = &'a str>) {
        let mut known = self.expressions.get_untracked().into_iter();
        let mut all: Vec<(String, Text)> = Vec::new();
        for text in texts {
            let known = known.next();
            let (key, field) =
                known.unwrap_or_else(|| (free_key(&all), RwSignal::new(String::new())));
            field.set(text.to_owned());
            all.push((key, field));
        }
        self.expressions.set(all);
    }

    /// Adds an empty expression.
    pub(super) fn add_expression(&self) {
        self.expressions.update(|all| all.push((free_key(all), RwSignal::new(String::new()))));
    }

    /// The start and the end; tracked.
    pub(super) fn bounds(&self) -> [Option<Moment>; 2] {
        let [start, end] = self.bounds.get_value();
        [instant(&self.start.get(), start), instant(&self.end.get(), end)]
    }

    /// Whether the limits on catching up apply.
    pub(super) fn catches_up_all(&self) -> bool {
        self.catch_up.with(|catch_up| catch_up == "all")
    }
}

/// A key that no expression has.
fn free_key(all: &[(String, Text)]) -> String {
    let keys = all.iter().filter_map(|(key, _)| key.parse::<u32>().ok());
    (keys.max().unwrap_or_default() + 1).to_string()
}

/// An instant in the format of a `datetime-local` field: on the browser's clock, without a zone.
fn local(at: Option<Moment>) -> String {
    let Some(at) = at else { return String::new() };
    let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
    format!("{}T{}", wall.date, wall.time)
}

/// The instant of a `datetime-local` field. The field has neither fractions of a second nor an offset, so a text that
/// says the time of the `known` instant means that instant, also if the clock shows this time twice.
fn instant(text: &str, known: Option<Moment>) -> Option<Moment> {
    let typed = Moment::parse_local(text)?;
    let is_unchanged = |known: &Moment| Moment::parse_local(&local(Some(*known))) == Some(typed);
    Some(known.filter(is_unchanged).unwrap_or(typed))
}

pub(super) fn gap_name(gap: GapPolicy) -> &'static str {
    match gap {
        GapPolicy::Shift => "shift",
        GapPolicy::Skip => "skip",
    }
}

pub(super) fn overlap_hour_name(overlap: OverlapHourPolicy) -> &'static str {
    match overlap {
        OverlapHourPolicy::First => "first",
        OverlapHourPolicy::Last => "last",
        OverlapHourPolicy::Both => "both",
    }
}

pub(super) fn catch_up_name(catch_up: CatchUp) -> &'static str {
    match catch_up {
        CatchUp::Skip => "skip",
        CatchUp::Latest => "latest",
        CatchUp::All => "all",
    }
}

pub(super) fn overlap_name(overlap: OverlapPolicy) -> &'static str {
    match overlap {
        OverlapPolicy::Skip => "skip",
        OverlapPolicy::BufferOne => "buffer_one",
        OverlapPolicy::BufferAll => "buffer_all",
        OverlapPolicy::CancelOther => "cancel_other",
        OverlapPolicy::TerminateOther => "terminate_other",
        OverlapPolicy::Allow => "allow",
    }
}
