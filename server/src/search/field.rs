//! The fields of each list.

use super::SearchedList;

/// An enum of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$told:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$told])* $variant,)+ }

        impl $name {
            /// All of the words.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as a search spells it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// The state of a schedule or run. For a schedule, the state of a run means that of its newest
    /// run.
    State {
        /// A schedule that will fire.
        Active = "active",
        /// A paused schedule.
        Paused = "paused",
        /// A schedule without any fires left.
        Finished = "finished",
        /// A schedule that has reached its maximum of fires.
        Exhausted = "exhausted",
        /// A run that waits for a node.
        Queued = "queued",
        /// A run in progress.
        Running = "running",
        /// A run that waits for its next attempt.
        Retrying = "retrying",
        /// A run that succeeded.
        Succeeded = "succeeded",
        /// A run that failed.
        Failed = "failed",
        /// A run that took too long.
        TimedOut = "timed_out",
        /// A run that was stopped.
        Cancelled = "cancelled",
    }
}

words! {
    /// What started a run.
    Trigger {
        /// A fire of its schedule.
        Schedule = "schedule",
        /// A user who triggered it.
        Manual = "manual",
        /// A user who repeated a run.
        Retry = "retry",
        /// A backfill.
        Backfill = "backfill",
    }
}

words! {
    /// Fields with words. If runs do not have the field, it means the field of their schedule.
    WordField {
        /// One of the tags.
        Tag = "tag",
        /// The workflow's name.
        Workflow = "workflow",
        /// The schedule's name.
        Schedule = "schedule",
        /// A part of the schedule's name.
        Name = "name",
        /// A part of the schedule's note.
        Note = "note",
        /// The name of the module that declares the schedule.
        Module = "module",
        /// The schedule's zone.
        Zone = "zone",
        /// The concurrency group's name.
        Group = "group",
        /// The name of one of the schedule's calendars.
        Calendar = "calendar",
        /// The name of the node that holds or held the run.
        Node = "node",
        /// A part of the error of the run.
        Error = "error",
    }
}

words! {
    /// A time.
    TimeField {
        /// When the schedule is next due; never while it is paused.
        Next = "next",
        /// The last instant of the schedule that the ledger accounts for.
        Last = "last",
        /// When the schedule last lost a fire: one that was missed or given up on.
        Lost = "lost",
        /// When the schedule last skipped a fire for load: because of a live run, a full buffer,
        /// its start deadline or its namespace's quota.
        Skipped = "skipped",
        /// When the schedule was paused.
        Paused = "paused",
        /// When the schedule was created.
        Created = "created",
        /// When the schedule's definition or pause last changed.
        Updated = "updated",
        /// The scheduled instant of the run.
        Scheduled = "scheduled",
        /// When the run's first attempt began.
        Started = "started",
        /// When the run settled.
        Finished = "finished",
    }
}

words! {
    /// A duration.
    SpanField {
        /// The time from when the run was due until it started; for a schedule, that of its newest
        /// run.
        Late = "late",
        /// The time from the start of the run to its end, or until now.
        Took = "took",
    }
}

/// A field, by the type of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    State,
    Id,
    Trigger,
    Word(WordField),
    /// The fields without a value.
    No,
    Time(TimeField),
    Span(SpanField),
}

impl Field {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Id => "id",
            Self::Trigger => "trigger",
            Self::Word(field) => field.word(),
            Self::No => "no",
            Self::Time(field) => field.word(),
            Self::Span(field) => field.word(),
        }
    }
}

impl SearchedList {
    /// A noun for the listed objects.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Schedules => "schedules",
            Self::Runs => "runs",
        }
    }

    /// The fields of the list.
    pub(super) fn fields(self) -> Vec<Field> {
        use {SpanField as S, TimeField as T, WordField as W};
        let (words, times, spans): (&[W], &[T], &[S]) = match self {
            Self::Schedules => (
                &[
                    W::Tag,
                    W::Workflow,
                    W::Schedule,
                    W::Name,
                    W::Note,
                    W::Module,
                    W::Zone,
                    W::Group,
                    W::Calendar,
                ],
                &[T::Next, T::Last, T::Lost, T::Skipped, T::Paused, T::Created, T::Updated],
                &[S::Late],
            ),
            Self::Runs => (
                &[
                    W::Tag,
                    W::Workflow,
                    W::Schedule,
                    W::Name,
                    W::Module,
                    W::Group,
                    W::Node,
                    W::Error,
                ],
                &[T::Next, T::Created, T::Scheduled, T::Started, T::Finished],
                &[S::Late, S::Took],
            ),
        };
        let of_runs: &[Field] = match self {
            Self::Schedules => &[],
            Self::Runs => &[Field::Id, Field::Trigger],
        };
        let mut fields = vec![Field::State];
        fields.extend(of_runs);
        fields.extend(words.iter().copied().map(Field::Word));
        fields.push(Field::No);
        fields.extend(times.iter().copied().map(Field::Time));
        fields.extend(spans.iter().copied().map(Field::Span));
        fields
    }

    /// The fields that may have no value. Times are not among them, because `never` finds a missing
    /// time.
    pub(super) fn optional_fields(self) -> &'static [WordField] {
        use WordField as W;
        match self {
            Self::Schedules => &[W::Tag, W::Module, W::Group, W::Calendar, W::Note],
            Self::Runs => &[W::Tag, W::Module, W::Group, W::Node],
        }
    }

    /// The possible states in the list.
    pub(super) fn states(self) -> impl Iterator<Item = State> {
        State::ALL.iter().copied().filter(move |state| self == Self::Schedules || state.is_of_run())
    }
}

impl State {
    /// Whether this is a state of runs.
    pub fn is_of_run(self) -> bool {
        match self {
            Self::Active | Self::Paused | Self::Finished | Self::Exhausted => false,
            Self::Queued
            | Self::Running
            | Self::Retrying
            | Self::Succeeded
            | Self::Failed
            | Self::TimedOut
            | Self::Cancelled => true,
        }
    }
}

impl TimeField {
    /// Whether this time lies in the future.
    pub fn is_ahead(self) -> bool {
        match self {
            Self::Next => true,
            Self::Last
            | Self::Lost
            | Self::Skipped
            | Self::Paused
            | Self::Created
            | Self::Updated
            | Self::Scheduled
            | Self::Started
            | Self::Finished => false,
        }
    }
}
