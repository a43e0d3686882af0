//! Responses of `/graphql`: in the media type that the client accepts, and with `errors` in every
//! refusal, whichever layer refused the request.
//!
//! According to the specification of GraphQL over HTTP, the status of
//! `application/graphql-response+json` says whether the document was executed. `application/json`,
//! which is the default and the choice of old clients, has status 200 for every document that could
//! be parsed.

use async_graphql::{Response as Answer, ServerError, Value};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::refusal::RefusalText;
use crate::api::{self, AnswerPlace};

/// The media types of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Response,
}

impl Media {
    /// The media type that a client prefers, by the weights that it gives.
    pub(super) fn asked(headers: &HeaderMap) -> Self {
        let mut weights = [None::<f32>; 2];
        let accepted =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for range in accepted.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let place = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                "application/json" => 0,
                "application/graphql-response+json" => 1,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
            weights[place] = Some(weight.unwrap_or(1.0_f32));
        }
        match weights {
            [json, Some(response)]
                if response > 0.0 && json.is_none_or(|json| response >= json) =>
            {
                Self::Response
            }
            _ => Self::Json,
        }
    }

    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json; charset=utf-8",
            Self::Response => "application/graphql-response+json; charset=utf-8",
        })
    }
}

/// The response to a document. It holds `place` until the response is written.
pub(super) fn answer(media: Media, answer: &Answer, place: AnswerPlace) -> Response {
    let (status, body) = match api::is_refused(answer) {
        // A document that was not executed has no `data`, not even null.
        true => (status(media, answer), serde_json::to_vec(&json!({ "errors": answer.errors }))),
        // The status must show clients and proxies that the database could not serve the call.
        false if is_unavailable(answer) => {
            (StatusCode::SERVICE_UNAVAILABLE, serde_json::to_vec(answer))
        }
        false => (StatusCode::OK, serde_json::to_vec(answer)),
    };
    let mut response = match body {
        Ok(body) => {
            let body = super::answer_body::body(body, place);
            (status, [(header::CONTENT_TYPE, media.header())], body).into_response()
        }
        Err(error) => return super::refusal::Refusal::internal(&error).into_response(),
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let seconds = HeaderValue::from(api::RETRY_AFTER_SECONDS);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

fn is_unavailable(answer: &Answer) -> bool {
    let code = |error: &ServerError| {
        let code = error.extensions.as_ref().and_then(|extensions| extensions.get("code"));
        code.is_some_and(|code| *code == Value::from(api::UNAVAILABLE))
    };
    answer.errors.iter().any(code)
}

fn status(media: Media, answer: &Answer) -> StatusCode {
    let code =
        answer.errors.iter().find_map(|error| match error.extensions.as_ref()?.get("code") {
            Some(Value::String(code)) => Some(code.as_str()),
            _ => None,
        });
    match (media, code) {
        (_, Some("RATE_LIMITED")) => StatusCode::TOO_MANY_REQUESTS,
        (Media::Json, _) => StatusCode::OK,
        (Media::Response, Some("UNAUTHENTICATED")) => StatusCode::UNAUTHORIZED,
        (Media::Response, Some(api::PASSWORD_CHANGE_REQUIRED)) => StatusCode::FORBIDDEN,
        (Media::Response, Some("INTERNAL")) => StatusCode::INTERNAL_SERVER_ERROR,
        (Media::Response, _) => StatusCode::BAD_REQUEST,
    }
}

/// Converts refusals of earlier layers into the shape of `/graphql`'s responses.
pub(super) async fn with_errors(request: Request, next: Next) -> Response {
    if !is_graphql(request.uri().path()) {
        return next.run(request).await;
    }
    let media = Media::asked(request.headers());
    let mut response = next.run(request).await;
    let Some(RefusalText(message)) = response.extensions_mut().remove::<RefusalText>() else {
        return response;
    };
    let status = response.status();
    let code = code(status);
    let body = json!({ "errors": [{ "message": message, "extensions": { "code": code } }] });
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, media.header());
    Response::from_parts(parts, body.to_string().into())
}

/// Whether a path belongs to GraphQL.
pub(super) fn is_graphql(path: &str) -> bool {
    matches!(path, "/graphql" | "/graphql/ws")
}

/// The error code of a refusal.
pub(super) fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => "FORBIDDEN",
        StatusCode::METHOD_NOT_ALLOWED => "METHOD_NOT_ALLOWED",
        StatusCode::REQUEST_TIMEOUT => "REQUEST_TIMEOUT",
        StatusCode::PAYLOAD_TOO_LARGE => "PAYLOAD_TOO_LARGE",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "UNSUPPORTED_MEDIA_TYPE",
        StatusCode::TOO_MANY_REQUESTS => "RATE_LIMITED",
        StatusCode::SERVICE_UNAVAILABLE => "UNAVAILABLE",
        status if status.is_server_error() => "INTERNAL",
        _ => "BAD_REQUEST",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_is_the_one_that_is_asked_for() {
        for (accept, media) in [
            ("", Media::Json),
            ("*/*", Media::Json),
            ("text/html", Media::Json),
            ("application/json", Media::Json),
            ("application/graphql-response+json", Media::Response),
            ("application/graphql-response+json; charset=utf-8, application/json", Media::Response),
            ("application/json; q=0.9, application/graphql-response+json;q=0.1", Media::Json),
            ("application/graphql-response+json;q=0", Media::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(Media::asked(&headers), media, "{accept}");
        }
        assert_eq!(Media::asked(&HeaderMap::new()), Media::Json);
    }
}
