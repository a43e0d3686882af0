//! Separate threads for the engine and for connections, so that API work delays neither fires nor
//! probes (decision 0054).

use std::{io, sync::Arc};

use tokio::runtime::{Builder, Handle, Runtime};

/// The two additional runtimes. The API uses the caller's. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Runtimes {
    engine: Arc<Owned>,
    edge: Arc<Owned>,
}

/// A runtime that can be dropped inside another one, because it does not wait for its tasks.
#[derive(Debug)]
struct Owned(Option<Runtime>, Handle);

impl Owned {
    fn new(builder: &mut Builder) -> io::Result<Arc<Self>> {
        let runtime = builder.enable_all().build()?;
        let handle = runtime.handle().clone();
        Ok(Arc::new(Self(Some(runtime), handle)))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Runtimes {
    pub(super) fn start() -> io::Result<Self> {
        let engine = Owned::new(Builder::new_multi_thread().thread_name("engine"))?;
        // This runtime only reads request heads and answers probes, so one thread is enough.
        let edge = Owned::new(Builder::new_multi_thread().worker_threads(1).thread_name("edge"))?;
        Ok(Self { engine, edge })
    }

    /// The runtime of the engine and of the database connections.
    pub(super) fn engine(&self) -> &Handle {
        &self.engine.1
    }

    /// The runtime that reads connections and answers probes.
    pub(super) fn edge(&self) -> &Handle {
        &self.edge.1
    }
}
