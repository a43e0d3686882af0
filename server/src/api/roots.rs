//! The roots, put together from what each part of the product adds to them.

use async_graphql::{MergedObject, MergedSubscription};

use super::{
    alerts::{AlertMutation, AlertQuery},
    deploy::OrderingDeployed,
    global::ReadingGlobally,
    metrics::ReadingFigures,
    module::ReadingDeployed,
    mutation::{
        Operating, OrderingMany, OrderingPast, OrderingRuns, OrderingSchedules, OrderingShared,
    },
    people::{FeedMutation, FeedQuery, PeopleMutation, PeopleQuery},
    query::{ReadingFleet, ReadingRuns, ReadingSchedules, ReadingShared},
    secret::{OrderingSecrets, ReadingSecrets},
    subscription::Following,
    upcoming::ReadingAhead,
    watching::Watching,
};

/// What can be read.
#[derive(MergedObject, Default)]
pub struct Query(
    ReadingFleet,
    ReadingSchedules,
    ReadingShared,
    ReadingRuns,
    ReadingDeployed,
    ReadingAhead,
    PeopleQuery,
    ReadingSecrets,
    AlertQuery,
    ReadingFigures,
    FeedQuery,
    ReadingGlobally,
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
);

/// What can be followed. Each event carries the cursor to come back with.
#[derive(MergedSubscription, Default)]
pub struct Subscription(Following, Watching);
