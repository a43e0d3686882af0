//! Executes requests that compute away from the event loop.
//!
//! A preview of a timing, an export or an introspection is CPU work, and blocks its thread while it
//! lasts. Such a request is executed as a whole on a blocking thread, with a small limit per caller,
//! per namespace and per node. Queries and large answers have a limit per caller, too, wherever they
//! are built; a mutation whose answer reads lists counts as a query.

use std::{any::TypeId, collections::BTreeSet, sync::Arc, time::Duration};

use async_graphql::{
    Request, Response, ServerError, ServerResult, Value, extensions::ExtensionContext,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::{
    runtime::Handle,
    sync::{OnceCell, oneshot},
};
use tracing::Instrument;
use uuid::Uuid;

use super::{
    limits::{self, with_code},
    schema::Schema,
    tenants::tenants,
};
use crate::{
    access::Viewer,
    bulkhead::{self, Bulkhead, BulkheadPlace},
    clock::Clock,
    config::Introspection,
};

/// Maximum number of concurrent computing requests of one caller.
const MAX_OF_CALLER: usize = 2;
/// The largest number of concurrent queries of one caller that compute nothing, and of mutations
/// whose answers read lists. The rows that they have read are in memory before the answer is, and
/// counted nowhere.
const MAX_QUERIES_OF_CALLER: usize = 6;
/// Maximum number of one caller's large answers that are being built or written.
const MAX_LARGE_OF_CALLER: usize = 2;
/// How long a request waits for a place.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a request that computes waits for the place of its large answer. Meanwhile it holds one
/// of the node's few places for computing, so two callers that leave their answers unread could
/// keep all others out.
const COMPUTING_PATIENCE: Duration = Duration::from_secs(1);

/// Executes a query or mutation, away from the event loop if it computes.
pub async fn execute(schema: &Schema, mut request: Request) -> Response {
    let introspection = schema.data::<Introspection>().copied().unwrap_or_default();
    let Some(asides) = schema.data::<Asides>() else { return schema.execute(request).await };
    if !limits::is_heavy(&mut request, introspection) {
        return asides.execute_here(schema, request).await;
    }
    let caller = caller(viewer(&request));
    let tenants = tenants(schema, &mut request);
    let Some(place) = asides.computing_place(caller, tenants).await else { return busy() };
    let request = request.data(ComputesAside);
    let (schema, handle) = (schema.clone(), Handle::current());
    // If the caller goes away, its end of the channel is dropped, and the execution stops at the
    // next await point.
    let (leaves, gone) = oneshot::channel::<()>();
    let executed = async move {
        tokio::select! {
            biased;
            response = schema.execute(request) => Some(response),
            _ = gone => None,
        }
    };
    let executed = executed.instrument(tracing::Span::current());
    let done = tokio::task::spawn_blocking(move || {
        let response = handle.block_on(executed);
        drop(place);
        response
    });
    let response = done.await;
    drop(leaves);
    match response {
        Ok(Some(response)) => response,
        // The runtime is shutting down.
        Ok(None) => busy(),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => busy(),
        },
    }
}

/// Marks a request that holds a place for computing. There are fewer of those than of places for
/// queries, and it must not wait long while it holds one of the node's.
struct ComputesAside;

/// The responses of any operation, each with its place: a subscription's events, or the single
/// response of a query or mutation.
pub fn execute_stream(
    schema: &Schema,
    mut request: Request,
) -> BoxStream<'static, (Response, AnswerPlace)> {
    if limits::is_subscription(&mut request) {
        // Each event has a place of its own while it is built.
        let events = schema.execute_stream(request);
        return events.map(|event| (event, AnswerPlace::default())).boxed();
    }
    let (schema, place) = (schema.clone(), AnswerPlace::default());
    let request = request.data(place.clone());
    stream::once(async move { (execute(&schema, request).await, place) }).boxed()
}

/// Whether the operation that a request selects is a mutation.
pub fn is_mutation(request: &mut Request) -> bool {
    limits::is_mutation(request)
}

/// Whether a request was refused before it was executed: it has errors, and none of them has a path
/// into the response.
pub fn is_refused(response: &Response) -> bool {
    let is_empty = matches!(response.data, Value::Null) && !response.errors.is_empty();
    is_empty && response.errors.iter().all(|error| error.path.is_empty())
}

/// The caller of a request; `None` if unauthenticated.
pub(super) fn viewer(request: &Request) -> Option<&Viewer> {
    request.data.get(&TypeId::of::<Viewer>())?.downcast_ref()
}

/// The caller's key. All unauthenticated callers count as one.
fn caller(viewer: Option<&Viewer>) -> Uuid {
    viewer.map_or(Uuid::nil(), |viewer| viewer.caller)
}

/// Maximum number of concurrent computing requests of a namespace: a quarter of the node's places
/// is left to others.
fn max_of_namespace() -> usize {
    let all = bulkhead::max_computing();
    all - all / 4
}

fn busy() -> Response {
    let of_namespace = max_of_namespace();
    let text = format!(
        "this request computes, and {MAX_OF_CALLER} of yours, {of_namespace} about one of its \
         namespaces or all places of the server are under way; wait for their answers, and ask \
         again"
    );
    Response::from_errors(vec![rate_limited(text)])
}

fn rate_limited(text: String) -> ServerError {
    with_code(ServerError::new(text, None), "RATE_LIMITED")
}

/// The place of one answer among its caller's large ones. It is taken when the answer turns out to
/// be large, and becomes free when the last clone is dropped. If it is added to a request's data,
/// it is held until the answer is written; otherwise, until the answer is built.
#[derive(Clone, Debug, Default)]
pub struct AnswerPlace(Arc<OnceCell<Option<BulkheadPlace>>>);

impl AnswerPlace {
    /// Whether the answer has turned out to be large and holds a place.
    pub fn is_taken(&self) -> bool {
        matches!(self.0.get(), Some(Some(_)))
    }

    /// Takes the place, unless it is already taken; waits while the caller has too many. The fields
    /// of an answer are resolved concurrently, and one wait serves them all.
    pub(super) async fn take(&self, ctx: &ExtensionContext<'_>) -> ServerResult<()> {
        let Some(asides) = ctx.data_opt::<Asides>().filter(|_| !self.is_taken()) else {
            return Ok(());
        };
        let caller = caller(ctx.data_opt::<Viewer>());
        let patience = match ctx.data_opt::<ComputesAside>() {
            Some(ComputesAside) => COMPUTING_PATIENCE,
            None => PATIENCE,
        };
        let place = asides.large.enter_within(caller, &asides.clock, patience);
        match self.0.get_or_init(|| place).await {
            Some(_) => Ok(()),
            None => Err(rate_limited(format!(
                "{MAX_LARGE_OF_CALLER} large answers of yours are being built, or you have not \
                 read them yet; read them, and try again"
            ))),
        }
    }
}

/// Waits for one of the caller's places for queries, on behalf of a mutation whose answer reads
/// lists. `None` if it needs none: a request that computes already holds a place of another kind.
pub(super) async fn place_of_lists(
    ctx: &ExtensionContext<'_>,
) -> ServerResult<Option<BulkheadPlace>> {
    let Some(asides) = ctx.data_opt::<Asides>() else { return Ok(None) };
    let viewer = ctx.data_opt::<Viewer>().filter(|_| ctx.data_opt::<ComputesAside>().is_none());
    let Some(viewer) = viewer else { return Ok(None) };
    asides.query_place(viewer.caller).await.map(Some)
}

/// The places for requests, by caller; those for computing also by namespace.
pub(super) struct Asides {
    clock: Clock,
    computing_callers: Bulkhead<Uuid>,
    computing: Bulkhead<Uuid>,
    queries: Bulkhead<Uuid>,
    large: Bulkhead<Uuid>,
}

impl Asides {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            computing_callers: Bulkhead::for_each(MAX_OF_CALLER),
            computing: Bulkhead::new(bulkhead::max_computing(), max_of_namespace()),
            queries: Bulkhead::for_each(MAX_QUERIES_OF_CALLER),
            large: Bulkhead::for_each(MAX_LARGE_OF_CALLER),
        }
    }

    /// Waits for a place to compute in. A caller that has all of its own waits for one of these
    /// first, and so keeps no other caller of its namespaces waiting. The namespaces are looked up
    /// after that.
    async fn computing_place(
        &self,
        caller: Uuid,
        tenants: impl Future<Output = BTreeSet<Uuid>>,
    ) -> Option<[BulkheadPlace; 2]> {
        let enter = async {
            let own = self.computing_callers.enter(caller).await;
            [own, self.computing.enter_for(tenants.await).await]
        };
        self.clock.timeout(PATIENCE, enter).await.ok()
    }

    /// Executes what computes nothing. A mutation waits for no other, since many are committed
    /// together and some take long, unless its answer reads lists (see [`place_of_lists`]).
    async fn execute_here(&self, schema: &Schema, mut request: Request) -> Response {
        let known = viewer(&request).map(|viewer| viewer.caller);
        let Some(caller) = known.filter(|_| !limits::is_mutation(&mut request)) else {
            return schema.execute(request).await;
        };
        match self.query_place(caller).await {
            Ok(_place) => schema.execute(request).await,
            Err(error) => Response::from_errors(vec![error]),
        }
    }

    async fn query_place(&self, caller: Uuid) -> ServerResult<BulkheadPlace> {
        let place = self.queries.enter_within(caller, &self.clock, PATIENCE).await;
        place.ok_or_else(|| {
            rate_limited(format!(
                "{MAX_QUERIES_OF_CALLER} of your requests that read lists are in progress; wait \
                 for their answers, and try again"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use chrono::DateTime;
    use entity::user::Role;
    use futures::FutureExt;

    use super::*;
    use crate::{
        access::{Grant, Grants, ViewerKind},
        clock::ManualClock,
    };

    fn member(id: u128, namespaces: &[u128]) -> Viewer {
        let grant = Grant { role: Role::Viewer, sees_payloads: false };
        let grants = namespaces.iter().map(|namespace| (Uuid::from_u128(*namespace), grant));
        let grants = Grants::new(None, grants);
        Viewer::new(Uuid::from_u128(id), "ada", ViewerKind::User, grants, "test")
    }

    #[tokio::test]
    async fn the_members_of_a_namespace_leave_a_place_to_others() {
        let asides = Asides::new(ManualClock::new(DateTime::UNIX_EPOCH).clock());
        let enter = |who: &Viewer, namespace| {
            let tenants = ready(BTreeSet::from([Uuid::from_u128(namespace)]));
            asides.computing_place(who.caller, tenants).now_or_never().flatten()
        };
        let most = max_of_namespace();
        let members: Vec<Viewer> = (10..).take(most + 1).map(|id| member(id, &[1])).collect();
        let held: Vec<_> = members.iter().filter_map(|who| enter(who, 1)).collect();
        assert_eq!(held.len(), most, "each member asks for one place");
        let of_both = member(3, &[1, 2]);
        assert!(enter(&of_both, 1).is_none(), "a member of both about the same");
        assert!(enter(&of_both, 2).is_some(), "about the other one");
        assert!(enter(&member(2, &[2]), 2).is_some(), "a member of the other one");
        drop(held);
        assert!(enter(&members[most], 1).is_some());
    }

    #[tokio::test]
    async fn a_caller_who_waits_keeps_no_other_member_waiting() {
        let asides = Asides::new(ManualClock::new(DateTime::UNIX_EPOCH).clock());
        let (hog, other) = (member(2, &[1]), member(3, &[1]));
        let enter = |who: &Viewer| {
            asides.computing_place(who.caller, ready(BTreeSet::from([Uuid::from_u128(1)])))
        };
        let held = [enter(&hog).now_or_never().flatten(), enter(&hog).now_or_never().flatten()];
        assert!(held.iter().all(Option::is_some));
        let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(enter(&hog))).collect();
        for wait in &mut waiting {
            assert!(wait.as_mut().now_or_never().is_none(), "it has two");
        }
        assert!(enter(&other).now_or_never().flatten().is_some());
    }
}
