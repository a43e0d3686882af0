//! The bodies of requests. Each is read completely before anything else is done, within limits of
//! size and time. A request that announces a larger body is refused before its first byte, and an
//! unauthenticated caller cannot fill the memory with sizes that only signed-in callers may send.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;

use super::{auth::Asking, refusal::Refusal};
use crate::clock::Clock;

/// How many bytes beyond the limit are read and discarded: a client that is cut off while it sends
/// may not be able to read the refusal.
const THROWN_AWAY: usize = 16 * 1024 * 1024;

/// Limits of a body.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    /// Maximum size for known callers.
    pub(super) most: usize,
    /// Maximum size for all others.
    pub(super) most_of_strangers: usize,
    /// Maximum time from the first byte to the last.
    pub(super) patience: Duration,
    pub(super) clock: Clock,
}

/// Why the body could not be read.
enum Unread {
    TooLarge,
    TooSlow,
    Broken,
}

/// Reads the body within its limits, and passes the request on with the complete body.
pub(super) async fn read(State(bodies): State<Bodies>, request: Request, next: Next) -> Response {
    let asking = request.extensions().get::<Asking>();
    let is_known = asking.is_some_and(|asking| asking.viewer.is_some());
    let most = if is_known { bodies.most } else { bodies.most_of_strangers };
    let (head, body) = request.into_parts();
    let whole = match is_hopeless(&head.headers, most) {
        true => Err(Unread::TooLarge),
        false => {
            let whole = bodies.clock.timeout(bodies.patience, whole(body, most)).await;
            whole.unwrap_or(Err(Unread::TooSlow))
        }
    };
    match whole {
        Ok(whole) => next.run(Request::from_parts(head, Body::from(whole))).await,
        Err(why) => bodies.refusal(&why, is_known).into_response(),
    }
}

/// Whether the head announces a body that should not be read at all: it is larger than the part
/// that would be discarded, or the client waits for `100 Continue` before it sends.
fn is_hopeless(headers: &HeaderMap, most: usize) -> bool {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
    let most = if headers.contains_key(header::EXPECT) { most } else { most + THROWN_AWAY };
    announced.is_some_and(|bytes| bytes > most as u64)
}

async fn whole(body: Body, most: usize) -> Result<Vec<u8>, Unread> {
    let mut pieces = body.into_data_stream();
    let (mut whole, mut length) = (Vec::new(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::Broken)?;
        length += piece.len();
        if length > most + THROWN_AWAY {
            break;
        } else if length > most {
            whole = Vec::new();
        } else {
            whole.extend_from_slice(&piece);
        }
    }
    if length > most { Err(Unread::TooLarge) } else { Ok(whole) }
}

impl Bodies {
    fn refusal(&self, why: &Unread, is_known: bool) -> Refusal {
        let Self { most, most_of_strangers, patience, .. } = self;
        match why {
            Unread::TooLarge if is_known || most == most_of_strangers => {
                let text = format!("a body of more than {most} bytes is not accepted; send less");
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            Unread::TooLarge => Refusal::unauthenticated(&format!(
                "without a session or a token a body of more than {most_of_strangers} bytes is not \
                 accepted; sign in, or send a token"
            )),
            Unread::TooSlow => {
                let seconds = patience.as_secs();
                let text =
                    format!("the body did not arrive within {seconds} seconds; send it faster");
                Refusal::new(StatusCode::REQUEST_TIMEOUT, text)
            }
            Unread::Broken => {
                let text = "the body was cut off, or is not framed as HTTP requires";
                Refusal::new(StatusCode::BAD_REQUEST, text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use axum::{
        Router,
        body::{Bytes, to_bytes},
        extract::Extension,
        middleware,
        routing::post,
    };
    use chrono::DateTime;
    use entity::user::Role;
    use futures::stream;
    use tower::Service;
    use uuid::Uuid;

    use super::*;
    use crate::{
        access::{Grants, Viewer, ViewerKind},
        clock::ManualClock,
        web::auth::Credential,
    };

    fn bodies(clock: &ManualClock) -> Bodies {
        let patience = Duration::from_secs(30);
        Bodies { most: 100, most_of_strangers: 10, patience, clock: clock.clock() }
    }

    async fn ask(bodies: Bodies, is_known: bool, request: Request) -> (StatusCode, String) {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let grants = Grants::everywhere(Role::Viewer);
        let viewer = Viewer::new(Uuid::nil(), "ada", ViewerKind::User, grants, "here");
        let viewer = is_known.then_some(viewer);
        let asking = Asking { viewer, credential: Credential::None, address };
        let mut router = Router::new()
            .route("/", post(async |body: Bytes| body))
            .layer(middleware::from_fn_with_state(bodies, read))
            .layer(Extension(asking));
        let answer = router.call(request).await.unwrap();
        let status = answer.status();
        let text = to_bytes(answer.into_body(), 10_000).await.unwrap();
        (status, String::from_utf8(text.to_vec()).unwrap())
    }

    fn request(body: Body) -> Request {
        Request::post("/").body(body).unwrap()
    }

    #[tokio::test]
    async fn who_is_known_may_send_more() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        for (is_known, length, status) in [
            (true, 100, StatusCode::OK),
            (true, 101, StatusCode::PAYLOAD_TOO_LARGE),
            (false, 10, StatusCode::OK),
            (false, 11, StatusCode::UNAUTHORIZED),
        ] {
            let body = "x".repeat(length);
            let at_once = ask(bodies(&clock), is_known, request(body.clone().into())).await;
            assert_eq!(at_once.0, status, "{length}: {at_once:?}");
            let pieces = body.into_bytes().into_iter().map(|byte| Ok::<_, axum::Error>([byte]));
            let pieces = stream::iter(pieces).map(|piece| piece.map(|byte| byte.to_vec()));
            let streamed = ask(bodies(&clock), is_known, request(Body::from_stream(pieces))).await;
            assert_eq!(streamed, at_once, "{length}");
        }
    }

    #[tokio::test]
    async fn an_announced_gigabyte_is_refused_before_a_byte_of_it_is_read() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        // Reading this body never ends.
        let never = Body::from_stream(stream::pending::<Result<Vec<u8>, axum::Error>>());
        let mut huge = request(never);
        huge.headers_mut().insert(header::CONTENT_LENGTH, (1_u64 << 30).into());
        assert_eq!(ask(bodies(&clock), true, huge).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_body_that_trickles_in_is_waited_for_only_so_long() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let trickling = clock.clone();
        // One byte per second, forever.
        let bytes = stream::repeat_with(move || {
            trickling.pass(Duration::from_secs(1));
            Ok::<_, axum::Error>(vec![b'x'])
        });
        let mut limits = bodies(&clock);
        limits.most = 1_000;
        // Each byte is polled separately, as from a network.
        let bytes = bytes.then(async |byte| {
            tokio::task::yield_now().await;
            byte
        });
        let (status, text) = ask(limits, true, request(Body::from_stream(bytes))).await;
        assert_eq!(status, StatusCode::REQUEST_TIMEOUT, "{text}");
        assert!(text.contains("30 seconds"), "{text}");
    }
}
