use std::time::Duration;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{each_runs, settled_since};
use crate::{
    engine::world::{World, noop},
    support::{Replicas, TestDatabase},
};

/// A path to a server that can fall silent: open connections then receive nothing more, not even
/// their end. New connections work.
struct Way {
    port: u16,
    silence: watch::Sender<()>,
}

impl Way {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (silence, falls) = watch::channel(());
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut falls = falls.clone();
                falls.mark_unchanged();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        // After that, both ends stay open and nothing is forwarded.
                        _ = falls.changed() => std::future::pending().await,
                    }
                });
            }
        });
        Self { port, silence }
    }

    fn fall_silent(&self) {
        self.silence.send_replace(());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_fell_silent_are_given_up() {
    let replicas = Replicas::start().await;
    let way = Way::to(replicas.port_of_primary()).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/carillon", way.port);
    let world = World::new(TestDatabase::at(url).await).await;
    let schedule = world.schedule("* * * * * *", noop(), each_runs).await.id;
    let engine = world.engine().await;
    settled_since(&world, &[schedule], world.clock.now()).await;
    way.fall_silent();
    settled_since(&world, &[schedule], world.clock.now()).await;
    engine.shutdown(Duration::from_secs(10)).await.unwrap();
}
