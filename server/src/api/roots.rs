//! The root types, merged from what each part of the product adds to them.

use async_graphql::{MergedObject, MergedSubscription};

use super::{
    alerts::{AlertMutation, AlertQuery},
    deploy::OrderingDeployed,
    edit_effect::ReadingEffects,
    global::ReadingGlobally,
    ledger::ReadingLedger,
    metrics::ReadingFigures,
    minutes::ReadingMinutes,
    module::ReadingDeployed,
    mutation::{
        Operating, OrderingMany, OrderingNodes, OrderingPast, OrderingRuns, OrderingSchedules,
        OrderingShared, OrderingTests,
    },
    pause_preview::ReadingPauses,
    people::{FeedMutation, FeedQuery, PeopleMutation, PeopleQuery, SettingsMutation},
    problem::{OrderingProblems, ReadingProblems},
    query::{ReadingFleet, ReadingRuns, ReadingSchedules, ReadingShared},
    schedule_group::ReadingScheduleGroups,
    secret::{OrderingSecrets, ReadingSecrets},
    subscription::Following,
    upcoming::ReadingAhead,
    watching::Watching,
    worker::{OrderingWorkers, ReadingWorkers},
};

/// Queries.
#[derive(MergedObject, Default)]
pub struct Query(
    ReadingFleet,
    ReadingSchedules,
    ReadingScheduleGroups,
    ReadingShared,
    ReadingRuns,
    ReadingLedger,
    ReadingProblems,
    ReadingDeployed,
    ReadingAhead,
    ReadingMinutes,
    ReadingPauses,
    ReadingEffects,
    PeopleQuery,
    ReadingSecrets,
    AlertQuery,
    ReadingFigures,
    FeedQuery,
    ReadingGlobally,
    ReadingWorkers,
);

/// Mutations. Each takes an optional idempotency key: a repeated call with the same key and the
/// same arguments returns its answer and does nothing else.
#[derive(MergedObject, Default)]
pub struct Mutation(
    OrderingSchedules,
    Operating,
    OrderingRuns,
    OrderingShared,
    OrderingPast,
    OrderingMany,
    OrderingDeployed,
    PeopleMutation,
    OrderingSecrets,
    AlertMutation,
    OrderingProblems,
    FeedMutation,
    SettingsMutation,
    OrderingNodes,
    OrderingTests,
    OrderingWorkers,
);

/// Subscriptions. Each event carries a cursor from which to resume.
#[derive(MergedSubscription, Default)]
pub struct Subscription(Following, Watching);
