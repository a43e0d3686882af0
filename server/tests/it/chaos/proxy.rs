use std::time::Duration;

use carillon::clock::Clock;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// A path from a node to its database that the test can break.
pub(super) struct Proxy {
    port: u16,
    way: watch::Sender<Way>,
}

/// What happens to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Bytes arrive.
    Open,
    /// Bytes arrive later.
    Slow(Duration),
    /// Connections are cut, including new ones.
    Cut,
    /// Requests arrive, answers do not. Neither side gets an error, and connections that were open
    /// meanwhile stay dead.
    Deaf,
    /// Nothing arrives. Neither side gets an error, and connections that were open meanwhile stay
    /// dead.
    Dead,
}

impl Proxy {
    /// Creates a path to that port of 127.0.0.1.
    pub(super) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let (way, ways) = watch::channel(Way::Open);
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                tokio::spawn(carry(stream, port, ways.clone()));
            }
        });
        Self { port: own, way }
    }

    /// The port at which this path begins.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the database by this path.
    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub(super) fn becomes(&self, way: Way) {
        self.way.send_replace(way);
    }
}

async fn carry(near: TcpStream, port: u16, mut ways: watch::Receiver<Way>) {
    if *ways.borrow_and_update() == Way::Cut {
        return;
    }
    let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let _ = near.set_nodelay(true);
    let _ = far.set_nodelay(true);
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let (requests, answers) = (ways.clone(), ways);
    tokio::select! {
        () = pump(near_read, far_write, requests, |way| way == Way::Dead) => {}
        () = pump(far_read, near_write, answers, |way| matches!(way, Way::Dead | Way::Deaf)) => {}
    }
}

/// Forwards bytes in one direction until the connection ends or is cut.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut ways: watch::Receiver<Way>,
    swallows: impl Fn(Way) -> bool,
) {
    let clock = Clock::system();
    let mut bytes = vec![0; 64 * 1024];
    let mut is_dead = false;
    loop {
        let way = *ways.borrow_and_update();
        is_dead |= swallows(way);
        if way == Way::Cut {
            return;
        }
        let read = tokio::select! {
            read = from.read(&mut bytes) => read,
            changed = ways.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Ok(read @ 1..) = read else { return };
        let way = *ways.borrow();
        is_dead |= swallows(way);
        if is_dead {
            continue;
        }
        if let Way::Slow(delay) = way {
            clock.sleep(delay).await;
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
