//! The root types, merged from the fields of each part of the API.
//!
//! They are merged in groups, because each part of a list adds a frame of 50 KB (without
//! optimisation) to the stack of all parts before it. With sixteen parts in one list,
//! `createSchedule` overflowed a thread's stack.

use async_graphql::{MergedObject, MergedSubscription};

use super::{
    alerts::{AlertMutation, AlertQuery},
    clock_changes::ReadingClockChanges,
    deploy::OrderingDeployed,
    drift::OrderingDrift,
    edit_effect::ReadingEffects,
    global::ReadingGlobally,
    health_budget::{OrderingBudgets, ReadingBudgets},
    ledger::ReadingLedger,
    ledger_check::CheckingLedger,
    maintenance::{OrderingMaintenance, ReadingMaintenance},
    metrics::ReadingFigures,
    minutes::ReadingMinutes,
    module::ReadingDeployed,
    mutation::{
        Operating, OrderingMany, OrderingNodes, OrderingPast, OrderingRuns, OrderingSchedules,
        OrderingShared, OrderingTests,
    },
    outage_preview::ReadingOutages,
    pause_preview::ReadingPauses,
    people::{
        DeletedTenantMutation, DeletedTenantQuery, FeedMutation, FeedQuery, PeopleMutation,
        PeopleQuery, SettingsMutation,
    },
    problem::{OrderingProblems, ReadingProblems},
    query::{ReadingFleet, ReadingRuns, ReadingSchedules, ReadingShared},
    schedule_group::ReadingScheduleGroups,
    secret::{OrderingSecrets, ReadingSecrets},
    status_feeds::Watching,
    subscription::Following,
    timeline::ReadingTimeline,
    upcoming::ReadingAhead,
    work_events::FollowingWork,
    worker::{OrderingWorkers, ReadingWorkers},
    workflow_text::ReadingTexts,
};

/// Queries.
#[derive(MergedObject, Default)]
pub struct Query(WorkQueries, HistoryQueries, PreviewQueries, GovernanceQueries, FleetQueries);

#[derive(MergedObject, Default)]
struct WorkQueries(ReadingFleet, ReadingSchedules, ReadingScheduleGroups, ReadingShared);

#[derive(MergedObject, Default)]
struct HistoryQueries(ReadingRuns, ReadingLedger, CheckingLedger, ReadingProblems, ReadingDeployed);

#[derive(MergedObject, Default)]
struct PreviewQueries(
    ReadingAhead,
    ReadingMinutes,
    ReadingClockChanges,
    ReadingMaintenance,
    ReadingPauses,
    ReadingOutages,
    ReadingEffects,
    ReadingTexts,
);

#[derive(MergedObject, Default)]
struct GovernanceQueries(PeopleQuery, ReadingSecrets, AlertQuery);

#[derive(MergedObject, Default)]
struct FleetQueries(
    ReadingFigures,
    ReadingTimeline,
    FeedQuery,
    ReadingGlobally,
    ReadingWorkers,
    ReadingBudgets,
    DeletedTenantQuery,
);

/// Mutations. Each takes an optional idempotency key: a repeated call with the same key and the
/// same arguments returns the first answer and changes nothing. With other arguments it fails with
/// CONFLICT. A key consists of printable characters without spaces, is the caller's own, and is
/// kept for 24 hours unless `retention.idempotency` says otherwise.
#[derive(MergedObject, Default)]
pub struct Mutation(WorkMutations, BulkMutations, GovernanceMutations, FleetMutations);

#[derive(MergedObject, Default)]
struct WorkMutations(OrderingSchedules, Operating, OrderingRuns, OrderingShared);

#[derive(MergedObject, Default)]
struct BulkMutations(
    OrderingPast,
    OrderingMany,
    OrderingDeployed,
    OrderingDrift,
    OrderingMaintenance,
);

#[derive(MergedObject, Default)]
struct GovernanceMutations(PeopleMutation, OrderingSecrets, AlertMutation, OrderingProblems);

#[derive(MergedObject, Default)]
struct FleetMutations(
    FeedMutation,
    SettingsMutation,
    OrderingNodes,
    OrderingTests,
    OrderingWorkers,
    DeletedTenantMutation,
    OrderingBudgets,
);

/// Subscriptions. Each event contains a cursor from which to resume.
#[derive(MergedSubscription, Default)]
pub struct Subscription(Following, FollowingWork, Watching);
