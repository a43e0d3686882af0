//! Schedules counted by tag or by module.

use async_graphql::{Context, Enum, Object, SimpleObject};

use super::{
    context::ContextExt,
    error::Result,
    filters::ScheduleFilter,
    page::{DECLARED, search_cost},
    query::{name_text, usual, within},
    scalar::Long,
};
use crate::store::reads::schedule_groups::{self, Grouping};

/// The cost of reading all schedules that match.
const LOOKED_AT: usize = 2_000;

/// Queries of groups of schedules.
#[derive(Default)]
pub(super) struct ReadingScheduleGroups;

/// Queries of groups of schedules.
#[Object]
impl ReadingScheduleGroups {
    /// How many schedules have each tag, or are declared by each module.
    #[graphql(complexity = "LOOKED_AT + search_cost(search.as_deref()) + child_complexity")]
    async fn schedule_groups(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "What to group by.")] by: ScheduleGrouping,
        #[graphql(desc = "Only schedules that match this filter.")] filter: Option<ScheduleFilter>,
        #[graphql(desc = "A search, as for `schedules`.")] search: Option<String>,
        #[graphql(
            desc = "Only groups whose names contain this text, ignoring case; at most 200 characters."
        )]
        text: Option<String>,
    ) -> Result<ScheduleGroups> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let filter = filter.unwrap_or_default().narrowed(cx, &within, search).await?;
        let (text, by) = (name_text(text)?, Grouping::from(by));
        let store = cx.store();
        let found = schedule_groups::groups(store, &within, &filter, by, text.as_deref()).await?;
        let without = match cx.look_ahead().field("without").exists() {
            true => schedule_groups::ungrouped(store, &within, &filter, by).await?,
            false => 0,
        };
        let group = |group: schedule_groups::Group| ScheduleGroup {
            name: group.name,
            schedules: group.schedules.into(),
        };
        Ok(ScheduleGroups {
            groups: found.groups.into_iter().map(group).collect(),
            without: without.into(),
            total: found.total.into(),
            is_cut: found.is_cut,
        })
    }
}

/// How schedules are grouped.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "Grouping")]
pub(crate) enum ScheduleGrouping {
    /// Group by tag: a schedule is in the group of each of its tags.
    Tag,
    /// Group by the module that declares the schedule.
    Module,
}

/// The groups of a list of schedules.
#[derive(SimpleObject)]
pub(crate) struct ScheduleGroups {
    /// The 200 largest groups, by name. With `text`, those that begin with it count as larger than
    /// all others.
    #[graphql(complexity = "DECLARED * child_complexity")]
    groups: Vec<ScheduleGroup>,
    /// The number of schedules that are in no group, whatever `text` is; counting stops at 10,000.
    without: Long,
    /// The number of groups, listed or not; with `text`, of those whose names contain it.
    total: Long,
    /// Whether there are more groups than those that are listed.
    is_cut: bool,
}

/// A group of schedules.
#[derive(SimpleObject)]
pub(crate) struct ScheduleGroup {
    /// The tag or the module.
    name: String,
    /// The number of the group's schedules.
    schedules: Long,
}
