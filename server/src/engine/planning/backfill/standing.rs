use entity::{backfill::Mode, fire::Verdict, run};
use sea_orm::ActiveEnum;
use uuid::Uuid;

use crate::store::instants::{RowAt, RunAt};

/// The state of a past instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstantState {
    /// The instant has had no run.
    Missing,
    /// A run for the instant succeeded.
    Succeeded,
    /// All runs for the instant have ended, none of them successfully.
    Failed,
    /// A run for the instant is live, or the instant's own fire is still in the future.
    Live,
    /// The instant has had no run, and a calendar of the schedule suppresses it.
    Suppressed,
    /// The instant is so old that its runs may have been removed.
    Forgotten,
}

/// The facts in the tables about an instant.
#[derive(Clone, Debug, Default)]
pub struct InstantFacts {
    /// The instant's row in the ledger.
    pub row: Option<RowAt>,
    /// The ledger row of a range that contains the instant.
    pub range: Option<Uuid>,
    /// The runs for the instant.
    pub runs: Vec<RunAt>,
    /// Whether the planner has not reached the instant: it has no row and is ahead
    /// of the schedule's cursor.
    /// Its own fire is written when it is claimed, which jitter or an outage may delay.
    pub is_to_come: bool,
}

/// The decision about an instant when its turn comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstantTurn {
    /// The instant gets its run.
    Start,
    /// The planner must decide about it first.
    Wait,
    /// The instant is no longer needed, for this reason.
    Skip(String),
}

impl InstantFacts {
    /// The key of the ledger row that covers the instant.
    pub fn fire_id(&self) -> Option<Uuid> {
        self.row.map(|row| row.fire_id).or(self.range)
    }

    /// The state of the instant that follows from these facts.
    pub fn standing(&self) -> InstantState {
        let any = |wanted: fn(run::State) -> bool| self.runs.iter().any(|run| wanted(run.state));
        let verdict = self.row.map(|row| row.verdict);
        if any(run::State::is_live) || verdict == Some(Verdict::Pending) || self.is_to_come {
            InstantState::Live
        } else if any(|state| state == run::State::Succeeded) {
            InstantState::Succeeded
        } else if !self.runs.is_empty() || verdict == Some(Verdict::Started) {
            // The run of a started fire has been removed, so its outcome is unknown.
            InstantState::Failed
        } else {
            InstantState::Missing
        }
    }

    /// Decides about the instant now, which may be long after the backfill was requested.
    pub(super) fn turn(&self, mode: Mode) -> InstantTurn {
        let standing = self.standing();
        if selects(mode, standing) {
            return InstantTurn::Start;
        }
        if self.is_to_come && !self.runs.iter().any(|run| run.state.is_live()) {
            return InstantTurn::Wait;
        }
        let last = |wanted: fn(run::State) -> bool| {
            self.runs.iter().rev().find(|run| wanted(run.state)).map(|run| run.run_id)
        };
        let why = match standing {
            InstantState::Live => match last(run::State::is_live) {
                Some(run) => format!("run {run} was alive for this instant"),
                None => "its own fire was about to start".to_owned(),
            },
            InstantState::Succeeded => match last(|state| state == run::State::Succeeded) {
                Some(run) => format!("run {run} had succeeded for this instant"),
                None => "a run had succeeded for this instant".to_owned(),
            },
            InstantState::Failed => match self.runs.last() {
                Some(run) => {
                    let had = if run.state == run::State::Cancelled { "was" } else { "had" };
                    let state = run.state.to_value().replace('_', " ");
                    format!("run {} {had} {state} for this instant", run.run_id)
                }
                None => "its run had started and has been removed".to_owned(),
            },
            InstantState::Missing | InstantState::Suppressed => {
                "it was no longer needed".to_owned()
            }
            InstantState::Forgotten => "its history was no longer kept".to_owned(),
        };
        InstantTurn::Skip(why)
    }
}

/// Whether a backfill includes instants in this state. It never includes live or suppressed ones.
/// A forgotten one may have succeeded, so only the mode `all` includes it.
pub fn selects(mode: Mode, standing: InstantState) -> bool {
    match (standing, mode) {
        (InstantState::Missing, Mode::Missing | Mode::MissingAndFailed | Mode::All)
        | (InstantState::Failed, Mode::MissingAndFailed | Mode::All)
        | (InstantState::Succeeded | InstantState::Forgotten, Mode::All) => true,
        (InstantState::Failed, Mode::Missing)
        | (
            InstantState::Succeeded | InstantState::Forgotten,
            Mode::Missing | Mode::MissingAndFailed,
        )
        | (
            InstantState::Live | InstantState::Suppressed,
            Mode::Missing | Mode::MissingAndFailed | Mode::All,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;

    use super::*;

    fn facts(verdict: Option<Verdict>, states: &[run::State]) -> InstantFacts {
        let at = Timestamp(0);
        let run = |state: &run::State| RunAt { at, run_id: Uuid::from_u128(7), state: *state };
        InstantFacts {
            row: verdict.map(|verdict| RowAt { at, fire_id: Uuid::nil(), count: 1, verdict }),
            range: None,
            runs: states.iter().map(run).collect(),
            is_to_come: false,
        }
    }

    #[test]
    fn an_instants_standing_is_that_of_its_best_run() {
        use run::State::{Cancelled, Failed, Queued, Succeeded, TimedOut};
        let started = Some(Verdict::Started);
        for (verdict, states, standing) in [
            (None, &[][..], InstantState::Missing),
            (Some(Verdict::Missed), &[], InstantState::Missing),
            (Some(Verdict::Collapsed), &[], InstantState::Missing),
            (Some(Verdict::Skipped), &[], InstantState::Missing),
            (Some(Verdict::Abandoned), &[], InstantState::Missing),
            (Some(Verdict::Abandoned), &[Failed], InstantState::Failed),
            (Some(Verdict::Pending), &[], InstantState::Live),
            (started, &[Failed], InstantState::Failed),
            (started, &[TimedOut, Cancelled], InstantState::Failed),
            (started, &[Failed, Succeeded], InstantState::Succeeded),
            (started, &[Succeeded, Failed, Queued], InstantState::Live),
            (started, &[], InstantState::Failed),
            (Some(Verdict::Missed), &[Succeeded], InstantState::Succeeded),
        ] {
            assert_eq!(facts(verdict, states).standing(), standing, "{verdict:?} {states:?}");
        }
    }

    #[test]
    fn an_undecided_instant_waits_for_the_planner() {
        let to_come = |states| InstantFacts { is_to_come: true, ..facts(None, states) };
        for states in [&[][..], &[run::State::Failed]] {
            assert_eq!(to_come(states).standing(), InstantState::Live);
            assert_eq!(to_come(states).turn(Mode::All), InstantTurn::Wait);
        }
        let by_hand = to_come(&[run::State::Running]).turn(Mode::All);
        assert!(matches!(by_hand, InstantTurn::Skip(_)), "{by_hand:?}");
    }

    #[test]
    fn a_turn_that_comes_too_late_says_which_run_was_there() {
        let id = Uuid::from_u128(7);
        for (mode, states, turn) in [
            (Mode::Missing, &[][..], InstantTurn::Start),
            (Mode::MissingAndFailed, &[run::State::TimedOut], InstantTurn::Start),
            (Mode::All, &[run::State::Succeeded], InstantTurn::Start),
            (
                Mode::Missing,
                &[run::State::TimedOut],
                InstantTurn::Skip(format!("run {id} had timed out for this instant")),
            ),
            (
                Mode::MissingAndFailed,
                &[run::State::Succeeded],
                InstantTurn::Skip(format!("run {id} had succeeded for this instant")),
            ),
            (
                Mode::All,
                &[run::State::Succeeded, run::State::Retrying],
                InstantTurn::Skip(format!("run {id} was alive for this instant")),
            ),
        ] {
            assert_eq!(facts(None, states).turn(mode), turn, "{mode:?} {states:?}");
        }
        let pending = facts(Some(Verdict::Pending), &[]).turn(Mode::All);
        assert_eq!(pending, InstantTurn::Skip("its own fire was about to start".to_owned()));
        let gone = facts(Some(Verdict::Started), &[]).turn(Mode::Missing);
        let why = "its run had started and has been removed";
        assert_eq!(gone, InstantTurn::Skip(why.to_owned()));
    }
}
