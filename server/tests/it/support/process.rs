//! The processes that tests start: their ports, and how to freeze them.

use std::{
    collections::HashMap,
    fs::{self, File},
    net::TcpListener,
    ops::Range,
    path::Path,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Ports that the kernel never assigns by itself, unless the machine is configured otherwise. So
/// the port of a killed server stays free until the server restarts.
const PORTS: Range<u16> = 20_000..30_000;

/// The ports of this process, each with a file that is locked until the process ends.
static RESERVED: LazyLock<Mutex<HashMap<u16, File>>> = LazyLock::new(Mutex::default);

/// A free port of 127.0.0.1 that no other test gets before this process ends.
pub(crate) fn free_port() -> u16 {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ports");
    fs::create_dir_all(&folder).unwrap();
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let count = u32::from(PORTS.end - PORTS.start);
    // Each test process begins its search at another port.
    let first = std::process::id().wrapping_mul(7_919) % count;
    for step in 0..count {
        let port = PORTS.start + u16::try_from((first + step) % count).unwrap();
        let file = File::options().create(true).append(true).open(folder.join(port.to_string()));
        let Ok(file) = file else { continue };
        if file.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            reserved.insert(port, file);
            return port;
        }
    }
    panic!("every port of {PORTS:?} is taken");
}

/// Stops a process, or the process group if the number is negative, and waits until all of its
/// threads have stopped: a signal takes effect some time after it is sent.
pub(crate) fn freeze(whom: Pid) {
    kill(whom, Signal::SIGSTOP).unwrap();
    while !members(whom).iter().all(|process| stands(process)) {
        thread::yield_now();
    }
}

pub(crate) fn thaw(whom: Pid) {
    kill(whom, Signal::SIGCONT).unwrap();
}

/// The folders in `/proc` of these processes.
fn members(whom: Pid) -> Vec<Box<Path>> {
    let number = whom.as_raw();
    if number > 0 {
        return vec![Path::new("/proc").join(number.to_string()).into()];
    }
    let group = number.unsigned_abs().to_string();
    let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let is_member = |path: &Path| field(path, 2).is_some_and(|found| found == group);
    all.filter(|path| is_member(path)).map(Into::into).collect()
}

/// Whether every thread of the process has stopped or ended.
fn stands(process: &Path) -> bool {
    let Ok(threads) = fs::read_dir(process.join("task")) else { return true };
    threads.flatten().all(|thread| {
        let state = field(&thread.path(), 0);
        state.is_none_or(|state| matches!(&*state, "T" | "t" | "Z" | "X"))
    })
}

/// A field after the name in the `stat` file of a process or thread; the name may contain spaces. 0
/// is the state, 2 is the group.
fn field(path: &Path, index: usize) -> Option<String> {
    let text = fs::read_to_string(path.join("stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    fields.split(' ').nth(index).map(str::to_owned)
}

#[test]
fn a_port_is_given_once() {
    let ports: Vec<u16> = (0..20).map(|_| free_port()).collect();
    let distinct: std::collections::HashSet<_> = ports.iter().collect();
    assert_eq!(distinct.len(), ports.len());
}
