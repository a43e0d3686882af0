//! Schedules: their lists, one of them, and its changes.

use super::{
    super::{
        Ask,
        operations::{self, Schedules},
    },
    within,
};
use crate::model::{
    AuditRow, DeletedSchedule, FoundSchedule, Page, PageArguments, Place, ScheduleDetail,
    ScheduleGrouping, ScheduleGroups, ScheduleHistories, ScheduleImpact, ScheduleRow,
    ScheduleSortField, TagNames, Version,
};

/// Filters and order of a list of schedules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleQuery {
    pub(crate) namespace: String,
    /// A search, in the search language.
    pub(crate) search: Option<String>,
    /// Whether to list only the caller's favourites.
    pub(crate) favourites: bool,
    /// The field to sort by, and whether descending.
    pub(crate) sort: Option<(ScheduleSortField, bool)>,
    pub(crate) place: Place,
}

/// The filter for favourites. Each operation has its own generated type for it.
macro_rules! favourites_of {
    ($query:ident, $operation:ident) => {
        $query.favourites.then_some(operations::$operation::ScheduleFilter {
            text: None,
            tag: None,
            state: None,
            workflow: None,
            calendar: None,
            tagged: None,
            declared: None,
            favourite: Some(true),
        })
    };
}

/// The number of matching schedules in each of the 200 largest groups whose names contain a text.
pub(crate) fn schedule_groups(
    query: ScheduleQuery,
    by: ScheduleGrouping,
    text: String,
) -> Ask<ScheduleGroups> {
    let filter = favourites_of!(query, schedule_groups);
    let (namespace, search) = (within(query.namespace), query.search);
    let text = Some(text);
    let variables = operations::schedule_groups::Variables { namespace, by, filter, search, text };
    Ask::new::<operations::ScheduleGroups>(variables)
}

/// The 200 most frequent tags; with `text`, of those that contain it.
pub(crate) fn tags(namespace: String, text: Option<String>) -> Ask<TagNames> {
    let namespace = within(namespace);
    Ask::new::<operations::Tags>(operations::tags::Variables { namespace, text })
}

pub(crate) fn schedules(query: ScheduleQuery, size: usize) -> Ask<Page<ScheduleRow>> {
    let PageArguments { first, after, last, before } = query.place.arguments(size);
    let sort =
        query.sort.map(|(by, descending)| operations::schedules::ScheduleSort { by, descending });
    let filter = favourites_of!(query, schedules);
    let (namespace, search) = (within(query.namespace), query.search);
    let variables = operations::schedules::Variables {
        namespace,
        filter,
        sort,
        search,
        first,
        after,
        last,
        before,
    };
    Ask::new::<Schedules>(variables)
}

/// The first schedules that a search finds, for the palette.
pub(crate) fn found_schedules(
    namespace: String,
    search: String,
    first: i64,
) -> Ask<Vec<FoundSchedule>> {
    let namespace = within(namespace);
    let variables = operations::found_schedules::Variables { namespace, search, first };
    Ask::new::<operations::FoundSchedules>(variables)
}

/// The number of matching schedules, on all pages together. The server counts up to ten thousand.
pub(crate) fn schedule_count(query: ScheduleQuery) -> Ask<i64> {
    let filter = favourites_of!(query, schedule_count);
    let (namespace, search) = (within(query.namespace), query.search);
    let variables = operations::schedule_count::Variables { namespace, filter, search };
    Ask::new::<operations::ScheduleCount>(variables)
}

/// The last fires of schedules, at most a hundred.
pub(crate) fn schedule_histories(ids: Vec<String>) -> Ask<ScheduleHistories> {
    let variables = operations::schedule_histories::Variables { ids };
    Ask::new::<operations::ScheduleHistories>(variables)
}

pub(crate) fn schedule(id: String) -> Ask<ScheduleDetail> {
    Ask::new::<operations::Schedule>(operations::schedule::Variables { id, fires: 8 })
}

/// Up to `count` versions of a schedule's definition, newest first: from `up_to` on, or from the current one.
pub(crate) fn schedule_versions(id: String, up_to: Option<i64>, count: usize) -> Ask<Vec<Version>> {
    let first = i64::try_from(count).unwrap_or(i64::MAX);
    let variables = operations::schedule_versions::Variables { id, first, up_to };
    Ask::new::<operations::ScheduleVersions>(variables)
}

/// The deleted schedules of a namespace that can be restored, the last deleted first.
pub(crate) fn deleted_schedules(
    namespace: String,
    after: Option<String>,
) -> Ask<Page<DeletedSchedule>> {
    let variables = operations::deleted_schedules::Variables { namespace, after };
    Ask::new::<operations::DeletedSchedules>(variables)
}

/// The runs and waiting fires that the deletion of a schedule affects.
pub(crate) fn schedule_impact(id: String) -> Ask<ScheduleImpact> {
    let namespace = None;
    Ask::new::<operations::ScheduleImpact>(operations::schedule_impact::Variables { id, namespace })
}

/// The changes to a schedule and who made them, newest first.
pub(crate) fn schedule_audit(
    namespace: String,
    subject_id: String,
    place: Place,
    size: usize,
) -> Ask<Page<AuditRow>> {
    let PageArguments { first, after, last, before } = place.arguments(size);
    Ask::new::<operations::ScheduleAudit>(operations::schedule_audit::Variables {
        namespace,
        subject_id,
        first,
        after,
        last,
        before,
    })
}

/// Renames a schedule, based on this version of it.
pub(crate) fn rename_schedule(id: String, expected_version: i64, name: String) -> Ask<String> {
    let variables = operations::rename_schedule::Variables { id, expected_version, name };
    Ask::new::<operations::RenameSchedule>(variables)
}
