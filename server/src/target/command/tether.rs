#![expect(unsafe_code, reason = "a hook between fork and exec has no safe form")]

use nix::{
    sys::{prctl::set_pdeathsig, signal::Signal},
    unistd::{getpid, getppid},
};
use tokio::process::Command;

/// Lets the kernel kill the program when the thread that starts it ends.
///
/// The tie does not survive a set-user-id program, and it does not reach the program's children.
#[cfg(target_os = "linux")]
pub(super) fn tether(command: &mut Command) {
    let server = getpid();
    let tie = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // The server may have died before the tie was made: then it never fires.
        if getppid() == server { Ok(()) } else { Err(nix::errno::Errno::ESRCH.into()) }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes
    // two plain system calls, allocates nothing, takes no lock and cannot panic.
    unsafe { command.pre_exec(tie) };
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, thread};

    use tokio::runtime::Handle;

    use super::*;

    #[tokio::test]
    async fn a_program_dies_with_the_thread_that_started_it() {
        let runtime = Handle::current();
        let start = move || {
            let _guard = runtime.enter();
            let mut command = Command::new("tail");
            command.args(["-f", "/dev/null"]);
            tether(&mut command);
            command.spawn().unwrap()
        };
        let mut child = thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().await.unwrap().signal(), Some(9));
    }
}
