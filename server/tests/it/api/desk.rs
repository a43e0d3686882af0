//! A caller of the API, at a time set by the test.

use std::sync::Arc;

use async_graphql::{Request, Response, Variables};
use carillon::{
    access as people,
    access::{Grants, Viewer, ViewerKind},
    api::{self, Schema},
    clock::ManualClock,
    commands::Commands,
    config,
    engine::{Signals, cluster::Cluster},
    store::{Store, users},
    target::{Executor, Policy},
    vault::{EncryptionKey, Vault},
};
use chrono::{DateTime, Utc};
use entity::{audit_event, user::Role};
use futures::stream::BoxStream;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::TestDatabase;

/// A schema over the test's own database.
pub(crate) struct Desk {
    pub(crate) database: TestDatabase,
    pub(crate) clock: ManualClock,
    pub(crate) schema: Schema,
}

/// The time at which the tests begin.
pub(crate) fn noon() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn viewer(role: Role) -> Viewer {
    let kind = ViewerKind::User;
    Viewer::new(Uuid::from_u128(7), "ada", kind, Grants::everywhere(role), "test")
}

impl Desk {
    /// Opens a desk on which commands may run.
    pub(crate) async fn open(database: TestDatabase) -> Self {
        Self::with(database, Policy { commands: true, ..Policy::default() }, |store| store).await
    }

    pub(crate) async fn with(
        database: TestDatabase,
        policy: Policy,
        store: impl FnOnce(Store) -> Store,
    ) -> Self {
        let vault = Vault::new(EncryptionKey::read(&"ab".repeat(32)).unwrap(), None);
        Self::begin(database, policy, vault, store)
    }

    /// Opens a desk of a server that has no key for secrets.
    pub(crate) fn without_key(database: TestDatabase) -> Self {
        Self::begin(database, Policy::default(), Vault::default(), |store| store)
    }

    fn begin(
        database: TestDatabase,
        policy: Policy,
        vault: Vault,
        store: impl FnOnce(Store) -> Store,
    ) -> Self {
        let clock = ManualClock::new(noon());
        let store = store(database.store.clone().with_lease_clock(clock.clock()));
        let commands = Commands::new(
            store,
            clock.clock(),
            Arc::new(timetable::Cache::new(1_000)),
            Arc::new(Executor::new(policy, clock.clock()).unwrap()),
            Signals::default(),
        )
        .with_vault(vault);
        let introspection = config::Introspection::default();
        let schema =
            api::schema(commands, config::Health::default(), Cluster::default(), introspection);
        Self { database, clock, schema }
    }

    /// Sends a query and returns its answer, which must not be an error.
    pub(crate) async fn ask(&self, query: &str, variables: Value) -> Value {
        let response = self.send(Some(Role::Admin), query, variables).await;
        assert!(response.errors.is_empty(), "{query}\n{:#?}", response.errors);
        response.data.into_json().unwrap()
    }

    /// Sends a query that must be refused, and returns the refusal: `message` and `extensions`.
    pub(crate) async fn refused(&self, query: &str, variables: Value) -> Value {
        self.refused_as(Some(Role::Admin), query, variables).await
    }

    pub(crate) async fn refused_as(
        &self,
        role: Option<Role>,
        query: &str,
        variables: Value,
    ) -> Value {
        let response = self.send(role, query, variables).await;
        let error = response.errors.first().unwrap_or_else(|| panic!("not refused: {query}"));
        serde_json::to_value(error).unwrap()
    }

    /// The data of an answer that is resolved entirely on this thread, so that the batches of its
    /// loaders do not depend on the load of other threads.
    pub(crate) async fn ask_in_place(&self, query: &str, variables: Value) -> Value {
        let response = self.schema.execute(request(Some(Role::Admin), query, variables)).await;
        assert!(response.errors.is_empty(), "{query}: {:?}", response.errors);
        response.data.into_json().unwrap()
    }

    pub(crate) async fn send(&self, role: Option<Role>, query: &str, variables: Value) -> Response {
        api::execute(&self.schema, request(role, query, variables)).await
    }

    /// The answer to a given viewer.
    pub(crate) async fn send_as(&self, who: &Viewer, query: &str, variables: Value) -> Response {
        let request = Request::new(query).variables(Variables::from_json(variables));
        api::execute(&self.schema, request.data(who.clone())).await
    }

    /// The answers to two operators who send the same request at the same moment.
    pub(crate) async fn ask_at_once(&self, query: &str, variables: &Value) -> [Value; 2] {
        let ask = async |id: u128, name: &str| {
            let grants = Grants::everywhere(Role::Operator);
            let who = Viewer::new(Uuid::from_u128(id), name, ViewerKind::User, grants, "test");
            let answer = self.send_as(&who, query, variables.clone()).await;
            assert!(answer.errors.is_empty(), "{query}: {:?}", answer.errors);
            answer.data.into_json().unwrap()
        };
        let (one, other) = tokio::join!(ask(21, "cy"), ask(22, "di"));
        [one, other]
    }

    /// The number of entries for this action in the audit log.
    pub(crate) async fn audited(&self, action: &str) -> usize {
        let all = audit_event::Entity::find().filter(audit_event::Column::Action.eq(action));
        all.all(self.database.store.read()).await.unwrap().len()
    }

    /// The error code that a given viewer gets; empty if the request succeeds.
    pub(crate) async fn code_for(&self, who: &Viewer, query: &str, variables: Value) -> String {
        let response = self.send_as(who, query, variables).await;
        let Some(error) = response.errors.first() else { return String::new() };
        let error = serde_json::to_value(error).unwrap();
        error["extensions"]["code"].as_str().unwrap().to_owned()
    }

    /// Creates an account with that name, and with that role in all namespaces; returns its key.
    pub(crate) async fn account(&self, name: &str, role: Option<&str>) -> (String, Uuid) {
        let query = "mutation ($name: String!, $role: Role) {
            createServiceAccount(input: { name: $name, role: $role }) { user { id } }
        }";
        let made = self.ask(query, json!({ "name": name, "role": role })).await;
        let id = made["createServiceAccount"]["user"]["id"].as_str().unwrap().to_owned();
        (id.clone(), id.parse().unwrap())
    }

    /// The viewer for the account with that key, in its current state.
    pub(crate) async fn person(&self, id: Uuid) -> Viewer {
        let store = &self.database.store;
        let row = users::by_id(store.read(), id).await.unwrap().unwrap();
        let (clock, elsewhere) = (self.clock.clock(), people::GroupGrantLimits::default());
        people::user_viewer(store, &clock, elsewhere, row, "192.0.2.7".to_owned()).await.unwrap()
    }

    pub(crate) fn subscribe(&self, query: &str, variables: Value) -> BoxStream<'static, Response> {
        self.schema.execute_stream(request(Some(Role::Admin), query, variables))
    }

    /// Creates a schedule that does nothing, and returns its key.
    pub(crate) async fn schedule(&self, name: &str, expression: &str) -> String {
        let input = json!({
            "name": name,
            "timing": { "expressions": [expression] },
            "task": { "target": { "noop": {} } },
        });
        let made = self.ask(CREATE, json!({ "input": input })).await;
        made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned()
    }

    /// Starts a run by hand, and returns its key.
    pub(crate) async fn trigger(&self, schedule: &str) -> String {
        let query = "mutation($id: UUID!) { triggerSchedule(id: $id) { run { id } } }";
        let run = self.ask(query, json!({ "id": schedule })).await;
        run["triggerSchedule"]["run"]["id"].as_str().unwrap().to_owned()
    }
}

/// Creates a schedule.
pub(crate) const CREATE: &str = "mutation($input: CreateScheduleInput!, $key: String) {
    createSchedule(input: $input, idempotencyKey: $key) {
        schedule { id name version state nextFireAt timing { warnings { code } } }
        warnings { code message }
    } }";

pub(crate) fn request(role: Option<Role>, query: &str, variables: Value) -> Request {
    let request = Request::new(query).variables(Variables::from_json(variables));
    match role {
        Some(role) => request.data(viewer(role)),
        None => request,
    }
}
