//! Limits on a request, checked before anything else is done with it, and on the size of its answer
//! while it is built.
//!
//! - `text`: length, tokens and brackets, before the parser
//! - `document`: fields, aliases, fragments, computing fields and introspection, before the library;
//!   `copies`: how often large variables are named
//! - `introspection`: the cost of introspection; `heavy`: the fields that compute, and `subjects`:
//!   what they are asked about; `lists`: whether the answer to a mutation reads lists
//! - `budget`: the answer's size; `pace`: a slow answer yields to other tasks; a large answer has a
//!   place among its caller's (see `aside`)
//! - depth and complexity are computed by the library and compared here, so that the refusal names
//!   both numbers

use std::{
    any::TypeId,
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use async_graphql::{
    ErrorExtensionValues, Pos, Positioned, Request, Response, ServerError, ServerResult,
    ValidationResult, Value,
    async_trait::async_trait,
    extensions::{
        Extension, ExtensionContext, ExtensionFactory, NextExecute, NextPrepareRequest,
        NextResolve, NextValidation, ResolveInfo,
    },
    parser::types::{DocumentOperations, OperationDefinition, OperationType},
};

use super::{
    aside::{self, AnswerPlace},
    error::PASSWORD_CHANGE_REQUIRED,
};
use crate::{
    access::{PASSWORD_CHANGE, Viewer},
    clock::Clock,
    commands::Commands,
    config::Introspection,
};

mod budget;
mod copies;
mod document;
mod heavy;
mod introspection;
mod lists;
mod pace;
mod subjects;
mod text;

pub(super) use subjects::Subjects;

/// How deep a request may nest; a client's full introspection needs 13.
const MAX_DEPTH: usize = 16;
/// Maximum cost of a request, with the lengths of lists multiplied.
const MAX_COMPLEXITY: usize = 60_000;
/// A request with a higher cost has a large answer or keeps the event loop busy, so it needs a
/// place.
const LARGE_COMPLEXITY: usize = 10_000;
/// A document larger than this (in bytes) is parsed off the event loop. So is the execution of a
/// request whose variables contain more text than this, because they may contain templates, which
/// take a while to check.
const LARGE: usize = 16 * 1024;

/// Refuses a request that exceeds one of these limits.
pub(super) struct RequestLimits;

impl ExtensionFactory for RequestLimits {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(RequestJudge::default())
    }
}

/// Whether to execute a request off the event loop: it computes, introspects, or is large (itself
/// or its variables). A request over a limit stays on the loop, because it is refused at once.
pub(super) fn is_heavy(request: &mut Request, introspection: Introspection) -> bool {
    let is_stranger = is_stranger(request);
    if text_limits(is_stranger).check(&request.query).is_err() {
        return false;
    }
    if request.query.len() > LARGE || has_long_texts(request.variables.values()) {
        return true;
    }
    let Ok(document) = request.parsed_query() else { return false };
    let amount = document::count(document, is_stranger);
    let may_ask = !is_stranger || introspection == Introspection::Everyone;
    let Ok(amount) = amount else { return false };
    // A mutation answers with a single row, and many mutations share a commit.
    let by_row = if is_mutation(request) { amount.heavy_by_row } else { 0 };
    amount.heavy > by_row || (amount.introspection > 0 && may_ask)
}

/// What the computing fields of a request are asked about. A large document is not read for this,
/// because it is parsed off the event loop.
pub(super) fn subjects(request: &mut Request) -> Subjects {
    if request.query.len() > LARGE {
        return Subjects::unknown();
    }
    let is_stranger = is_stranger(request);
    let variables = mem::take(&mut request.variables);
    let subjects = match request.parsed_query() {
        Ok(document) if document::count(document, is_stranger).is_ok() => {
            Subjects::of(document, &variables)
        }
        Ok(_) | Err(_) => Subjects::unknown(),
    };
    request.variables = variables;
    subjects
}

/// Whether the texts in these values are large in total.
fn has_long_texts<'a>(values: impl Iterator<Item = &'a Value>) -> bool {
    let mut left: Vec<&Value> = values.collect();
    let mut bytes = 0;
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => bytes += text.len(),
            Value::List(values) => left.extend(values),
            Value::Object(fields) => left.extend(fields.values()),
            Value::Null
            | Value::Number(_)
            | Value::Boolean(_)
            | Value::Binary(_)
            | Value::Enum(_) => {}
        }
        if bytes > LARGE {
            return true;
        }
    }
    false
}

/// Whether the operation that a request selects is a subscription. A document that cannot be parsed
/// counts as one, because the execution then reports the error.
pub(super) fn is_subscription(request: &mut Request) -> bool {
    is_of(OperationType::Subscription, request)
}

/// Whether the operation that a request selects is a mutation.
pub(super) fn is_mutation(request: &mut Request) -> bool {
    is_of(OperationType::Mutation, request)
}

fn is_of(kind: OperationType, request: &mut Request) -> bool {
    if text_limits(is_stranger(request)).check(&request.query).is_err() {
        return kind == OperationType::Subscription;
    }
    let name = request.operation_name.clone();
    let Ok(document) = request.parsed_query() else {
        return kind == OperationType::Subscription;
    };
    let is_it = |operation: &Positioned<OperationDefinition>| operation.node.ty == kind;
    match (&document.operations, name) {
        (DocumentOperations::Single(operation), _) => is_it(operation),
        (DocumentOperations::Multiple(operations), Some(name)) => {
            operations.get(name.as_str()).is_some_and(is_it)
        }
        (DocumentOperations::Multiple(operations), None) => operations.values().any(is_it),
    }
}

fn is_stranger(request: &Request) -> bool {
    !request.data.contains_key(&TypeId::of::<Viewer>())
}

fn text_limits(is_stranger: bool) -> text::TextLimits {
    if is_stranger { text::STRANGER } else { text::SIGNED_IN }
}

/// Checks one request, and follows its answer.
#[derive(Default)]
struct RequestJudge {
    is_mutation: AtomicBool,
    /// Whether it is a mutation whose answer reads lists.
    reads_lists: AtomicBool,
    complexity: AtomicUsize,
    budget: budget::AnswerBudget,
    pace: pace::TurnPace,
    place: Mutex<AnswerPlace>,
}

impl RequestJudge {
    fn place(&self) -> AnswerPlace {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the place of the current answer, because a subscription has one for each event.
    fn set_place(&self, place: AnswerPlace) {
        let mut current = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        drop(mem::replace(&mut *current, place));
    }
}

#[async_trait]
impl Extension for RequestJudge {
    async fn prepare_request(
        &self,
        ctx: &ExtensionContext<'_>,
        request: Request,
        next: NextPrepareRequest<'_>,
    ) -> ServerResult<Request> {
        let mut request = next.run(ctx, request).await?;
        let is_stranger = is_stranger(&request);
        text_limits(is_stranger).check(&request.query)?;
        // Parsing borrows the whole request.
        let variables = mem::take(&mut request.variables);
        // The request is parsed only here.
        let document =
            request.parsed_query().map_err(|error| with_code(error, "GRAPHQL_PARSE_FAILED"))?;
        let amount = document::count(document, is_stranger)?;
        copies::check(document, &variables)?;
        request.variables = variables;
        let is_open = ctx.data_opt::<Introspection>() == Some(&Introspection::Everyone);
        if amount.introspection > 0 && is_stranger && !is_open {
            let text = "introspection is for callers who have signed in; sign in, send a token, or \
                        read the published schema (the setting api.introspection opens it)";
            return Err(with_code(ServerError::new(text, None), "UNAUTHENTICATED"));
        }
        let may_act = aside::viewer(&request).is_none_or(|viewer| viewer.may_act().is_ok());
        if amount.introspection > 0 && !may_act && !is_open {
            let refused = ServerError::new(PASSWORD_CHANGE, None);
            return Err(with_code(refused, PASSWORD_CHANGE_REQUIRED));
        }
        if is_mutation(&mut request) {
            self.is_mutation.store(true, Relaxed);
            let reads = lists::are_read(request.parsed_query()?, &ctx.schema_env.registry);
            self.reads_lists.store(reads, Relaxed);
        }
        Ok(request)
    }

    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        let result = next.run(ctx).await?;
        if result.complexity > MAX_COMPLEXITY {
            let text = format!(
                "the request is too complex: it costs {}, lists multiplied out; the limit is \
                 {MAX_COMPLEXITY}; ask for fewer rows or fields at once",
                result.complexity
            );
            return Err(vec![refused(text, MAX_COMPLEXITY)]);
        }
        if result.depth > MAX_DEPTH {
            let text = format!(
                "the request is nested too deep: {} levels; the limit is {MAX_DEPTH}; ask for less \
                 at once",
                result.depth
            );
            return Err(vec![refused(text, MAX_DEPTH)]);
        }
        self.complexity.store(result.complexity, Relaxed);
        Ok(result)
    }

    async fn execute(
        &self,
        ctx: &ExtensionContext<'_>,
        operation_name: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        // This comes before the execution: a mutation that times out here has changed nothing.
        let _lists = match self.reads_lists.load(Relaxed) {
            true => match aside::place_of_lists(ctx).await {
                Ok(place) => place,
                Err(error) => return Response::from_errors(vec![error]),
            },
            false => None,
        };
        self.budget.restart();
        let place = ctx.data_opt::<AnswerPlace>().cloned().unwrap_or_default();
        self.set_place(place.clone());
        if self.complexity.load(Relaxed) > LARGE_COMPLEXITY
            && let Err(error) = place.take(ctx).await
        {
            return Response::from_errors(vec![error]);
        }
        let response = self.pace.follow(clock(ctx), next.run(ctx, operation_name)).await;
        self.set_place(AnswerPlace::default());
        response
    }

    async fn resolve(
        &self,
        ctx: &ExtensionContext<'_>,
        info: ResolveInfo<'_>,
        next: NextResolve<'_>,
    ) -> ServerResult<Option<Value>> {
        let is_stranger = ctx.data_opt::<Viewer>().is_none();
        // Introspection is executed off the event loop, and needs the least memory if it is not
        // interrupted.
        if !info.is_for_introspection {
            self.pace.rest(clock(ctx)).await;
        }
        self.budget.open(&info, is_stranger)?;
        if self.budget.is_large() {
            let taken = self.place().take(ctx).await;
            // A refusal would hide that the mutation was carried out, so its answer is built
            // without a place.
            if !self.is_mutation.load(Relaxed) {
                taken?;
            }
        }
        let followed = ResolveInfo { ..info };
        let value = next.run(ctx, info).await?;
        self.budget.close(&followed, value.as_ref(), is_stranger)?;
        Ok(value)
    }
}

/// None if the schema is only exported as text.
fn clock<'a>(ctx: &'a ExtensionContext<'_>) -> Option<&'a Clock> {
    ctx.data_opt::<Commands>().map(|commands| &commands.clock)
}

/// The refusal of a document that exceeds a limit.
fn refused(text: String, limit: impl TryInto<i64>) -> ServerError {
    coded("GRAPHQL_VALIDATION_FAILED", text, limit)
}

fn refused_at(text: String, limit: usize, at: Pos) -> ServerError {
    ServerError { locations: vec![at], ..refused(text, limit) }
}

/// The refusal of a text that is not a document.
fn unparsed(text: String) -> ServerError {
    with_code(ServerError::new(text, None), "GRAPHQL_PARSE_FAILED")
}

fn coded(code: &str, text: String, limit: impl TryInto<i64>) -> ServerError {
    let mut error = with_code(ServerError::new(text, None), code);
    let extensions = error.extensions.get_or_insert_default();
    extensions.set("limit", limit.try_into().unwrap_or(i64::MAX));
    error
}

pub(super) fn with_code(mut error: ServerError, code: &str) -> ServerError {
    error.extensions.get_or_insert_with(ErrorExtensionValues::default).set("code", code);
    error
}

#[cfg(test)]
mod tests {
    use async_graphql::value;

    use super::*;

    #[test]
    fn long_texts_are_found_wherever_they_are() {
        let long = "{{ 1 }}".repeat(LARGE / 7 + 1);
        let input = value!({ "tasks": [{ "body": long.clone() }], "name": "a" });
        assert!(has_long_texts([&input].into_iter()));
        let halves = value!([&long[..LARGE / 2], &long[..LARGE / 2], "x"]);
        assert!(has_long_texts([&halves].into_iter()));
        assert!(!has_long_texts([&value!([&long[..LARGE], 7, null])].into_iter()));
    }
}
