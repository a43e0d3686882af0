//! Whoever starts programs: a process of its own, or where the executable is another than the
//! server's, a thread.
//!
//! Starting a program copies the tables of the starting process's memory. A server has much of it
//! and is busy with all its threads meanwhile; this process has little and does nothing else. The
//! kernel ties each program to the thread that started it, and this process to the server: so they
//! end with the server, however it ends.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitCode, Stdio},
    thread,
};

use nix::{
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use super::{confinement, launch::Launch, wire};

/// The word with which the server's executable becomes that process.
pub(super) const WORD: &str = "start-programs";

/// What is told of a program, a line of JSON each.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Told {
    /// It has started; its process and its group have this number.
    Started(i32),
    /// It could not be started.
    Failed(String),
    /// It has ended, with this status as `wait` gives it.
    Ended(i32),
}

/// Does what the process is for, if these are its arguments.
pub(crate) fn start_programs(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.len() != 2 || arguments[1] != WORD {
        return None;
    }
    let serve = || -> io::Result<()> {
        confinement::drop_dumpable()?;
        // A service manager asks all processes of a service to end: this one ends with the server.
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

/// The process, with its end of the socket as its input.
pub(super) fn process(socket: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(WORD)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        // It is not asked to end where a terminal asks the server to.
        .process_group(0);
    confinement::tie(&mut command);
    command.spawn()
}

/// Starts what is asked for on `socket`, until nobody is there to ask.
pub(super) fn serve(socket: &OwnedFd) -> io::Result<()> {
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
            // Whoever asked has gone otherwise.
            let _ = tell(&mut told, &Told::Failed(reason));
            return;
        }
    };
    let group = Pid::from_raw(child.id().cast_signed());
    if tell(&mut told, &Told::Started(group.as_raw())).is_err() {
        let _ = killpg(group, Signal::SIGKILL);
    }
    let await_end = move || await_end(child, group, told);
    let waiter = thread::Builder::new().name("program".to_owned()).stack_size(64 * 1024);
    if let Err(error) = waiter.spawn(await_end) {
        // Its end cannot be told: the other end of the pipe sees that nobody is there.
        eprintln!("could not wait for a program: {error}");
        let _ = killpg(group, Signal::SIGKILL);
    }
}

fn await_end(mut child: Child, group: Pid, mut told: File) {
    // Nobody else gets its number before it is waited for, so what is left of its group dies first.
    let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(group), ended) == Err(nix::errno::Errno::EINTR) {}
    let _ = killpg(group, Signal::SIGKILL);
    if let Ok(status) = child.wait() {
        let _ = tell(&mut told, &Told::Ended(status.into_raw()));
    }
}

fn tell(told: &mut File, what: &Told) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    told.write_all(&line)
}
