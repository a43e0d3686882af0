//! Starts a program without a copy of this process's memory.
//!
//! Until it executes the program, the new process uses the memory of this one, and the thread that
//! starts it waits, as with `vfork`. A copy would have its price: the tables of all pages, and a
//! fault for every page that either process writes afterwards.
//!
//! So the new process must not disturb the other threads, whose memory it uses. It makes system
//! calls only, on values that were prepared before: it allocates nothing, takes no lock and cannot
//! panic. It has its own stack, and no signal reaches it before it executes the program.
//!
//! When a process changes its user, the kernel denies the other processes of that user any access
//! to its memory. It does not if `fs.suid_dumpable` is 1, a setting for debugging. In that case
//! the memory is copied.

#![expect(unsafe_code, reason = "a process that shares its memory has no safe form")]

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, OsStr, c_char, c_int, c_void},
    fs, io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use nix::{
    errno::Errno,
    libc,
    sys::signal::{SigSet, SigmaskHow},
    unistd::{Pid, getpid, setpgid},
};

use super::confinement::{Confinement, drop_dumpable};

/// The program that executes files that are neither executables nor name an interpreter.
const SHELL: &CStr = c"/bin/sh";

/// The longest name of a file.
const MAX_NAME_BYTES: usize = 255;

/// Size of the memory that a new process may write, most of which is its stack.
const MEMORY_BYTES: usize = 64 * 1024;

/// What a process executes.
#[derive(Debug)]
pub(super) struct Image {
    /// The paths at which the program may be, in the order in which they are tried.
    paths: Vec<CString>,
    arguments: Vec<CString>,
    variables: Vec<CString>,
}

impl Image {
    /// A program with its arguments and its complete environment. A program without a slash is
    /// looked up in the `PATH` of that environment.
    pub(super) fn new(
        program: &str,
        arguments: &[String],
        variables: &BTreeMap<&OsStr, &OsStr>,
    ) -> io::Result<Self> {
        let search = variables.get(OsStr::new("PATH")).map_or(&b""[..], |path| path.as_bytes());
        let texts = [program].into_iter().chain(arguments.iter().map(String::as_str));
        let variable = |(name, value): (&&OsStr, &&OsStr)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())
        };
        Ok(Self {
            paths: paths(program.as_bytes(), search)?,
            arguments: texts.map(CString::new).collect::<Result<_, _>>()?,
            variables: variables.iter().map(variable).collect::<Result<_, _>>()?,
        })
    }
}

/// The paths at which the system would look for a program.
fn paths(program: &[u8], search: &[u8]) -> io::Result<Vec<CString>> {
    if program.contains(&b'/') {
        return Ok(vec![CString::new(program)?]);
    }
    if program.len() > MAX_NAME_BYTES {
        return Err(Errno::ENAMETOOLONG.into());
    }
    let within = |folder: &[u8]| match folder {
        // An empty part means the working directory.
        [] => CString::new(program),
        folder => CString::new([folder, b"/", program].concat()),
    };
    Ok(search.split(|byte| *byte == b':').map(within).collect::<Result<_, _>>()?)
}

/// Starts processes, one at a time.
#[derive(Debug)]
pub(super) struct ProcessStarter {
    memory: SharedMemory,
    /// Whether new processes use the memory of this one.
    shares_memory: bool,
}

impl ProcessStarter {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { memory: SharedMemory::new()?, shares_memory: is_memory_protected() })
    }

    /// Starts a process in its own process group. The kernel kills it when this thread ends.
    pub(super) fn start(
        &self,
        image: &Image,
        streams: [OwnedFd; 3],
        confinement: &Confinement,
    ) -> io::Result<Pid> {
        let streams = streams.each_ref().map(AsRawFd::as_raw_fd);
        if streams.iter().any(|stream| *stream <= libc::STDERR_FILENO) {
            return Err(io::Error::other("its streams have the numbers of standard streams"));
        }
        let pointers = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let [paths, arguments, variables] =
            [&image.paths, &image.arguments, &image.variables].map(|texts| pointers(texts));
        // `sh`, the path of the file, and the arguments without the first, which is the program.
        let mut by_shell = vec![SHELL.as_ptr(), ptr::null()];
        by_shell.extend(arguments.iter().skip(1));
        let failure = self.memory.failure();
        failure.store(0, Ordering::Relaxed);
        let child = Child {
            paths: &paths,
            arguments: arguments.as_ptr(),
            variables: variables.as_ptr(),
            by_shell: by_shell.as_mut_ptr(),
            streams,
            confinement,
            starter: getpid(),
            failure,
        };
        let process = self.divide(&child)?;
        if self.shares_memory && confinement.changes_user() {
            // The system has replaced this setting of the memory.
            let _ = drop_dumpable();
        }
        match failure.load(Ordering::Relaxed) {
            0 => Ok(process),
            code => {
                // The process has ended, or is about to.
                let _ = wait(process, 0);
                Err(io::Error::from_raw_os_error(code))
            }
        }
    }

    /// Creates the process, and waits until it has executed the program or has ended.
    fn divide(&self, child: &Child<'_>) -> nix::Result<Pid> {
        let sharing = if self.shares_memory { libc::CLONE_VM } else { 0 };
        let flags = libc::CLONE_VFORK | libc::SIGCHLD | sharing;
        let argument = ptr::from_ref(child).cast_mut().cast::<c_void>();
        // A signal's handler would run in the shared memory.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        // SAFETY: the new process has a stack of its own, and `run` keeps the promises of this
        // module. `child` and all that it refers to live until this thread continues, which it does
        // when the new process no longer uses its memory.
        let process = unsafe { libc::clone(run, self.memory.end(), flags, argument) };
        let process = Errno::result(process).map(Pid::from_raw);
        // Setting a mask that was read before cannot fail.
        let _ = mask.thread_set_mask();
        process
    }
}

/// Everything that the new process needs. All lists end with a null pointer.
struct Child<'a> {
    paths: &'a [*const c_char],
    arguments: *const *const c_char,
    variables: *const *const c_char,
    /// The arguments for the shell. The second one is for the path of the file.
    by_shell: *mut *const c_char,
    streams: [RawFd; 3],
    confinement: &'a Confinement,
    starter: Pid,
    failure: &'a AtomicI32,
}

/// The new process.
extern "C" fn run(child: *mut c_void) -> c_int {
    // SAFETY: `divide` passes a valid pointer, which nothing else uses meanwhile.
    let child = unsafe { &*child.cast::<Child<'_>>() };
    let failure = match child.enter() {
        Ok(()) => child.execute(),
        Err(failure) => failure,
    };
    child.failure.store(failure as c_int, Ordering::Relaxed);
    // SAFETY: this ends the process without the handlers of the process whose memory it uses.
    unsafe { libc::_exit(127) }
}

impl Child<'_> {
    fn enter(&self) -> nix::Result<()> {
        for (stream, number) in self.streams.iter().zip(0..) {
            // SAFETY: a system call on integers.
            Errno::result(unsafe { libc::dup2(*stream, number) })?;
        }
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        self.confinement.enter(self.starter)?;
        // Rust ignores this signal in its own processes, and a program would inherit that.
        // SAFETY: the actions of signals belong to the new process alone.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        SigSet::empty().thread_set_mask()
    }

    /// Executes the program. Returns only if that fails, with the same reason as `execvp`.
    fn execute(&self) -> Errno {
        let mut failure = Errno::ENOENT;
        for path in self.paths.iter().take_while(|path| !path.is_null()) {
            // SAFETY: the lists end with a null pointer, and their texts outlive this process.
            unsafe { libc::execve(*path, self.arguments, self.variables) };
            let mut error = Errno::last();
            if error == Errno::ENOEXEC {
                // SAFETY: the list has at least three places, and nothing else refers to it.
                unsafe {
                    *self.by_shell.add(1) = *path;
                    libc::execve(SHELL.as_ptr(), self.by_shell, self.variables);
                }
                error = Errno::last();
            }
            if failure != Errno::EACCES {
                failure = error;
            }
            let is_elsewhere = error == Errno::EACCES
                || error == Errno::ENOENT
                || error == Errno::ENOTDIR
                || error == Errno::ENODEV
                || error == Errno::ESTALE
                || error == Errno::ETIMEDOUT;
            if !is_elsewhere {
                return error;
            }
        }
        failure
    }
}

/// Memory that new processes and this one write in any case: the reason for which a program could
/// not be executed, and at its end the stack of the new process.
#[derive(Debug)]
struct SharedMemory(*mut c_void);

impl SharedMemory {
    fn new() -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: the system chooses an address that nothing else uses.
        let begin = unsafe { libc::mmap(ptr::null_mut(), MEMORY_BYTES, protection, flags, -1, 0) };
        if begin == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(begin))
    }

    fn failure(&self) -> &AtomicI32 {
        // SAFETY: the memory begins with zeros and at a page, and lives as long as this value.
        unsafe { &*self.0.cast::<AtomicI32>() }
    }

    /// The end of the memory, where the stack begins.
    fn end(&self) -> *mut c_void {
        // SAFETY: the end of an allocation may be computed.
        unsafe { self.0.byte_add(MEMORY_BYTES) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the memory any more.
        unsafe { libc::munmap(self.0, MEMORY_BYTES) };
    }
}

/// Whether the kernel protects the memory of a process that has changed its user.
fn is_memory_protected() -> bool {
    let setting = fs::read_to_string("/proc/sys/fs/suid_dumpable");
    setting.is_ok_and(|setting| ["0", "2"].contains(&setting.trim()))
}

/// A descriptor that becomes readable when the child process has ended.
pub(super) fn descriptor(process: Pid) -> io::Result<OwnedFd> {
    // SAFETY: a system call on integers.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    let opened = RawFd::try_from(Errno::result(opened)?).map_err(io::Error::other)?;
    // SAFETY: the system created the descriptor just now, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Releases the number of a child process that has ended, and returns its status of `wait`. Waits
/// for the end, unless the options say otherwise: then `None` means that it cannot be released yet.
pub(super) fn wait(process: Pid, options: c_int) -> nix::Result<Option<c_int>> {
    let mut status = 0;
    loop {
        // SAFETY: the system writes an integer to the status.
        match Errno::result(unsafe { libc::waitpid(process.as_raw(), &raw mut status, options) }) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(status)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{
        fs::{File, Permissions},
        io::{PipeReader, Read},
        os::unix::fs::PermissionsExt,
        path::Path,
        thread,
    };

    use nix::unistd::{Uid, User};

    use super::*;
    use crate::target::CommandLimits;

    /// Where the tests' programs are.
    pub(in crate::target::command) const PATH: &str = "/usr/bin:/bin";

    /// Starts a program, as another user if that is possible, and returns its standard output.
    pub(in crate::target::command) fn start(
        shares_memory: bool,
        search: &str,
        program: &str,
        arguments: &[&str],
    ) -> io::Result<(Pid, PipeReader)> {
        let nobody = Uid::effective().is_root().then(|| User::from_name("nobody"));
        let nobody = nobody.and_then(|found| found.unwrap());
        let limits = CommandLimits::default();
        let confinement = Confinement::new(nobody.as_ref(), Path::new("/"), limits).unwrap();
        let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let variables = BTreeMap::from([(OsStr::new("PATH"), OsStr::new(search))]);
        let image = Image::new(program, &arguments, &variables)?;
        let null = || File::open("/dev/null").map(OwnedFd::from);
        let (output, written) = io::pipe()?;
        let starter = ProcessStarter { memory: SharedMemory::new()?, shares_memory };
        let streams = [null()?, written.into(), null()?];
        Ok((starter.start(&image, streams, &confinement)?, output))
    }

    #[test]
    fn a_program_dies_with_the_thread_that_started_it() {
        for shares_memory in [true, false] {
            let start = move || start(shares_memory, PATH, "tail", &["-f", "/dev/null"]).unwrap();
            let (process, _output) = thread::spawn(start).join().unwrap();
            assert_eq!(wait(process, 0), Ok(Some(libc::SIGKILL)));
        }
    }

    #[test]
    fn a_program_is_found_as_the_system_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let file = folder.path().join("plain");
        // A file without an interpreter is for the shell.
        fs::write(&file, "echo \"$0 $1\"\n").unwrap();
        let search = format!(":/no/such:/etc/hostname:{}", folder.path().display());
        for shares_memory in [true, false] {
            fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
            let (process, mut output) =
                start(shares_memory, &search, "plain", &["a word"]).unwrap();
            let mut said = String::new();
            output.read_to_string(&mut said).unwrap();
            assert_eq!(said, format!("{} a word\n", file.display()));
            assert_eq!(wait(process, 0), Ok(Some(0)));

            fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
            let long = "x".repeat(MAX_NAME_BYTES + 1);
            for (program, reason) in [
                ("plain", Errno::EACCES),
                ("other", Errno::ENOENT),
                ("/no/such", Errno::ENOENT),
                (long.as_str(), Errno::ENAMETOOLONG),
            ] {
                let failure = start(shares_memory, &search, program, &[]).unwrap_err();
                assert_eq!(failure.raw_os_error(), Some(reason as i32), "{program}");
            }
        }
    }

    #[test]
    fn a_program_does_not_inherit_what_happens_to_signals() {
        for signal in [libc::SIGPIPE, libc::SIGTERM] {
            let script = format!("kill -{signal} $$; echo it goes on");
            let (process, _output) = start(true, PATH, "sh", &["-c", &script]).unwrap();
            assert_eq!(wait(process, 0), Ok(Some(signal)));
        }
    }
}
