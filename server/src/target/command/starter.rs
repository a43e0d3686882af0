//! The starter of programs: a separate process, or a thread if the executable is not the server's.
//!
//! Starting a program copies the page tables of the starting process. A server has much memory and
//! many busy threads; the starter has little memory and does nothing else. The kernel ties each
//! program to the thread that started it, and the starter to the server. So they all end with the
//! server, in whatever way it ends.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitCode, Stdio},
    thread,
};

use nix::{
    sys::{
        signal::{Signal, killpg},
        socket::{Shutdown, shutdown},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use super::{confinement, launch::Launch, wire};

/// The argument that makes the server's executable the starter.
pub(super) const WORD: &str = "start-programs";

/// A report about a program, as one line of JSON.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum StarterReport {
    /// The program has started; its process and its group have this number.
    Started(i32),
    /// The program could not be started.
    Failed(String),
    /// The program has ended, with this status of `wait`.
    Ended(i32),
}

/// Runs the starter process if these are its arguments.
pub(crate) fn start_programs(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.len() != 2 || arguments[1] != WORD {
        return None;
    }
    let serve = || -> io::Result<()> {
        confinement::drop_dumpable()?;
        // A service manager asks all processes of a service to end, but the starter must end only
        // with the server.
        confinement::stay_when_asked_to_end()?;
        serve(&io::stdin().as_fd().try_clone_to_owned()?)
    };
    match serve() {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("the process that starts programs failed: {error}");
            Some(ExitCode::FAILURE)
        }
    }
}

/// Starts the starter process, with its end of the socket as its standard input.
pub(super) fn process(socket: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(WORD)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        // The process has its own group, so that an interrupt from the terminal reaches only the
        // server.
        .process_group(0);
    confinement::tie(&mut command);
    command.spawn()
}

/// Number of threads that start programs. Each waits for the kernel until its program is executed;
/// meanwhile the others can start programs.
const THREADS: usize = 4;

/// Starts the programs requested on `socket`, until the other end is gone.
pub(super) fn serve(socket: &OwnedFd) -> io::Result<()> {
    let take = || {
        let taken = take_launches(socket);
        // If one thread fails, the others end as well, and another starter replaces this one.
        let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
        taken
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().name("starter".to_owned()).spawn_scoped(scope, take);
        // If the system allows no further thread, fewer threads do the same work.
        let threads: Vec<_> = (1..THREADS).filter_map(|number| spawn(number).ok()).collect();
        let panicked = |_| Err(io::Error::other("a thread that starts programs panicked"));
        let own = take();
        threads
            .into_iter()
            .fold(own, |ended, thread| ended.and(thread.join().unwrap_or_else(panicked)))
    })
}

fn take_launches(socket: &OwnedFd) -> io::Result<()> {
    while let Some((launch, files)) = wire::receive::<6, Launch>(socket)? {
        let [stdin, stdout, stderr, told, given, offered] = files;
        start(&launch, [stdin, stdout, stderr], &[given, offered], File::from(told));
    }
    Ok(())
}

fn start(launch: &Launch, streams: [OwnedFd; 3], files: &[OwnedFd], mut told: File) {
    let child = match launch.start(streams, files) {
        Ok(child) => child,
        Err(reason) => {
            // Telling fails if the requester is gone.
            let _ = tell(&mut told, &StarterReport::Failed(reason));
            return;
        }
    };
    let group = Pid::from_raw(child.id().cast_signed());
    if tell(&mut told, &StarterReport::Started(group.as_raw())).is_err() {
        let _ = killpg(group, Signal::SIGKILL);
    }
    let await_end = move || await_end(child, group, told);
    let waiter = thread::Builder::new().name("program".to_owned()).stack_size(64 * 1024);
    if let Err(error) = waiter.spawn(await_end) {
        // The end cannot be reported, but the server sees that the pipe is closed.
        eprintln!("could not wait for a program: {error}");
        let _ = killpg(group, Signal::SIGKILL);
    }
}

fn await_end(mut child: Child, group: Pid, mut told: File) {
    // Kills the rest of the group before reaping the leader: until then, the group's number cannot
    // be reused.
    let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(group), ended) == Err(nix::errno::Errno::EINTR) {}
    let _ = killpg(group, Signal::SIGKILL);
    if let Ok(status) = child.wait() {
        let _ = tell(&mut told, &StarterReport::Ended(status.into_raw()));
    }
}

fn tell(told: &mut File, what: &StarterReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    told.write_all(&line)
}
