//! Waits for the ends of all programs of a starter, on a single thread.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, PipeReader, PipeWriter},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use nix::{
    errno::Errno,
    libc,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};

use super::{
    process::{self, descriptor},
    starter::{StarterReport, tell},
};

/// The mark of the event that no further program will be added.
const CLOSED: u64 = u64::MAX;

/// Maximum number of ends that are handled between two questions to the system.
const AT_ONCE: usize = 64;

/// Waits for programs, and reports their ends.
#[derive(Debug)]
pub(super) struct Waiter {
    epoll: Epoll,
    programs: Mutex<HashMap<u64, WatchedProgram>>,
}

/// A program that has not ended yet.
#[derive(Debug)]
struct WatchedProgram {
    program: Pid,
    told: File,
    /// Readable when the program has ended.
    descriptor: OwnedFd,
}

impl Waiter {
    /// Starts the thread. It ends when the returned pipe is closed and all programs have ended.
    pub(super) fn start() -> io::Result<(Arc<Self>, PipeWriter)> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let (open, opened) = io::pipe()?;
        epoll.add(&open, EpollEvent::new(EpollFlags::EPOLLIN, CLOSED))?;
        let waiter = Arc::new(Self { epoll, programs: Mutex::default() });
        let own = waiter.clone();
        thread::Builder::new().name("waiter".to_owned()).spawn(move || own.run(open))?;
        Ok((waiter, opened))
    }

    /// Kills the rest of the program's group when the program has ended, and reports the end on
    /// `told`.
    pub(super) fn watch(&self, program: Pid, told: File) {
        // Old systems have no such descriptors, and a process may have too many.
        let Ok(descriptor) = descriptor(program) else { return wait_apart(program, told) };
        let key = u64::from(program.as_raw().cast_unsigned());
        // The program may have ended already. The lock makes the thread wait for the entry.
        let mut programs = self.programs();
        match self.epoll.add(&descriptor, EpollEvent::new(EpollFlags::EPOLLIN, key)) {
            Ok(()) => {
                programs.insert(key, WatchedProgram { program, told, descriptor });
            }
            Err(_) => wait_apart(program, told),
        }
    }

    fn run(&self, open: PipeReader) {
        let mut open = Some(open);
        let mut events = [EpollEvent::empty(); AT_ONCE];
        while open.is_some() || !self.programs().is_empty() {
            // An interruption is the only error that this call has here.
            let count = self.epoll.wait(&mut events, EpollTimeout::NONE).unwrap_or_default();
            for event in &events[..count] {
                // A process that is just being started has copies of all descriptors, so closing
                // them is not enough.
                if event.data() == CLOSED {
                    if let Some(open) = open.take() {
                        let _ = self.epoll.delete(&open);
                    }
                    continue;
                }
                let ended = self.programs().remove(&event.data());
                if let Some(WatchedProgram { program, told, descriptor }) = ended {
                    let _ = self.epoll.delete(&descriptor);
                    end(program, told);
                }
            }
        }
    }

    fn programs(&self) -> MutexGuard<'_, HashMap<u64, WatchedProgram>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases a program that has ended. Before, it kills the rest of the group: until the program is
/// released, the group's number cannot be reused.
fn end(program: Pid, mut told: File) {
    let _ = killpg(program, Signal::SIGKILL);
    match process::wait(program, libc::WNOHANG) {
        // Telling fails if the requester is gone.
        Ok(Some(status)) => drop(tell(&mut told, &StarterReport::Ended(status))),
        // A process that traces the program has not released it. This must not delay others.
        Ok(None) => wait_apart(program, told),
        // The server sees that the pipe is closed.
        Err(error) => eprintln!("could not learn how a program ended: {error}"),
    }
}

/// Waits for a program on a thread of its own.
fn wait_apart(program: Pid, mut told: File) {
    let await_end = move || {
        let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(program), ended) == Err(Errno::EINTR) {}
        let _ = killpg(program, Signal::SIGKILL);
        if let Ok(Some(status)) = process::wait(program, 0) {
            let _ = tell(&mut told, &StarterReport::Ended(status));
        }
    };
    let waiter = thread::Builder::new().name("program".to_owned()).stack_size(64 * 1024);
    if let Err(error) = waiter.spawn(await_end) {
        // The end cannot be reported, but the server sees that the pipe is closed.
        eprintln!("could not wait for a program: {error}");
        let _ = killpg(program, Signal::SIGKILL);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::target::command::process::tests::{PATH, start};

    /// Starts a script and waits for it; returns its standard output and the reports.
    fn watched(waiter: &Waiter, script: &str) -> (PipeReader, PipeReader) {
        let (program, output) = start(true, PATH, "sh", &["-c", script]).unwrap();
        let (reports, told) = io::pipe().unwrap();
        waiter.watch(program, File::from(OwnedFd::from(told)));
        (output, reports)
    }

    fn status(mut reports: PipeReader) -> i32 {
        let mut said = String::new();
        reports.read_to_string(&mut said).unwrap();
        let report: StarterReport = serde_json::from_str(said.trim()).unwrap();
        let StarterReport::Ended(status) = report else { panic!("{said}") };
        status
    }

    #[test]
    fn the_end_of_each_program_is_reported() {
        let (waiter, opened) = Waiter::start().unwrap();
        let start = |code: i32| (code, watched(&waiter, &format!("exit {code}")).1);
        let all: Vec<_> = (0..40).map(start).collect();
        let (_output, killed) = watched(&waiter, "kill -9 $$");
        // The thread must not end before all programs have.
        drop(opened);
        assert_eq!(status(killed), libc::SIGKILL);
        for (code, reports) in all {
            assert_eq!(status(reports), code << 8);
        }
    }

    #[test]
    fn what_is_left_of_a_group_is_killed() {
        let (waiter, _opened) = Waiter::start().unwrap();
        for is_apart in [false, true] {
            let (program, mut output) =
                start(true, PATH, "sh", &["-c", "tail -f /dev/null & exit 3"]).unwrap();
            let (reports, told) = io::pipe().unwrap();
            let told = File::from(OwnedFd::from(told));
            match is_apart {
                true => wait_apart(program, told),
                false => waiter.watch(program, told),
            }
            assert_eq!(status(reports), 3 << 8);
            // The pipe ends when no process holds it.
            output.read_to_end(&mut Vec::new()).unwrap();
        }
    }
}
