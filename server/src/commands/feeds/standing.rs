use std::collections::HashMap;

use entity::{run, schedule::Model};
use uuid::Uuid;

use super::{
    OpenFeed,
    events::{SCHEDULES, shown},
};
use crate::{
    commands::{CommandError, Commands},
    search::{Criterion, Search, SearchedList, Term, WordField},
    store::{
        PageWindow,
        reads::{batches, schedules, within::Within},
    },
};

/// The counts for a badge: its schedules, by the result of the last ended run of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadgeCounts {
    /// The schedule's name, for a badge of a single schedule.
    pub schedule: Option<String>,
    /// Schedules whose last run succeeded.
    pub passing: usize,
    /// Schedules whose last run failed or timed out.
    pub failing: usize,
    /// Schedules none of whose runs has ended yet, or whose last run was cancelled.
    pub unknown: usize,
    /// Paused schedules, whatever the result of their last run.
    pub paused: usize,
}

impl BadgeCounts {
    /// The number of schedules counted.
    pub fn total(&self) -> usize {
        self.passing + self.failing + self.unknown + self.paused
    }

    fn add(&mut self, row: &Model, last: Option<run::State>) {
        let count = match last {
            _ if !row.enabled => &mut self.paused,
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

/// The tag that alone selects the schedules of a feed, such as by the search `tag:billing`.
pub fn tag_of(opened: &OpenFeed) -> Option<String> {
    let search = opened.feed.search.as_deref().filter(|_| opened.feed.schedule_id.is_none())?;
    let search = Search::parse(SearchedList::Schedules, search).ok()?;
    match search.terms.as_slice() {
        [Term { negated: false, test: Criterion::Word(WordField::Tag, tags) }] => {
            tags.first().filter(|_| tags.len() == 1).cloned()
        }
        _ => None,
    }
}

/// The schedules that a badge counts, at most 1,000. Unlike a calendar, a badge of a namespace also
/// counts schedules that will not fire again: their last run may have failed.
async fn counted(commands: &Commands, opened: &OpenFeed) -> Result<Vec<Model>, CommandError> {
    let feed = &opened.feed;
    if feed.schedule_id.is_some() || feed.search.is_some() {
        return shown(commands, opened).await;
    }
    let (within, filter) = (Within::One(feed.namespace_id), schedules::Filter::default());
    let window = PageWindow::first(SCHEDULES);
    Ok(schedules::page(&commands.store, &within, &filter, false, &window).await?.rows)
}

/// The current counts for a badge.
pub async fn standing(commands: &Commands, opened: &OpenFeed) -> Result<BadgeCounts, CommandError> {
    let found = counted(commands, opened).await?;
    // The badge of a schedule that has been deleted still shows its name.
    let schedule = opened.feed.schedule_id.and(found.first()).map(|row| row.name.clone());
    let rows: Vec<Model> = found.into_iter().filter(|row| row.deleted_at.is_none()).collect();
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let last = batches::last_settled_runs(&commands.store, &ids).await?;
    let last: HashMap<Uuid, run::State> =
        last.into_iter().filter_map(|run| Some((run.schedule_id?, run.state))).collect();
    let mut standing = BadgeCounts { schedule, ..BadgeCounts::default() };
    for row in &rows {
        standing.add(row, last.get(&row.id).copied());
    }
    Ok(standing)
}
