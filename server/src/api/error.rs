//! How a refusal looks outside: `extensions.code`, what a form needs to mark the field, and
//! nothing of the inside.

use std::sync::Arc;

use async_graphql::{
    Response, ServerError,
    async_trait::async_trait,
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextRequest, NextSubscribe},
};
use entity::user::Role;
use futures::{StreamExt, stream::BoxStream};
use sea_orm::ActiveEnum;
use uuid::Uuid;

use crate::{
    engine::commands::{BadInput, CommandError},
    store::StoreError,
};

/// What resolvers give back. It has no `Display` on purpose: only the conversion below turns it
/// into an answer, and that sets the code.
pub(crate) struct ApiError(Refusal);

enum Refusal {
    Command(CommandError),
    /// From a loader, which hands one error to many.
    Loading(Arc<StoreError>),
}

/// What a resolver gives back.
pub(crate) type Result<T> = std::result::Result<T, ApiError>;

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        Self(Refusal::Command(error))
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
        Self(Refusal::Loading(error))
    }
}

impl From<ApiError> for async_graphql::Error {
    fn from(error: ApiError) -> Self {
        match error.0 {
            Refusal::Command(error) => answer(error),
            Refusal::Loading(error) => internal(&*error),
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
        CommandError::Forbidden { needs, has, .. } => coded("FORBIDDEN", message, |set| {
            let word = |role: Role| role.to_value().to_uppercase();
            set("needs", word(needs).into());
            set("has", has.map(word).into());
        }),
        CommandError::Denied { help, .. } => {
            coded("FORBIDDEN", message, |set| set("help", help.into()))
        }
        CommandError::TooOften(seconds) => {
            coded("RATE_LIMITED", message, |set| set("retryAfterSeconds", seconds.into()))
        }
        error @ (CommandError::Unreadable { .. }
        | CommandError::Store(_)
        | CommandError::Engine(_)) => internal(&error),
    }
}

/// Logged here, once, under a number that the caller is told; the cause stays here.
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

/// Gives what the library itself refuses (a request that does not parse, a field that does not
/// exist, a value of the wrong type, too deep a query) the code that it has by nature.
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
}

/// So much is told of what the library refuses: it repeats the line that it could not read.
const TOLD: usize = 300;

/// The begin and the end of a message: where it went wrong, and what was expected.
fn cut(message: &str) -> Option<String> {
    let end = message.char_indices().nth(TOLD * 2 / 3)?.0;
    let begin = message.char_indices().nth_back(TOLD / 3 - 1)?.0;
    let (head, tail) = (message.get(..end)?, message.get(begin..)?);
    (end < begin).then(|| format!("{head} ... {tail}"))
}

fn complete(error: &mut ServerError) {
    let extensions = error.extensions.get_or_insert_default();
    if extensions.get("code").is_none() {
        extensions.set("code", "BAD_USER_INPUT");
        if let Some(short) = cut(&error.message) {
            error.message = short;
        }
    }
}
