//! The filters of lists.

use async_graphql::{Context, InputObject};
use uuid::Uuid;

use super::{
    context::ContextExt, error::Result, fire::Verdict, people::settings::favourites,
    query::name_text, run::RunState, scalar::Instant, schedule_state::ScheduleState,
};
use crate::{
    commands::bulk::query,
    search::SearchedList,
    store::{
        calendars,
        reads::{self, search::TimedSearch, within::Within},
    },
};

/// Parses a list's search, if there is one. Errors can be searched only within one namespace,
/// because the caller may see payloads in some namespaces and not in others.
pub(super) fn sought(
    cx: &Context<'_>,
    within: &Within,
    list: SearchedList,
    text: Option<String>,
) -> Result<Option<TimedSearch>> {
    let clock = &cx.commands().clock;
    let sees_payloads = within.one().is_some_and(|namespace| cx.sees_payloads(namespace));
    let sought = |text: String| query::sought(clock, list, &text, sees_payloads);
    Ok(text.map(sought).transpose()?)
}

/// Parses a search for schedules in several namespaces, if there is one.
pub(super) fn sought_schedules(
    cx: &Context<'_>,
    text: Option<String>,
) -> Result<Option<TimedSearch>> {
    let (clock, list) = (&cx.commands().clock, SearchedList::Schedules);
    let sought = |text: String| query::sought(clock, list, &text, false);
    Ok(text.map(sought).transpose()?)
}

/// Selects schedules.
#[derive(InputObject, Default)]
pub(crate) struct ScheduleFilter {
    /// Only schedules whose name or note contains this text, ignoring case; at most 200 characters.
    text: Option<String>,
    /// Only schedules with this tag.
    tag: Option<String>,
    /// Only schedules in this state.
    state: Option<ScheduleState>,
    /// The workflow's name.
    workflow: Option<String>,
    /// The name of a calendar that the schedules refer to.
    calendar: Option<String>,
    /// True selects schedules with tags, false selects schedules without tags.
    tagged: Option<bool>,
    /// True selects schedules that a module declares, false selects all others.
    declared: Option<bool>,
    /// True selects the caller's favourites, false selects all other schedules.
    favourite: Option<bool>,
}

impl ScheduleFilter {
    /// The schedules of these namespaces that match the filter and the search.
    pub(crate) async fn narrowed(
        mut self,
        cx: &Context<'_>,
        within: &Within,
        search: Option<String>,
    ) -> Result<reads::schedules::Filter> {
        self.text = name_text(self.text.take())?;
        let (favourite, calendar) = (self.favourite, self.calendar.clone());
        let mut filter: reads::schedules::Filter = self.into();
        if let Some(is_in) = favourite {
            filter.among = Some((favourites(cx).await?, is_in));
        }
        if let Some(name) = calendar {
            let named = calendars::keys_named(cx.store().read(), within, &name).await?;
            filter.calendars = Some(named);
        }
        filter.search = sought(cx, within, SearchedList::Schedules, search)?;
        Ok(filter)
    }
}

impl From<ScheduleFilter> for reads::schedules::Filter {
    fn from(filter: ScheduleFilter) -> Self {
        Self {
            text: filter.text,
            tag: filter.tag,
            standing: filter.state.map(Into::into),
            workflow: filter.workflow,
            among: None,
            calendars: None,
            tagged: filter.tagged,
            declared: filter.declared,
            deleted: false,
            search: None,
        }
    }
}

/// Selects runs.
#[derive(InputObject, Default)]
pub(crate) struct RunFilter {
    /// Only runs in one of these states.
    states: Option<Vec<RunState>>,
    /// Only runs of this schedule.
    schedule_id: Option<Uuid>,
    /// True selects runs that can still change, false selects settled runs.
    live: Option<bool>,
    /// Scheduled at this instant or later.
    after: Option<Instant>,
    /// Scheduled before this instant.
    before: Option<Instant>,
}

impl From<RunFilter> for reads::runs::Filter {
    fn from(filter: RunFilter) -> Self {
        Self {
            states: filter.states.map(distinct),
            schedule_id: filter.schedule_id,
            live: filter.live,
            after: filter.after.map(Into::into),
            before: filter.before.map(Into::into),
            search: None,
        }
    }
}

/// Selects fires.
#[derive(InputObject, Default)]
pub(crate) struct FireFilter {
    /// Only fires with one of these verdicts.
    verdicts: Option<Vec<Verdict>>,
    /// Scheduled at this instant or later.
    after: Option<Instant>,
    /// Scheduled before this instant.
    before: Option<Instant>,
}

impl From<FireFilter> for reads::fires::Filter {
    fn from(filter: FireFilter) -> Self {
        Self {
            verdicts: filter.verdicts.map(distinct),
            after: filter.after.map(Into::into),
            before: filter.before.map(Into::into),
        }
    }
}

/// The values of an enum without repetitions. Only so is their number bounded, and a statement
/// takes only so many values.
pub(super) fn distinct<Given, Kept: From<Given> + PartialEq>(given: Vec<Given>) -> Vec<Kept> {
    let mut kept = Vec::new();
    for value in given.into_iter().map(Kept::from) {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}
