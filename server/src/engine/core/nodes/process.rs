//! Tells the processes of a machine apart: by the boot, the PID namespace, the PID, and the
//! process's start time. Only Linux provides these; on other systems the answer is unknown.

use std::{fs, path::Path};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};

/// A text that identifies this process uniquely; empty if the system does not provide it.
pub(in crate::engine) fn own_process() -> String {
    let identity = || {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
        let place = format!("{} {}", boot.trim(), numbers.to_str()?);
        let id = std::process::id();
        Some(format!("{place} {id} {}", began(id)?))
    };
    identity().unwrap_or_default()
}

/// Whether the process with this identity is still running; `None` if this process cannot tell.
pub(in crate::engine) fn goes_on(process: &str) -> Option<bool> {
    let own = own_process();
    let mut theirs = process.rsplitn(3, ' ');
    let (began_at, id, place) = (theirs.next()?, theirs.next()?, theirs.next()?);
    if own.rsplitn(3, ' ').nth(2) != Some(place) || place.is_empty() {
        return None;
    }
    let id: u32 = id.parse().ok()?;
    match record(id) {
        Some(now) => Some(now == Some(began_at.to_owned())),
        // Another user's record may be hidden, but the system
        // always tells that a process does not exist.
        None => {
            (kill(Pid::from_raw(id.try_into().ok()?), None) == Err(Errno::ESRCH)).then_some(false)
        }
    }
}

/// When a process started, in ticks since boot; `None` if it has ended or cannot be read.
fn began(id: u32) -> Option<String> {
    record(id).flatten()
}

/// When the process with this id started: `Some(None)` if it has
/// ended, and `None` if its record cannot be read.
fn record(id: u32) -> Option<Option<String>> {
    let stat = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).ok()?;
    // The process name in parentheses may contain any character.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // The iterator is past the state, which is field 3; the start time is field 22.
    let began = fields.nth(18)?;
    Some((state != "Z" && state != "X").then(|| began.to_owned()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_recognised_while_it_runs() {
        let own = own_process();
        assert_eq!(goes_on(&own), Some(true));
        let (place, _) = own.rsplit_once(' ').unwrap();
        assert_eq!(goes_on(&format!("{place} 1")), Some(false), "the number is another's by now");
        assert_eq!(goes_on(&own.replacen(' ', "x ", 1)), None, "another machine's");
        assert_eq!(goes_on(""), None);
    }

    #[test]
    fn a_killed_process_is_gone_without_being_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let began_at = began(child.id()).unwrap();
        let own = own_process();
        let place = own.rsplitn(3, ' ').nth(2).unwrap();
        let process = format!("{place} {} {began_at}", child.id());
        assert_eq!(goes_on(&process), Some(true));
        child.kill().unwrap();
        // Poll without reaping the child: its record stays until it is reaped.
        while began(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(goes_on(&process), Some(false));
        child.wait().unwrap();
    }
}
