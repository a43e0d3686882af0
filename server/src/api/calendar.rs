//! Calendars, which suppress fires.

use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use entity::calendar;
use timetable::{CalendarEntries, DateRange, TimeWindow};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{CalendarUsers, NamespaceName},
    page::DECLARED,
    scalar::{Instant, Long},
};
use crate::commands::{CalendarEdit, CalendarSpec, NewCalendar, stored};

/// A named set of local times, shared by schedules, that suppresses some of their fires. Each
/// schedule reads it on the wall clock of its own zone.
pub(crate) struct Calendar(pub(crate) calendar::Model);

/// A named set of local times, shared by schedules, that suppresses some of their fires. Each
/// schedule reads it on the wall clock of its own zone.
#[Object]
impl Calendar {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it suppresses the fires inside it, or those outside.
    async fn mode(&self) -> CalendarMode {
        self.0.mode.into()
    }

    /// The number of the current version, from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// Single days: 2026-12-24
    async fn dates(&self) -> Result<Vec<String>> {
        Ok(self.entries()?.dates)
    }

    /// Days of every year: 12-25
    async fn yearly(&self) -> Result<Vec<String>> {
        Ok(self.entries()?.yearly)
    }

    /// Days of the week.
    async fn weekdays(&self) -> Result<Vec<Weekday>> {
        Ok(self.entries()?.weekdays.into_iter().map(Into::into).collect())
    }

    /// Ranges of days or of local times.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn ranges(&self) -> Result<Vec<CalendarRange>> {
        Ok(self.entries()?.ranges.into_iter().map(Into::into).collect())
    }

    /// Times of the day.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn windows(&self) -> Result<Vec<CalendarWindow>> {
        Ok(self.entries()?.windows.into_iter().map(Into::into).collect())
    }

    /// The module file that declares the calendar, if one does.
    async fn module(&self) -> Option<&str> {
        self.0.module.as_deref()
    }

    /// How many schedules refer to the calendar.
    #[graphql(complexity = "COUNTED + child_complexity")]
    async fn schedules(&self, cx: &Context<'_>) -> Result<Long> {
        Ok(cx.rows().load_one(CalendarUsers(self.0.id)).await?.unwrap_or_default().into())
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    async fn updated_at(&self) -> Instant {
        self.0.updated_at.into()
    }
}

/// The cost of reading the schedules of a namespace that have calendars, divided among the
/// calendars of a list.
const COUNTED: usize = 20;

impl Calendar {
    fn entries(&self) -> Result<CalendarEntries> {
        let whose = || format!("calendar {:?}", self.0.name);
        Ok(stored::read(self.0.definition.clone(), whose)?)
    }
}

/// What a calendar does to fires.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "calendar::Mode")]
pub(crate) enum CalendarMode {
    /// Fires inside the calendar are suppressed: holidays, a blackout.
    Exclude,
    /// Fires outside the calendar are suppressed: business days, a maintenance window.
    Only,
}

/// A day of the week.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "timetable::Weekday")]
pub(crate) enum Weekday {
    /// Sunday.
    Sun,
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
}

/// From one day to another, inclusive (2026-07-01 to 2026-07-31), or from one local time up to but
/// not including another (2026-12-20T18:00 to 2027-01-02T08:00).
#[derive(SimpleObject, InputObject)]
#[graphql(input_name = "CalendarRangeInput")]
pub(crate) struct CalendarRange {
    /// A day, from its beginning, or a local time.
    from: String,
    /// A day, up to its end, or a local time, exclusive.
    to: String,
}

/// Times of the day, from 09:00 up to but not including 17:00. A window that ends before it begins
/// (22:00 to 06:00) continues into the next day.
#[derive(SimpleObject, InputObject)]
#[graphql(input_name = "CalendarWindowInput")]
pub(crate) struct CalendarWindow {
    /// The time of day at which it begins: 09:00
    from: String,
    /// The end, exclusive; 24:00 is the end of the day.
    to: String,
    /// The days on which the window begins; every day if empty.
    #[graphql(default)]
    weekdays: Vec<Weekday>,
}

impl From<DateRange> for CalendarRange {
    fn from(range: DateRange) -> Self {
        Self { from: range.from, to: range.to }
    }
}

impl From<CalendarRange> for DateRange {
    fn from(range: CalendarRange) -> Self {
        Self { from: range.from, to: range.to }
    }
}

impl From<TimeWindow> for CalendarWindow {
    fn from(window: TimeWindow) -> Self {
        let weekdays = window.weekdays.into_iter().map(Into::into).collect();
        Self { from: window.from, to: window.to, weekdays }
    }
}

impl From<CalendarWindow> for TimeWindow {
    fn from(window: CalendarWindow) -> Self {
        let weekdays = window.weekdays.into_iter().map(Into::into).collect();
        Self { from: window.from, to: window.to, weekdays }
    }
}

/// A calendar to create. It covers the union of its entries: at most 2,000, of which at most 100
/// windows.
#[derive(InputObject)]
pub(crate) struct CreateCalendarInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: String,
    /// Whether it suppresses the fires inside it, or those outside.
    mode: CalendarMode,
    /// Single days: 2026-12-24
    #[graphql(default)]
    dates: Vec<String>,
    /// Days of every year: 12-25
    #[graphql(default)]
    yearly: Vec<String>,
    /// Days of every week.
    #[graphql(default)]
    weekdays: Vec<Weekday>,
    /// Ranges of days or of local times.
    #[graphql(default)]
    ranges: Vec<CalendarRange>,
    /// Times of the day.
    #[graphql(default)]
    windows: Vec<CalendarWindow>,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateCalendarInput {
    /// The calendar's id.
    id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    expected_version: i32,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: Option<String>,
    /// Whether it suppresses the fires inside it, or those outside.
    mode: Option<CalendarMode>,
    /// The complete list of single days: 2026-12-24
    dates: Option<Vec<String>>,
    /// The complete list of days of every year: 12-25
    yearly: Option<Vec<String>>,
    /// The complete list of days of every week.
    weekdays: Option<Vec<Weekday>>,
    /// The complete list of ranges.
    ranges: Option<Vec<CalendarRange>>,
    /// The complete list of times of the day.
    windows: Option<Vec<CalendarWindow>>,
    /// Reason for the audit log: 0 to 500 characters.
    reason: Option<String>,
}

impl From<CreateCalendarInput> for NewCalendar {
    fn from(input: CreateCalendarInput) -> Self {
        let entries = CalendarEntries {
            dates: input.dates,
            yearly: input.yearly,
            weekdays: all(input.weekdays),
            ranges: all(input.ranges),
            windows: all(input.windows),
        };
        let spec = CalendarSpec { name: input.name, mode: input.mode.into(), entries };
        Self { namespace: input.namespace, spec }
    }
}

impl From<UpdateCalendarInput> for CalendarEdit {
    fn from(mut input: UpdateCalendarInput) -> Self {
        let (id, expected_version) = (input.id, input.expected_version);
        let reason = input.reason.take();
        Self { id, expected_version, apply: Box::new(|spec| apply(input, spec)), reason }
    }
}

fn apply(input: UpdateCalendarInput, spec: &mut CalendarSpec) {
    fn set<T>(place: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *place = value;
        }
    }
    set(&mut spec.name, input.name);
    set(&mut spec.mode, input.mode.map(Into::into));
    set(&mut spec.entries.dates, input.dates);
    set(&mut spec.entries.yearly, input.yearly);
    set(&mut spec.entries.weekdays, input.weekdays.map(all));
    set(&mut spec.entries.ranges, input.ranges.map(all));
    set(&mut spec.entries.windows, input.windows.map(all));
}

fn all<T, U: From<T>>(values: Vec<T>) -> Vec<U> {
    values.into_iter().map(Into::into).collect()
}
