#![expect(
    unsafe_code,
    reason = "what a process does before it executes a program has no safe form"
)]

use std::{
    ffi::CString,
    io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::Path,
    process::Command,
    ptr,
};

#[cfg(not(any(target_arch = "arm", target_arch = "x86")))]
use nix::libc::{
    SYS_setgroups as SETGROUPS, SYS_setresgid as SETRESGID, SYS_setresuid as SETRESUID,
};
#[cfg(any(target_arch = "arm", target_arch = "x86"))]
use nix::libc::{
    SYS_setgroups32 as SETGROUPS, SYS_setresgid32 as SETRESGID, SYS_setresuid32 as SETRESUID,
};
use nix::{
    errno::Errno,
    libc,
    sys::{
        prctl::{set_dumpable, set_no_new_privs, set_pdeathsig},
        resource::{Resource, getrlimit, rlim_t, setrlimit},
        signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
    },
    unistd::{Gid, Pid, Uid, User, chdir, getpid, getppid},
};

use crate::target::CommandLimits;

/// The restrictions of a program. It loses the server's user and groups, its capabilities and the
/// ability to gain others, and the server's open files. It also gets resource limits.
#[derive(Debug)]
pub(super) struct Confinement {
    user: Option<(Uid, Gid)>,
    directory: CString,
    /// Each resource with its soft and hard limit.
    limits: Vec<(Resource, rlim_t, rlim_t)>,
}

impl Confinement {
    /// The confinement of a program that starts in `directory` as `user`, or as the server's own
    /// user.
    pub(super) fn new(
        user: Option<&User>,
        directory: &Path,
        limits: CommandLimits,
    ) -> Result<Self, String> {
        Ok(Self {
            user: user.map(|user| (user.uid, user.gid)),
            directory: CString::new(directory.as_os_str().as_bytes())
                .map_err(|_| "its directory has a NUL character".to_owned())?,
            limits: set_of(limits).map_err(|error| format!("its limits: {error}"))?,
        })
    }

    /// Whether the program runs as another user than the server.
    pub(super) fn changes_user(&self) -> bool {
        self.user.is_some()
    }

    /// Confines this process, and ties it to the thread of `starter` that started it: the kernel
    /// kills the program when that thread ends.
    ///
    /// A change of the user removes the tie, so the tie is made after that. It does not extend to
    /// the program's children.
    ///
    /// Must only be called in a new process that has not executed its program. It makes plain
    /// system calls, allocates nothing, takes no lock and cannot panic.
    pub(super) fn enter(&self, starter: Pid) -> nix::Result<()> {
        if let Some((user, group)) = self.user {
            give_streams(user, group);
            become_user(user, group)?;
        }
        drop_ambient_capabilities()?;
        set_no_new_privs()?;
        for (resource, soft, hard) in &self.limits {
            setrlimit(*resource, *soft, *hard)?;
        }
        // The directory is entered as the program's user, because a directory that this user may
        // not enter cannot be its working directory.
        chdir(&*self.directory)?;
        close_descriptors_on_exec();
        set_pdeathsig(Signal::SIGKILL)?;
        // If the starter died before the tie was made, the tie would never take effect.
        if getppid() == starter { Ok(()) } else { Err(Errno::ESRCH) }
    }
}

/// Changes the user and the groups of this process alone. The functions of the C library would also
/// change the other threads that they find in the memory, which may be the starter's.
fn become_user(user: Uid, group: Gid) -> nix::Result<()> {
    const NONE: libc::c_ulong = 0;
    let (user, group) = (user.as_raw(), group.as_raw());
    // SAFETY: system calls on integers; the list of groups is empty.
    unsafe {
        Errno::result(libc::syscall(SETGROUPS, NONE, ptr::null::<libc::gid_t>()))?;
        Errno::result(libc::syscall(SETRESGID, group, group, group))?;
        Errno::result(libc::syscall(SETRESUID, user, user, user))?;
    }
    Ok(())
}

/// Makes the kernel kill `command` when the thread that starts it ends.
pub(super) fn tie(command: &mut Command) {
    let server = getpid();
    let hook = move || {
        close_descriptors_on_exec();
        set_pdeathsig(Signal::SIGKILL)?;
        // If the server died before the tie was made, the tie would never take effect.
        if getppid() == server { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes
    // plain system calls, allocates nothing, takes no lock and cannot panic.
    unsafe { command.pre_exec(hook) };
}

/// Makes this process survive requests to end. It installs a handler instead of ignoring the
/// signal: programs inherit an ignored signal, but no handler, so those that it starts still react.
pub(super) fn stay_when_asked_to_end() -> io::Result<()> {
    extern "C" fn stay(_: libc::c_int) {}
    let action = SigAction::new(SigHandler::Handler(stay), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: the handler does nothing.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// Makes this process's memory, environment and open files unreadable for other processes of its
/// user, and prevents core dumps.
pub fn drop_dumpable() -> io::Result<()> {
    Ok(set_dumpable(false)?)
}

fn set_of(limits: CommandLimits) -> nix::Result<Vec<(Resource, rlim_t, rlim_t)>> {
    let mut set = vec![(Resource::RLIMIT_CORE, 0, 0)];
    for (resource, limit) in [
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_FSIZE, limits.file_bytes),
        (Resource::RLIMIT_AS, limits.memory_bytes),
    ] {
        if let Some(limit) = limit {
            let (_, hard) = getrlimit(resource)?;
            let limit = hard.min(limit);
            set.push((resource, limit, limit));
        }
    }
    if let Some(limit) = limits.open_files {
        // The hard limit stays, so that a program may raise its own soft limit.
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        set.push((Resource::RLIMIT_NOFILE, hard.min(limit), hard));
    }
    Ok(set)
}

/// Drops capabilities that a service manager gave the server, because they are not meant for
/// programs of tasks.
fn drop_ambient_capabilities() -> nix::Result<()> {
    // The argument type that the kernel expects.
    const CLEAR_ALL: libc::c_ulong = 4;
    const NONE: libc::c_ulong = 0;
    // SAFETY: a system call on integers.
    let done = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, CLEAR_ALL, NONE, NONE, NONE) };
    match Errno::result(done) {
        // An old kernel does not have ambient capabilities, so there are none to drop.
        Ok(_) | Err(Errno::EINVAL) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Gives the program's streams to its user. A pipe belongs to its creator, and only its owner may
/// open it by name, as a script does with `/dev/stderr`. If the owner cannot be changed, the
/// program can still write to the pipe.
fn give_streams(user: Uid, group: Gid) {
    for stream in 0..=2 {
        // SAFETY: a system call on integers.
        unsafe { libc::fchown(stream, user.as_raw(), group.as_raw()) };
    }
}

/// Closes descriptors that the server inherited at its start. Rust closes its own descriptors
/// anyway.
fn close_descriptors_on_exec() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: a system call on integers. An old kernel does not have this call, which must not
    // prevent the program from running.
    unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}
