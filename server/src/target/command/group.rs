use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::process::Child;

/// A program's process group. Dropping it kills whatever is left of the group.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that `child` leads.
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        Self(leader.map(Pid::from_raw))
    }

    /// Asks the group to end.
    pub(super) fn ask(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills the group.
    pub(super) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Kills what the leader, who has ended, left behind.
    ///
    /// Call it at once: the group's number is ours while it has members, and after that only
    /// until the kernel has gone once around all numbers.
    pub(super) fn close(mut self) {
        self.kill();
        self.0 = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It fails when nobody is left, which is what was wanted.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
