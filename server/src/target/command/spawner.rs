use std::{
    io::{self, Write},
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    net::unix::pipe,
    sync::Semaphore,
};

use super::{
    group::ProcessGroup,
    launch::{Launch, words},
    starter::{self, StarterReport},
    wire,
};

/// Maximum number of programs that are started at the same time. While a program starts, its files
/// are in the socket, and the system limits these to the number that one process may have open.
const AT_ONCE: usize = 16;

/// Maximum size of an input that is written before the program starts. An empty pipe has room for at
/// least one page, so writing does not block.
const MAX_EARLY_INPUT_BYTES: usize = 4 * 1024;

/// A handle to the starter of programs, which ends when the handle is dropped.
#[derive(Debug)]
pub(super) struct Spawner {
    socket: Mutex<Option<OwnedFd>>,
    pub(super) turns: Arc<Semaphore>,
    /// Whether the starter is a separate process.
    is_apart: bool,
}

/// A program that was started. Dropping it kills its group.
#[derive(Debug)]
pub(super) struct Program {
    /// The standard input, unless all input is already in it and it is closed.
    pub(super) stdin: Option<pipe::Sender>,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
    pub(super) group: ProcessGroup,
    pub(super) exit: Exit,
}

/// Receives a program's end.
#[derive(Debug)]
pub(super) struct Exit(Lines<BufReader<pipe::Receiver>>);

impl Exit {
    /// Waits for the end of the program. When this returns, the rest of the program's group has
    /// been killed. The future is cancel-safe.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.next().await? {
            StarterReport::Ended(status) => Ok(ExitStatus::from_raw(status)),
            StarterReport::Started(_) | StarterReport::Failed(_) => {
                Err(io::Error::other("its end was not reported"))
            }
        }
    }

    async fn next(&mut self) -> io::Result<StarterReport> {
        let gone = || io::Error::other("the process that starts programs has ended");
        let line = self.0.next_line().await?.ok_or_else(gone)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Spawner {
    /// A spawner whose starter is a process if `is_apart` is set, or else a thread. The starter
    /// begins with the first program.
    pub(super) fn new(is_apart: bool) -> Self {
        Self { socket: Mutex::default(), turns: Arc::new(Semaphore::new(AT_ONCE)), is_apart }
    }

    /// Starts a program with its files. A small `input` is written at once; a larger one is left to
    /// the caller. Returns the reason if the start fails.
    pub(super) async fn start(
        &self,
        launch: &Launch,
        input: &str,
        files: [OwnedFd; 2],
    ) -> Result<Program, String> {
        let program = &launch.invoked.program;
        let failed = |error: io::Error| format!("could not start {program}: {}", words(&error));
        let turn = self.turns.clone().acquire_owned().await;
        let ((stdin, stdout, stderr, mut exit), [first, second, third, told]) =
            pipes(input).map_err(failed)?;
        let [given, offered] = files;
        self.send(launch, [first, second, third, told, given, offered]).map_err(failed)?;
        // If the attempt is dropped meanwhile, the started program is dropped, which kills it.
        let started = tokio::spawn(async move {
            let _turn = turn;
            let told = exit.next().await;
            told.map(|told| match told {
                StarterReport::Started(group) => {
                    Ok(Program { stdin, stdout, stderr, group: ProcessGroup::new(group), exit })
                }
                StarterReport::Failed(reason) => Err(reason),
                StarterReport::Ended(_) => Err("it ended before it started".to_owned()),
            })
        });
        started.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(failed)?
    }

    /// Sends the launch to the current starter, or to a new one if the current one has ended.
    fn send(&self, launch: &Launch, files: [OwnedFd; 6]) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*socket {
            match wire::send(known, launch, &files) {
                Err(error) if is_gone(&error) => tracing::warn!(
                    "the process that starts programs has ended: another one replaces it"
                ),
                sent => return sent,
            }
        }
        wire::send(socket.insert(connect(self.is_apart)?), launch, &files)
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
    )
}

/// Starts a starter.
fn connect(is_apart: bool) -> io::Result<OwnedFd> {
    let (near, far) = wire::pair()?;
    // The starter process is tied to the thread that started it, and each program to the starter's
    // thread. So this thread waits until the starter ends.
    thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        let done = if is_apart {
            starter::process(far).and_then(|mut child| child.wait()).map(drop)
        } else {
            starter::serve(&far)
        };
        if let Err(error) = done {
            tracing::error!(%error, "failed to start programs");
        }
    })?;
    Ok(near)
}

type Ends = (Option<pipe::Sender>, pipe::Receiver, pipe::Receiver, Exit);

/// The pipes of a program: the server's ends, and the ends for the starter.
fn pipes(input: &str) -> io::Result<(Ends, [OwnedFd; 4])> {
    let (stdin, mut feed) = io::pipe()?;
    let receiver = || -> io::Result<(pipe::Receiver, OwnedFd)> {
        let (ours, theirs) = io::pipe()?;
        Ok((pipe::Receiver::from_owned_fd(ours.into())?, theirs.into()))
    };
    let ((stdout, out), (stderr, err)) = (receiver()?, receiver()?);
    let (told, telling) = receiver()?;
    let feed = if input.len() <= MAX_EARLY_INPUT_BYTES {
        feed.write_all(input.as_bytes())?;
        None
    } else {
        Some(pipe::Sender::from_owned_fd(feed.into())?)
    };
    let exit = Exit(BufReader::new(told).lines());
    Ok(((feed, stdout, stderr, exit), [stdin.into(), out, err, telling]))
}
