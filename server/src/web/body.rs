//! The bodies of requests. Each is read completely before anything else is done, within limits of
//! size and time. A request that announces a larger body is refused before its first byte, and an
//! unauthenticated caller cannot fill the memory with sizes that only signed-in callers may send.
//! Signed-in callers may have only a few large bodies in memory at once: otherwise one of them could
//! fill it with many connections that each hold back their last byte.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use uuid::Uuid;

use super::{auth::Requester, refusal::Refusal};
use crate::{
    bulkhead::{Bulkhead, BulkheadPlace},
    clock::Clock,
};

/// How many bytes beyond the limit are read and discarded: a client that is cut off while it sends
/// may not be able to read the refusal.
const THROWN_AWAY: usize = 16 * 1024 * 1024;

/// A body with more bytes is large and needs a place.
const LARGE: usize = 32 * 1024;
/// The largest number of large bodies in memory at once: of all callers, and of one.
const MAX_LARGE: usize = 16;
const MAX_LARGE_OF_CALLER: usize = 4;
/// How long a large body waits for a place. Meanwhile it is not read on.
const WAIT: Duration = Duration::from_secs(10);

/// The places for large bodies, by caller.
pub(super) type LargeBodies = Arc<Bulkhead<Uuid>>;

/// The places for the large bodies of all routes.
pub(super) fn large_bodies() -> LargeBodies {
    Arc::new(Bulkhead::new(MAX_LARGE, MAX_LARGE_OF_CALLER))
}

/// The place of a request's body, if the body is large. It is released with the response at the
/// latest. A handler that has dropped the body and waits for something releases it before.
#[derive(Clone, Debug)]
pub(super) struct BodyPlace(Arc<Mutex<Option<BulkheadPlace>>>);

impl BodyPlace {
    fn new(place: Option<BulkheadPlace>) -> Self {
        Self(Arc::new(Mutex::new(place)))
    }

    /// Makes room for another large body.
    pub(super) fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Limits of a body.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    /// Maximum size for known callers.
    pub(super) max: usize,
    /// Maximum size for all others.
    pub(super) max_of_strangers: usize,
    /// Maximum time from the first byte to the last.
    pub(super) patience: Duration,
    pub(super) clock: Clock,
    pub(super) large: LargeBodies,
}

/// Why the body could not be read.
enum Unread {
    TooLarge,
    TooSlow,
    TooMany,
    Broken,
}

/// Reads the body within its limits, and passes the request on with the complete body.
pub(super) async fn read(State(bodies): State<Bodies>, request: Request, next: Next) -> Response {
    let asking = request.extensions().get::<Requester>();
    let is_known = asking.is_some_and(|asking| asking.viewer.is_some());
    let max = if is_known { bodies.max } else { bodies.max_of_strangers };
    let caller = asking.map_or(Uuid::nil(), Requester::caller);
    let (mut head, body) = request.into_parts();
    let whole = match is_hopeless(&head.headers, max) {
        true => Err(Unread::TooLarge),
        false => {
            let whole = bodies.whole(body, max, caller);
            let whole = bodies.clock.timeout(bodies.patience, whole).await;
            whole.unwrap_or(Err(Unread::TooSlow))
        }
    };
    match whole {
        Ok((whole, place)) => {
            let place = BodyPlace::new(place);
            head.extensions.insert(place.clone());
            let response = next.run(Request::from_parts(head, Body::from(whole))).await;
            // What is made of the body takes memory as well.
            place.release();
            response
        }
        Err(why) => bodies.refusal(&why, is_known).into_response(),
    }
}

/// Whether the head announces a body that should not be read at all: it is larger than the part
/// that would be discarded, or the client waits for `100 Continue` before it sends.
fn is_hopeless(headers: &HeaderMap, max: usize) -> bool {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
    let max = if headers.contains_key(header::EXPECT) { max } else { max + THROWN_AWAY };
    announced.is_some_and(|bytes| bytes > max as u64)
}

impl Bodies {
    /// Reads a body of at most `max` bytes. A large one has a place; nothing of it is read before if
    /// the head announces its length. What is refused is read to its end and discarded, so that the
    /// client can read the refusal.
    async fn whole(
        &self,
        body: Body,
        max: usize,
        caller: Uuid,
    ) -> Result<(Vec<u8>, Option<BulkheadPlace>), Unread> {
        let needs_place = |bytes| LARGE < bytes && bytes <= max;
        let announced = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let mut pieces = body.into_data_stream();
        let (mut whole, mut length) = (Vec::new(), 0);
        let (mut place, mut is_full) = (None, false);
        if let Some(bytes) = announced.filter(|bytes| needs_place(*bytes)) {
            place = self.large.enter_within(caller, &self.clock, WAIT).await;
            is_full = place.is_none();
            // A vector that grows is copied each time, and may end up twice as large.
            whole.reserve_exact(if is_full { 0 } else { bytes });
        }
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|_| Unread::Broken)?;
            length += piece.len();
            if length > max + THROWN_AWAY {
                break;
            }
            if needs_place(length) && place.is_none() && !is_full {
                place = self.large.enter_within(caller, &self.clock, WAIT).await;
                is_full = place.is_none();
            }
            if length > max || is_full {
                (whole, place) = (Vec::new(), None);
                continue;
            }
            whole.extend_from_slice(&piece);
        }
        if length > max {
            Err(Unread::TooLarge)
        } else if is_full {
            Err(Unread::TooMany)
        } else {
            Ok((whole, place))
        }
    }

    fn refusal(&self, why: &Unread, is_known: bool) -> Refusal {
        let Self { max, max_of_strangers, patience, .. } = self;
        match why {
            Unread::TooLarge if is_known || max == max_of_strangers => {
                let text = format!("a body of more than {max} bytes is not accepted; send less");
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            Unread::TooLarge => Refusal::unauthenticated(&format!(
                "without a session or a token a body of more than {max_of_strangers} bytes is not \
                 accepted; sign in, or send a token"
            )),
            Unread::TooSlow => {
                let seconds = patience.as_secs();
                let text =
                    format!("the body did not arrive within {seconds} seconds; send it faster");
                Refusal::new(StatusCode::REQUEST_TIMEOUT, text)
            }
            Unread::TooMany => {
                let text = format!(
                    "you have {MAX_LARGE_OF_CALLER} requests with more than {LARGE} bytes in \
                     progress, or all callers together have {MAX_LARGE}; send them one after the \
                     other"
                );
                Refusal::too_many(text, 1)
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
    use std::{
        net::{IpAddr, Ipv4Addr},
        pin::pin,
    };

    use axum::{
        Router,
        body::{Bytes, to_bytes},
        extract::Extension,
        middleware,
        routing::post,
    };
    use chrono::DateTime;
    use entity::user::Role;
    use futures::{FutureExt, stream};
    use tokio::sync::Notify;
    use tower::Service;

    use super::*;
    use crate::{
        access::{Grants, Viewer, ViewerKind},
        clock::ManualClock,
        web::auth::Credential,
    };

    fn bodies(clock: &ManualClock) -> Bodies {
        let (patience, clock) = (Duration::from_secs(30), clock.clock());
        Bodies { max: 100, max_of_strangers: 10, patience, clock, large: large_bodies() }
    }

    fn asking(is_known: bool) -> Requester {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let grants = Grants::everywhere(Role::Viewer);
        let viewer = Viewer::new(Uuid::nil(), "ada", ViewerKind::User, grants, "here");
        let viewer = is_known.then_some(viewer);
        Requester { viewer, credential: Credential::None, address }
    }

    async fn ask(bodies: Bodies, is_known: bool, request: Request) -> (StatusCode, String) {
        let mut router = Router::new()
            .route("/", post(async |body: Bytes| body))
            .layer(middleware::from_fn_with_state(bodies, read))
            .layer(Extension(asking(is_known)));
        let answer = router.call(request).await.unwrap();
        let status = answer.status();
        let text = to_bytes(answer.into_body(), 1_000_000).await.unwrap();
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
    async fn a_caller_has_few_large_bodies_in_memory() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let limits = Bodies { max: 2 * LARGE, ..bodies(&clock) };
        let held: Vec<_> =
            (0..MAX_LARGE_OF_CALLER).map(|_| limits.large.try_enter(Uuid::nil())).collect();
        assert!(held.iter().all(Option::is_some));
        let large = || request(Body::from("x".repeat(LARGE + 1)));
        let mut waits = pin!(ask(limits.clone(), true, large()));
        assert!(waits.as_mut().now_or_never().is_none(), "it waits for a place");
        let chunks = ["x".repeat(LARGE), "x".to_owned()].map(Ok::<_, axum::Error>);
        let unannounced = request(Body::from_stream(stream::iter(chunks)));
        let mut waits_too = pin!(ask(limits.clone(), true, unannounced));
        assert!(waits_too.as_mut().now_or_never().is_none(), "a body in chunks waits as well");
        let small = request(Body::from("x".repeat(LARGE)));
        assert_eq!(ask(limits.clone(), true, small).await.0, StatusCode::OK);
        clock.pass(WAIT);
        let (status, text) = waits.await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{text}");
        assert_eq!(waits_too.await.0, StatusCode::TOO_MANY_REQUESTS);
        drop(held);
        assert_eq!(ask(limits.clone(), true, large()).await.0, StatusCode::OK);
        // Its place is free again.
        assert_eq!(ask(limits, true, large()).await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn a_handler_that_waits_can_release_the_place_of_its_body() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let limits = Bodies { max: 2 * LARGE, ..bodies(&clock) };
        let large = limits.large.clone();
        let reached = Arc::new(Notify::new());
        let told = reached.clone();
        let waits = move |Extension(place): Extension<BodyPlace>, body: Bytes| async move {
            drop(body);
            place.release();
            told.notify_one();
            std::future::pending::<()>().await;
        };
        let mut router: Router = Router::new()
            .route("/", post(waits))
            .layer(middleware::from_fn_with_state(limits, read))
            .layer(Extension(asking(true)));
        let mut waiting = pin!(router.call(request(Body::from("x".repeat(LARGE + 1)))));
        tokio::select! {
            _ = waiting.as_mut() => panic!("the handler waits"),
            () = reached.notified() => {}
        }
        let free: Vec<_> = (0..MAX_LARGE_OF_CALLER).map(|_| large.try_enter(Uuid::nil())).collect();
        assert!(free.iter().all(Option::is_some));
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
        limits.max = 1_000;
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
