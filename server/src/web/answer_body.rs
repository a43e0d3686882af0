//! The body of a large answer. It counts against the limit on its caller's large answers until it
//! is written.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use crate::api::AnswerPlace;

/// Bytes of one frame. The connection takes a frame only when it has room, so it takes the last one
/// when the client has read nearly everything.
const FRAME: usize = 64 * 1024;

/// A body of these bytes.
pub(super) fn body(bytes: Vec<u8>, place: AnswerPlace) -> Body {
    match place.is_taken() {
        true => Body::new(AnswerBody { rest: bytes.into(), _place: place }),
        false => bytes.into(),
    }
}

struct AnswerBody {
    rest: Bytes,
    _place: AnswerPlace,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let end = self.rest.len().min(FRAME);
        let frame = self.rest.split_to(end);
        Poll::Ready((end > 0).then_some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
