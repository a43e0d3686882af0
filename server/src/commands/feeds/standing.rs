use std::collections::HashMap;

use entity::{run, schedule::Model};
use uuid::Uuid;

use super::{Opened, events::shown};
use crate::{
    commands::{CommandError, Commands},
    store::reads::batches,
};

/// How the schedules of a badge stand, by the last run of each that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The schedule's name, where it is one.
    pub schedule: Option<String>,
    /// The last run succeeded.
    pub passing: usize,
    /// It failed or took too long.
    pub failing: usize,
    /// There is none, or somebody cancelled it.
    pub unknown: usize,
    /// Schedules that are paused or have ended, whatever their last run did.
    pub resting: usize,
}

impl Standing {
    /// Of how many schedules this tells.
    pub fn total(&self) -> usize {
        self.passing + self.failing + self.unknown + self.resting
    }

    fn add(&mut self, row: &Model, last: Option<run::State>) {
        let count = match last {
            _ if !row.enabled || row.next_scheduled_at.is_none() => &mut self.resting,
            Some(run::State::Succeeded) => &mut self.passing,
            Some(run::State::Failed | run::State::TimedOut) => &mut self.failing,
            Some(
                run::State::Cancelled
                | run::State::Queued
                | run::State::Running
                | run::State::Retrying,
            )
            | None => &mut self.unknown,
        };
        *count += 1;
    }
}

/// How what a badge shows stands now.
pub async fn standing(commands: &Commands, opened: &Opened) -> Result<Standing, CommandError> {
    let rows = shown(commands, opened).await?;
    let rows: Vec<Model> = rows.into_iter().filter(|row| row.deleted_at.is_none()).collect();
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let last = batches::last_settled_runs(&commands.store, &ids).await?;
    let last: HashMap<Uuid, run::State> =
        last.into_iter().filter_map(|run| Some((run.schedule_id?, run.state))).collect();
    let mut standing = Standing::default();
    for row in &rows {
        standing.add(row, last.get(&row.id).copied());
    }
    if opened.feed.schedule_id.is_some() {
        standing.schedule = rows.first().map(|row| row.name.clone());
    }
    Ok(standing)
}
