//! The words for each action.

use super::Kind;
use crate::{components::Look, time::amount};

impl Kind {
    /// The verb of the action, and the outcome.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Pause => ("Pause", "paused"),
            Self::Resume => ("Resume", "active again"),
            Self::Run => ("Run", "running"),
            Self::Skip => ("Skip the next fire of", "told to skip their next fire"),
            Self::Edit => ("Edit", "changed"),
            Self::Delete => ("Delete", "deleted"),
            Self::Cancel => ("Cancel", "asked to stop"),
            Self::Retry => ("Run again", "running again"),
        }
    }

    /// The noun for the affected objects.
    fn noun(self) -> &'static str {
        match self {
            Self::Pause | Self::Resume | Self::Run | Self::Skip | Self::Edit | Self::Delete => {
                "schedule"
            }
            Self::Cancel | Self::Retry => "run",
        }
    }

    pub(super) fn count_words(self, count: i64) -> String {
        let noun = self.noun();
        amount(count, noun, &format!("{noun}s"))
    }

    /// The outcome for this many objects: `1 schedule is paused`.
    pub(super) fn done_words(self, count: i64) -> String {
        let is = if count == 1 { "is" } else { "are" };
        let words = match self == Self::Skip && count == 1 {
            true => "told to skip its next fire",
            false => self.words().1,
        };
        format!("{} {is} {words}", self.count_words(count))
    }

    pub(super) fn needs_reason(self) -> bool {
        match self {
            Self::Pause | Self::Skip => true,
            Self::Resume | Self::Run | Self::Edit | Self::Delete | Self::Cancel | Self::Retry => {
                false
            }
        }
    }

    pub(super) fn look(self) -> Look {
        match self {
            Self::Delete | Self::Cancel => Look::Danger,
            Self::Pause | Self::Resume | Self::Run | Self::Skip | Self::Edit | Self::Retry => {
                Look::Primary
            }
        }
    }
}
