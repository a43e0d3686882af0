//! Decides what happens to due fires while runs of the same schedule are live.
//!
//! The module is pure. From the policy and the current state (live runs, waiting fires) it decides
//! the fates of the fires that want to start, and of the runs that block them. As soon as no run is
//! live, a waiting fire starts; waiting fires start in their order, before any later fire.

/// The policy for a fire while a run of the same schedule is live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The fire is skipped.
    #[default]
    Skip,
    /// The fire waits; while a fire waits, later ones are skipped.
    BufferOne,
    /// The fire waits, after those that are already waiting.
    BufferAll {
        /// Maximum number of waiting fires; later ones are skipped.
        limit: usize,
    },
    /// The live runs are asked to stop, and the fire waits until they have stopped.
    /// A fire that is already waiting is replaced.
    CancelOther,
    /// The live runs are ended at once, and the fire starts.
    /// If more runs are live than one decision may end, the fire waits until they have been ended,
    /// and replaces a fire that is already waiting.
    TerminateOther,
    /// The new run starts beside the live ones.
    Allow,
}

/// The state of a schedule when fires of it are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Runs that have not settled, and fires that are about to become runs.
    pub live: usize,
    /// Number of fires that wait for the live runs to settle.
    pub waiting: usize,
    /// Maximum number of live runs that one decision may stop.
    /// If more are live, the fire waits until they have been stopped step by step.
    pub stoppable: usize,
}

/// The fate of a fire that wants to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The fire starts.
    Start,
    /// The fire waits, after those that are already waiting.
    Wait,
    /// The fire is skipped: a run is live.
    Overlap,
    /// The fire is skipped: the buffer is full.
    BufferFull,
    /// The fire is skipped: the last of the fires that want to start replaces it.
    Replaced,
}

/// The fate of the schedule's live runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// The live runs continue.
    Leave,
    /// The live runs are asked to stop.
    Cancel,
    /// The live runs are ended at once.
    Terminate,
}

/// The decision on the fires that want to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One fate for each fire, earliest first.
    pub fates: Vec<Fate>,
    /// The fate of the live runs that block the fires.
    pub others: Others,
    /// Whether the fires that were already waiting are skipped
    /// because the last of the new fires replaces them.
    pub replaces_waiting: bool,
}

impl Policy {
    /// Decides on `wanting` fires that are due, earliest first.
    pub fn plan(self, standing: Occupancy, wanting: usize) -> Plan {
        let Occupancy { live, waiting, stoppable } = standing;
        let (free, at_once) = (live == 0, live <= stoppable);
        let mut plan = Plan {
            fates: Vec::with_capacity(wanting),
            others: Others::Leave,
            replaces_waiting: false,
        };
        match self {
            Self::Allow => plan.fates.resize(wanting, Fate::Start),
            Self::Skip => plan.fates(wanting, usize::from(free), 0, Fate::Overlap),
            Self::BufferOne => plan.wait(standing, wanting, 1),
            Self::BufferAll { limit } => plan.wait(standing, wanting, limit),
            // Each fire would replace the previous one, so only the last remains.
            Self::CancelOther if wanting > 0 => {
                plan.fates.resize(wanting - 1, Fate::Replaced);
                plan.fates.push(if free { Fate::Start } else { Fate::Wait });
                plan.replaces_waiting = waiting > 0;
                plan.others = if free || !at_once { Others::Leave } else { Others::Cancel };
            }
            Self::TerminateOther if wanting > 0 => {
                plan.fates.resize(wanting - 1, Fate::Replaced);
                plan.fates.push(if at_once { Fate::Start } else { Fate::Wait });
                plan.replaces_waiting = waiting > 0;
                plan.others = if free || !at_once { Others::Leave } else { Others::Terminate };
            }
            Self::CancelOther | Self::TerminateOther => {}
        }
        plan
    }

    /// Decides on `wanting` fires that run late, earliest first: after a pause, or by the catch-up
    /// policy `all`. All of them run. They stop no run and skip no fire: they wait for the live
    /// runs, and then start one after another.
    pub fn follow(self, standing: Occupancy, wanting: usize) -> Plan {
        let mut plan = Plan {
            fates: Vec::with_capacity(wanting),
            others: Others::Leave,
            replaces_waiting: false,
        };
        let start = match self {
            Self::Allow => wanting,
            Self::Skip
            | Self::BufferOne
            | Self::BufferAll { .. }
            | Self::CancelOther
            | Self::TerminateOther => usize::from(standing.live == 0 && standing.waiting == 0),
        };
        plan.fates(wanting, start, wanting, Fate::Wait);
        plan
    }

    /// The fate of the live runs while fires wait for them to settle.
    pub fn presses(self, standing: Occupancy) -> Others {
        match self {
            Self::CancelOther if standing.live > 0 && standing.waiting > 0 => Others::Cancel,
            Self::TerminateOther if standing.live > 0 && standing.waiting > 0 => Others::Terminate,
            Self::CancelOther
            | Self::TerminateOther
            | Self::Skip
            | Self::BufferOne
            | Self::BufferAll { .. }
            | Self::Allow => Others::Leave,
        }
    }

    /// Number of waiting fires that may start now, from the head of their queue.
    pub fn release(self, standing: Occupancy) -> usize {
        match self {
            Self::Allow => standing.waiting,
            Self::Skip
            | Self::BufferOne
            | Self::BufferAll { .. }
            | Self::CancelOther
            | Self::TerminateOther => {
                if standing.live == 0 {
                    standing.waiting.min(1)
                } else {
                    0
                }
            }
        }
    }
}

impl Plan {
    /// The first `start` fires start, the next `wait`
    /// fires wait, and the others get the fate `rest`.
    fn fates(&mut self, wanting: usize, start: usize, wait: usize, rest: Fate) {
        let start = start.min(wanting);
        let wait = wait.min(wanting - start);
        self.fates.resize(start, Fate::Start);
        self.fates.resize(start + wait, Fate::Wait);
        self.fates.resize(wanting, rest);
    }

    fn wait(&mut self, standing: Occupancy, wanting: usize, limit: usize) {
        // If no run is live, one fire starts. If fires wait, it is the first of them, so that no
        // later fire overtakes it, and its place in the buffer becomes free.
        let start = usize::from(standing.live == 0);
        let leaves = start.min(standing.waiting);
        let room = limit.saturating_sub(standing.waiting - leaves);
        self.fates(wanting, start - leaves, room, Fate::BufferFull);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER_TWO: Policy = Policy::BufferAll { limit: 2 };

    fn standing(live: usize, waiting: usize) -> Occupancy {
        Occupancy { live, waiting, stoppable: 10 }
    }

    fn plan(policy: Policy, live: usize, waiting: usize, wanting: usize) -> Plan {
        policy.plan(standing(live, waiting), wanting)
    }

    fn fates(policy: Policy, live: usize, waiting: usize, wanting: usize) -> Vec<Fate> {
        plan(policy, live, waiting, wanting).fates
    }

    #[test]
    fn skip_lets_one_start_and_only_when_nothing_is_alive() {
        assert_eq!(fates(Policy::Skip, 0, 0, 2), [Fate::Start, Fate::Overlap]);
        assert_eq!(fates(Policy::Skip, 1, 0, 2), [Fate::Overlap; 2]);
        assert_eq!(fates(Policy::Skip, 0, 0, 0), []);
    }

    #[test]
    fn caught_up_fires_follow_one_another_and_none_is_skipped() {
        let policies = [
            Policy::Skip,
            Policy::BufferOne,
            BUFFER_TWO,
            Policy::CancelOther,
            Policy::TerminateOther,
        ];
        for policy in policies {
            for (live, waiting) in [(0, 0), (1, 0), (0, 1), (2, 3)] {
                let plan = policy.follow(standing(live, waiting), 4);
                let first = if live + waiting == 0 { Fate::Start } else { Fate::Wait };
                assert_eq!(plan.fates, [first, Fate::Wait, Fate::Wait, Fate::Wait]);
                assert_eq!((plan.others, plan.replaces_waiting), (Others::Leave, false));
            }
        }
        assert_eq!(Policy::Allow.follow(standing(5, 0), 3).fates, [Fate::Start; 3]);
    }

    #[test]
    fn allow_lets_all_start() {
        assert_eq!(fates(Policy::Allow, 5, 0, 3), [Fate::Start; 3]);
    }

    #[test]
    fn buffer_one_keeps_the_first_that_waits() {
        assert_eq!(fates(Policy::BufferOne, 0, 0, 3), [Fate::Start, Fate::Wait, Fate::BufferFull]);
        assert_eq!(fates(Policy::BufferOne, 1, 0, 2), [Fate::Wait, Fate::BufferFull]);
        assert_eq!(fates(Policy::BufferOne, 1, 1, 1), [Fate::BufferFull]);
    }

    #[test]
    fn buffer_all_keeps_as_many_as_its_limit() {
        assert_eq!(fates(BUFFER_TWO, 1, 0, 3), [Fate::Wait, Fate::Wait, Fate::BufferFull]);
        assert_eq!(fates(BUFFER_TWO, 1, 1, 2), [Fate::Wait, Fate::BufferFull]);
        assert_eq!(fates(BUFFER_TWO, 3, 2, 1), [Fate::BufferFull]);
    }

    #[test]
    fn if_more_runs_are_live_than_may_be_stopped_the_last_fire_waits() {
        for policy in [Policy::CancelOther, Policy::TerminateOther] {
            let many = plan(policy, 11, 1, 2);
            assert_eq!(many.fates, [Fate::Replaced, Fate::Wait]);
            assert_eq!((many.others, many.replaces_waiting), (Others::Leave, true));
            assert_eq!(policy.release(standing(1, 1)), 0, "beside one that is left");
            assert_eq!(policy.release(standing(0, 1)), 1);
        }
        assert_eq!(Policy::TerminateOther.presses(standing(11, 1)), Others::Terminate);
        assert_eq!(Policy::CancelOther.presses(standing(11, 1)), Others::Cancel);
        assert_eq!(Policy::TerminateOther.presses(standing(11, 0)), Others::Leave);
        let few = plan(Policy::TerminateOther, 10, 0, 1);
        assert_eq!((few.fates, few.others), (vec![Fate::Start], Others::Terminate));
    }

    #[test]
    fn a_new_fire_does_not_overtake_one_that_waits() {
        // The blocking run has just settled: the first waiting fire starts, which frees its place.
        assert_eq!(fates(Policy::BufferOne, 0, 1, 2), [Fate::Wait, Fate::BufferFull]);
        assert_eq!(fates(BUFFER_TWO, 0, 2, 2), [Fate::Wait, Fate::BufferFull]);
        assert_eq!(BUFFER_TWO.release(standing(0, 2)), 1);
        assert_eq!(BUFFER_TWO.release(standing(1, 2)), 0);
    }

    #[test]
    fn cancel_other_waits_for_the_runs_that_it_stops() {
        let decided = plan(Policy::CancelOther, 2, 0, 1);
        assert_eq!((decided.fates, decided.others), (vec![Fate::Wait], Others::Cancel));
        let free = plan(Policy::CancelOther, 0, 0, 2);
        assert_eq!(free.fates, [Fate::Replaced, Fate::Start]);
        assert_eq!(free.others, Others::Leave);
    }

    #[test]
    fn under_cancel_other_a_later_fire_replaces_the_one_that_waits() {
        let decided = plan(Policy::CancelOther, 1, 1, 1);
        assert!(decided.replaces_waiting);
        assert_eq!(decided.fates, [Fate::Wait]);
        assert!(!plan(Policy::CancelOther, 1, 1, 0).replaces_waiting, "nothing wants to start");
    }

    #[test]
    fn terminate_other_starts_at_once() {
        let decided = plan(Policy::TerminateOther, 2, 0, 2);
        assert_eq!(decided.fates, [Fate::Replaced, Fate::Start]);
        assert_eq!(decided.others, Others::Terminate);
        assert_eq!(plan(Policy::TerminateOther, 2, 0, 0).others, Others::Leave);
    }

    /// In every state each fire has a fate, at most one fire starts while no run is live, and no
    /// more fires wait than the limit allows.
    #[test]
    fn no_policy_but_allow_lets_two_run_and_no_buffer_grows_over_its_limit() {
        let policies = [
            (Policy::Skip, 0),
            (Policy::BufferOne, 1),
            (BUFFER_TWO, 2),
            (Policy::CancelOther, 1),
            (Policy::TerminateOther, 1),
        ];
        for ((policy, limit), stoppable) in policies.iter().flat_map(|one| [(*one, 1), (*one, 10)])
        {
            for (live, waiting, wanting) in all(3, limit, 5) {
                let standing = Occupancy { live, waiting, stoppable };
                let decided = policy.plan(standing, wanting);
                assert_eq!(decided.fates.len(), wanting);
                let count = |fate| decided.fates.iter().filter(|other| **other == fate).count();
                let ended = decided.others == Others::Terminate;
                let replaced = decided.replaces_waiting;
                let released = if replaced { 0 } else { policy.release(standing) };
                let running = if ended { 0 } else { live } + released + count(Fate::Start);
                assert!(running <= live.max(1), "{policy:?} {standing:?} {wanting}");
                let kept = if replaced { 0 } else { waiting - released };
                assert!(kept + count(Fate::Wait) <= limit, "{policy:?} {standing:?} {wanting}");
            }
        }
    }

    fn all(
        live: usize,
        waiting: usize,
        wanting: usize,
    ) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..=live).flat_map(move |live| {
            (0..=waiting)
                .flat_map(move |waiting| (0..=wanting).map(move |wanting| (live, waiting, wanting)))
        })
    }
}
