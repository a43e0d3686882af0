use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// A program's process group. Dropping it kills the rest of the group.
#[derive(Debug)]
pub(super) struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// The process group with that number.
    pub(super) fn new(number: i32) -> Self {
        Self(Some(Pid::from_raw(number)))
    }

    /// Asks the group to end.
    pub(super) fn ask(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills the group.
    pub(super) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Stops tracking the group, because its leader has ended and the rest was killed. Its number
    /// may soon be reused.
    pub(super) fn close(mut self) {
        self.0 = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // This fails if no process is left, which is the goal anyway.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
