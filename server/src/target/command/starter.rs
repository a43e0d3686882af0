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
    num::NonZero,
    ops::RangeInclusive,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitCode, Stdio},
    thread,
};

use nix::sys::{
    signal::{Signal, killpg},
    socket::{Shutdown, shutdown},
};
use serde::{Deserialize, Serialize};

use super::{
    accounts::Accounts, confinement, launch::Launch, process::ProcessStarter, waiter::Waiter, wire,
};
use crate::clock::Clock;

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

/// Bounds for the number of threads that start programs. Each waits for the kernel until its
/// program is executed; meanwhile the others can start programs.
const THREADS: RangeInclusive<usize> = 4..=16;

/// Starts the programs requested on `socket`, until the other end is gone.
pub(super) fn serve(socket: &OwnedFd) -> io::Result<()> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let count = processors.clamp(*THREADS.start(), *THREADS.end());
    let accounts = Accounts::new(Clock::system());
    // The waiter's thread ends after `_open` is dropped, when no thread starts programs any more.
    let (waiter, _open) = Waiter::start()?;
    let take = || {
        let taken = take_launches(socket, &accounts, &waiter);
        // If one thread fails, the others end as well, and another starter replaces this one.
        let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
        taken
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().name("starter".to_owned()).spawn_scoped(scope, take);
        // If the system allows no further thread, fewer threads do the same work.
        let threads: Vec<_> = (1..count).filter_map(|number| spawn(number).ok()).collect();
        let panicked = |_| Err(io::Error::other("a thread that starts programs panicked"));
        let own = take();
        threads
            .into_iter()
            .fold(own, |ended, thread| ended.and(thread.join().unwrap_or_else(panicked)))
    })
}

fn take_launches(socket: &OwnedFd, accounts: &Accounts, waiter: &Waiter) -> io::Result<()> {
    let starter = ProcessStarter::new()?;
    while let Some((launch, files)) = wire::receive::<6, Launch>(socket)? {
        let [stdin, stdout, stderr, told, given, offered] = files;
        let mut told = File::from(told);
        match launch.start(&starter, accounts, [stdin, stdout, stderr], &[given, offered]) {
            Ok(program) => {
                if tell(&mut told, &StarterReport::Started(program.as_raw())).is_err() {
                    let _ = killpg(program, Signal::SIGKILL);
                }
                waiter.watch(program, told);
            }
            // Telling fails if the requester is gone.
            Err(reason) => drop(tell(&mut told, &StarterReport::Failed(reason))),
        }
    }
    Ok(())
}

/// Sends a report about a program.
pub(super) fn tell(told: &mut File, what: &StarterReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    told.write_all(&line)
}
