//! The roots, put together from what each part of the product adds to them.

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
    problem::ReadingProblems,
    query::{ReadingFleet, ReadingRuns, ReadingSchedules, ReadingShared},
    secret::{OrderingSecrets, ReadingSecrets},
    subscription::Following,
    upcoming::ReadingAhead,
    watching::Watching,
    worker::{OrderingWorkers, ReadingWorkers},
};

/// What can be read.
#[derive(MergedObject, Default)]
pub struct Query(
    ReadingFleet,
    ReadingSchedules,
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

/// What can be changed. Each takes an optional idempotency key: repeated with the same key and the
/// same arguments, it answers and does nothing.
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
    FeedMutation,
    SettingsMutation,
    OrderingNodes,
    OrderingTests,
    OrderingWorkers,
);

/// What can be followed. Each event carries the cursor to come back with.
#[derive(MergedSubscription, Default)]
pub struct Subscription(Following, Watching);
