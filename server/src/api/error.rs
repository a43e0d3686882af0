//! How refusals appear to callers: with `extensions.code` and the details that a form needs to mark
//! the field, but without internals.

use std::sync::Arc;

use async_graphql::{
    Pos, Response, ServerError, ServerResult, ValidationResult, Variables,
    async_trait::async_trait,
    extensions::{
        Extension, ExtensionContext, ExtensionFactory, NextParseQuery, NextRequest, NextSubscribe,
        NextValidation,
    },
    parser::types::ExecutableDocument,
};
use entity::user::Role;
use futures::{StreamExt, stream::BoxStream};
use sea_orm::ActiveEnum;
use uuid::Uuid;

use super::values::{self, field_of};
use crate::{
    access::AccessRefusal,
    commands::{BadInput, CommandError, QUOTA_HELP},
    store::StoreError,
};

/// The error type of resolvers. It has no `Display` on purpose: only the conversion below turns it
/// into a response, and that sets the code.
pub(crate) struct ApiError(ErrorSource);

enum ErrorSource {
    Command(CommandError),
    /// From a loader, which returns one error to many callers.
    Loading(Arc<StoreError>),
}

/// The result of a resolver.
pub(crate) type Result<T> = std::result::Result<T, ApiError>;

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        Self(ErrorSource::Command(error))
    }
}

impl From<AccessRefusal> for ApiError {
    fn from(refused: AccessRefusal) -> Self {
        CommandError::from(refused).into()
    }
}

impl From<BadInput> for ApiError {
    fn from(error: BadInput) -> Self {
        CommandError::from(error).into()
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        CommandError::from(error).into()
    }
}

impl From<Arc<StoreError>> for ApiError {
    fn from(error: Arc<StoreError>) -> Self {
        Self(ErrorSource::Loading(error))
    }
}

impl From<ApiError> for async_graphql::Error {
    fn from(error: ApiError) -> Self {
        match error.0 {
            ErrorSource::Command(error) => match error.unavailable() {
                Some(why) => unavailable(why, &error),
                None => answer(error),
            },
            ErrorSource::Loading(error) => match error.unavailable() {
                Some(why) => unavailable(why, &*error),
                None => internal(&*error),
            },
        }
    }
}

fn answer(error: CommandError) -> async_graphql::Error {
    let message = error.to_string();
    match error {
        CommandError::BadInput(bad) => coded("BAD_USER_INPUT", message, |set| {
            set("field", bad.field.into());
            set("value", bad.value.into());
            set("problem", bad.problem.into());
            set("help", bad.help.into());
            if let Some(position) = bad.position {
                set("start", position.start.into());
                set("end", position.end.into());
            }
        }),
        CommandError::NotFound { what, which } => coded("NOT_FOUND", message, |set| {
            set("what", what.into());
            set("which", which.into());
        }),
        CommandError::Conflict { help, versions, .. } => coded("CONFLICT", message, |set| {
            set("help", help.into());
            if let Some((expected, there)) = versions {
                set("expectedVersion", expected.into());
                set("currentVersion", there.into());
            }
        }),
        CommandError::Unauthenticated => coded("UNAUTHENTICATED", message, |_| {}),
        CommandError::PasswordChangeRequired => coded(PASSWORD_CHANGE_REQUIRED, message, |_| {}),
        CommandError::Forbidden { needs, has, .. } => coded("FORBIDDEN", message, |set| {
            let word = |role: Role| role.to_value().to_uppercase();
            set("needs", word(needs).into());
            set("has", has.map(word).into());
        }),
        CommandError::OtherQueue { name } => coded("FORBIDDEN", message, |set| {
            set("queue", name.into());
        }),
        CommandError::Denied { help, .. } => {
            coded("FORBIDDEN", message, |set| set("help", help.into()))
        }
        CommandError::Quota { quota, limit, used, asked } => {
            coded("QUOTA_EXCEEDED", message, |set| {
                set("quota", quota.into());
                set("limit", limit.into());
                set("used", used.into());
                set("asked", asked.into());
                set("help", QUOTA_HELP.into());
            })
        }
        CommandError::TooOften(seconds) => {
            coded("RATE_LIMITED", message, |set| set("retryAfterSeconds", seconds.into()))
        }
        CommandError::Busy => {
            coded("RATE_LIMITED", message, |set| set("retryAfterSeconds", 1_u64.into()))
        }
        error @ (CommandError::Unreadable { .. }
        | CommandError::Store(_)
        | CommandError::Engine(_)) => internal(&error),
    }
}

/// The code of a call in a session that was opened with a one-time password.
pub(crate) const PASSWORD_CHANGE_REQUIRED: &str = "PASSWORD_CHANGE_REQUIRED";

/// The error for an invalid value, at its position in the document.
pub(super) fn refused_value(bad: BadInput, at: Pos) -> ServerError {
    answer(bad.into()).into_server_error(at)
}

/// The code of a call that the database cannot serve now.
pub(crate) const UNAVAILABLE: &str = "UNAVAILABLE";

/// After how many seconds such a call may be retried.
pub(crate) const RETRY_AFTER_SECONDS: u64 = 2;

/// Logged at debug level, because the services already report that the database is unreachable.
fn unavailable(why: &'static str, error: &dyn std::error::Error) -> async_graphql::Error {
    tracing::debug!(%error, "the database could not serve a call");
    coded(UNAVAILABLE, why.to_owned(), |set| set("retryAfterSeconds", RETRY_AFTER_SECONDS.into()))
}

/// Logs the cause once, under an id that the caller receives; the caller does not see the cause
/// itself.
fn internal(error: &dyn std::error::Error) -> async_graphql::Error {
    let id = Uuid::now_v7().simple().to_string();
    tracing::error!(error_id = %id, error = %error, "failed to answer a request");
    let message = format!("something went wrong here; the server's log has it under {id}");
    coded("INTERNAL", message, |set| set("id", id.into()))
}

fn coded(
    code: &str,
    message: String,
    more: impl FnOnce(&mut dyn FnMut(&str, async_graphql::Value)),
) -> async_graphql::Error {
    let mut error = async_graphql::Error::new(message);
    let extensions = error.extensions.get_or_insert_default();
    extensions.set("code", code);
    more(&mut |name, value| extensions.set(name, value));
    error
}

/// Gives errors of the library itself (a request that does not parse, a field that does not exist,
/// a value of the wrong type, a query that nests too deep) the appropriate code.
pub(super) struct Codes;

impl ExtensionFactory for Codes {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Codes)
    }
}

#[async_trait]
impl Extension for Codes {
    async fn request(&self, ctx: &ExtensionContext<'_>, next: NextRequest<'_>) -> Response {
        let mut response = next.run(ctx).await;
        response.errors.iter_mut().for_each(complete);
        response
    }

    fn subscribe<'s>(
        &self,
        ctx: &ExtensionContext<'_>,
        stream: BoxStream<'s, Response>,
        next: NextSubscribe<'_>,
    ) -> BoxStream<'s, Response> {
        let completed = |mut response: Response| {
            response.errors.iter_mut().for_each(complete);
            response
        };
        next.run(ctx, stream).map(completed).boxed()
    }

    /// Checks what the parser does not: fragments that spread themselves, directives, and values.
    async fn parse_query(
        &self,
        ctx: &ExtensionContext<'_>,
        query: &str,
        variables: &Variables,
        next: NextParseQuery<'_>,
    ) -> ServerResult<ExecutableDocument> {
        let document = next.run(ctx, query, variables).await.map_err(invalid)?;
        values::check(&ctx.schema_env.registry, &document, variables)?;
        Ok(document)
    }

    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> std::result::Result<ValidationResult, Vec<ServerError>> {
        let told = |errors: Vec<ServerError>| {
            errors.into_iter().take(MAX_ERRORS).map(invalid).collect::<Vec<_>>()
        };
        next.run(ctx).await.map_err(told)
    }
}

/// Maximum number of errors reported for one document.
const MAX_ERRORS: usize = 20;
/// Maximum number of characters of a library error, which repeats the line that it could not read.
const MAX_CHARACTERS: usize = 300;

/// The beginning and the end of a message: they say where it went wrong, and what was expected.
fn cut(message: &str) -> Option<String> {
    let end = message.char_indices().nth(MAX_CHARACTERS * 2 / 3)?.0;
    let begin = message.char_indices().nth_back(MAX_CHARACTERS / 3 - 1)?.0;
    let (head, tail) = (message.get(..end)?, message.get(begin..)?);
    (end < begin).then(|| format!("{head} ... {tail}"))
}

/// The error of a document that does not fit the schema, or of an invalid value in it.
fn invalid(mut error: ServerError) -> ServerError {
    if is_coded(&error) {
        return error;
    }
    let extensions = error.extensions.get_or_insert_default();
    match error.message.strip_prefix("Invalid value for argument \"") {
        Some(rest) => {
            extensions.set("code", "BAD_USER_INPUT");
            if let Some((path, rest)) = rest.split_once('"') {
                let mut field = field_of(path);
                // A missing or unknown field is inside the object to which the path leads.
                let inner = rest.strip_prefix(", ").unwrap_or(rest);
                let inner = inner.strip_prefix("unknown ").unwrap_or(inner);
                let inner = inner.strip_prefix("field \"").and_then(|rest| rest.split_once('"'));
                match inner {
                    Some((name, _)) if field == "input" => field = name.to_owned(),
                    Some((name, _)) => field = format!("{field}.{name}"),
                    None => {}
                }
                extensions.set("field", field);
            }
        }
        None => extensions.set("code", "GRAPHQL_VALIDATION_FAILED"),
    }
    shorten(error)
}

fn complete(error: &mut ServerError) {
    if !is_coded(error) || matches!(code(error), Some("GRAPHQL_PARSE_FAILED")) {
        let coded = with_default_code(std::mem::replace(error, ServerError::new("", None)));
        *error = shorten(coded);
    }
}

fn with_default_code(mut error: ServerError) -> ServerError {
    if !is_coded(&error) {
        error.extensions.get_or_insert_default().set("code", "BAD_USER_INPUT");
    }
    error
}

fn is_coded(error: &ServerError) -> bool {
    code(error).is_some()
}

fn code(error: &ServerError) -> Option<&str> {
    let code = error.extensions.as_ref()?.get("code")?;
    if let async_graphql::Value::String(code) = code { Some(code) } else { None }
}

fn shorten(mut error: ServerError) -> ServerError {
    if let Some(short) = cut(&error.message) {
        error.message = short;
    }
    error
}
