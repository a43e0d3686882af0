use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::{
    inbound::Inbound,
    places::{ConnectionPlace, KeptPlace},
};
use crate::clock::Clock;

/// The place that a connection holds while it is open.
#[derive(Debug)]
pub(super) enum ConnectionHold {
    /// An ordinary place.
    Place {
        /// Released together with the connection.
        _place: ConnectionPlace,
    },
    /// A place reserved for probes.
    Kept {
        /// Shared with the handler that answers on this connection.
        _place: Arc<KeptPlace>,
    },
}

/// A connection that breaks off if its client does not read for too long, because it would
/// otherwise hold its place and its response indefinitely. It also breaks off if its client sends
/// more than is allowed.
pub(super) struct ClientStream {
    stream: TcpStream,
    patience: Duration,
    clock: Clock,
    /// Set while the connection waits for its client; completes when the wait has been long enough.
    waiting: Option<BoxFuture<'static, ()>>,
    /// The bytes that the client may still send.
    inbound: Inbound,
    /// The place. A WebSocket takes over the stream, and the place with it.
    _hold: ConnectionHold,
}

impl ClientStream {
    pub(super) fn new(
        stream: TcpStream,
        patience: Duration,
        clock: Clock,
        inbound: Inbound,
        hold: ConnectionHold,
    ) -> Self {
        Self { stream, patience, clock, waiting: None, inbound, _hold: hold }
    }

    fn in_time<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let (clock, patience) = (&self.clock, self.patience);
        let waiting = self.waiting.get_or_insert_with(|| {
            let clock = clock.clone();
            Box::pin(async move { clock.sleep(patience).await })
        });
        let text = "the client reads nothing of what it is sent";
        waiting.as_mut().poll(cx).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Err(error) = self.inbound.check() {
            return Poll::Ready(Err(error));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.inbound.spend((buffer.filled().len() - before) as u64);
        read
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.in_time(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.in_time(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
