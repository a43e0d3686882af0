//! What can be asked of which list.

use super::List;

/// Words with a meaning each.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$told:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$told])* $variant,)+ }

        impl $name {
            /// All there are.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As it is written in a search.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// Where something stands. A schedule stands so, or the newest of its runs does.
    State {
        /// A schedule that will fire.
        Active = "active",
        /// A schedule that somebody paused.
        Paused = "paused",
        /// A schedule without a fire left.
        Finished = "finished",
        /// A schedule that has fired as often as it may.
        Exhausted = "exhausted",
        /// A run that waits for a node.
        Queued = "queued",
        /// A run at work.
        Running = "running",
        /// A run that waits for its next attempt.
        Retrying = "retrying",
        /// A run that did what it was to do.
        Succeeded = "succeeded",
        /// A run that failed.
        Failed = "failed",
        /// A run that took too long.
        TimedOut = "timed_out",
        /// A run that somebody stopped.
        Cancelled = "cancelled",
    }
}

words! {
    /// What started a run.
    Trigger {
        /// A fire.
        Schedule = "schedule",
        /// Somebody, by hand.
        Manual = "manual",
        /// Somebody had a run done again.
        Retry = "retry",
        /// A backfill.
        Backfill = "backfill",
    }
}

words! {
    /// What is one of some words. Of a run: of its schedule, where it has no such field itself.
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
        /// The name of the node that holds or held the run.
        Node = "node",
        /// A part of why the run ended badly.
        Error = "error",
    }
}

words! {
    /// A time.
    TimeField {
        /// When the schedule is due next; never while it is paused.
        Next = "next",
        /// The last instant of the schedule that is accounted for.
        Last = "last",
        /// Since when the schedule is paused.
        Paused = "paused",
        /// When it was made.
        Created = "created",
        /// When its definition or pause last changed.
        Updated = "updated",
        /// The instant that the run stands for.
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
        /// From when the run was due until it started.
        Late = "late",
        /// From the run's start to its end, or until now.
        Took = "took",
    }
}

/// A field, by what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    State,
    Trigger,
    Word(WordField),
    Time(TimeField),
    Span(SpanField),
}

impl Field {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Trigger => "trigger",
            Self::Word(field) => field.word(),
            Self::Time(field) => field.word(),
            Self::Span(field) => field.word(),
        }
    }
}

impl List {
    /// What it is a list of.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Schedules => "schedules",
            Self::Runs => "runs",
        }
    }

    /// What can be asked of it.
    pub(super) fn fields(self) -> Vec<Field> {
        use {SpanField as S, TimeField as T, WordField as W};
        let (words, times, spans): (&[W], &[T], &[S]) = match self {
            Self::Schedules => (
                &[W::Tag, W::Workflow, W::Schedule, W::Name, W::Note, W::Module, W::Zone, W::Group],
                &[T::Next, T::Last, T::Paused, T::Created, T::Updated],
                &[],
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
        let trigger = (self == Self::Runs).then_some(Field::Trigger);
        let mut fields = vec![Field::State];
        fields.extend(trigger);
        fields.extend(words.iter().copied().map(Field::Word));
        fields.extend(times.iter().copied().map(Field::Time));
        fields.extend(spans.iter().copied().map(Field::Span));
        fields
    }

    /// Where what it lists may stand.
    pub(super) fn states(self) -> impl Iterator<Item = State> {
        State::ALL.iter().copied().filter(move |state| self == Self::Schedules || state.is_of_run())
    }
}

impl State {
    /// Whether it is a run that stands so.
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
    /// Whether it lies ahead.
    pub fn is_ahead(self) -> bool {
        match self {
            Self::Next => true,
            Self::Last
            | Self::Paused
            | Self::Created
            | Self::Updated
            | Self::Scheduled
            | Self::Started
            | Self::Finished => false,
        }
    }
}
