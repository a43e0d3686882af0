use std::{sync::mpsc, thread};

use tokio::{process::Child, runtime::Handle, sync::oneshot};

use super::launch::Launch;
use crate::target::TargetError;

/// The thread that starts programs. It ends when this handle is dropped.
#[derive(Debug)]
pub(super) struct Spawner {
    requests: mpsc::Sender<Request>,
}

struct Request {
    launch: Launch,
    runtime: Handle,
    answer: oneshot::Sender<Result<Child, String>>,
}

impl Spawner {
    pub(super) fn new() -> Result<Self, TargetError> {
        let (requests, received) = mpsc::channel::<Request>();
        thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for request in received {
                    let _guard = request.runtime.enter();
                    // An attempt that was dropped meanwhile leaves a program that is dropped,
                    // and thereby killed.
                    let _ = request.answer.send(request.launch.start());
                }
            })
            .map_err(|error| TargetError::setup("the thread that starts programs", error))?;
        Ok(Self { requests })
    }

    /// Starts a program.
    pub(super) async fn start(&self, launch: Launch) -> Result<Child, String> {
        let (answer, answered) = oneshot::channel();
        let request = Request { launch, runtime: Handle::current(), answer };
        let gone = || "the thread that starts programs is gone".to_owned();
        self.requests.send(request).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}
