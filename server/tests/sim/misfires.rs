//! Checks the verdict of an instant at its claim: it must follow from the schedule's policy and
//! from how late the claim was, computed from the time of the claim and the oracle's instants.

use entity::{
    fire::{Reason, Verdict},
    schedule::CatchUp,
};

use super::moments::{Moment, ON_TIME_MS};
use carillon::model::Spec;

/// A span of time in milliseconds: after the first instant, up to and including the second.
pub(crate) type Span = (i64, i64);

/// Everything needed to judge a row.
pub(crate) struct Case<'a> {
    /// The moment at which the row was written.
    pub(crate) made: &'a Moment,
    /// The last instant that the row accounts for.
    pub(crate) last_at: i64,
    /// The definition that was in force.
    pub(crate) spec: &'a Spec,
    /// The maximum number of instants within a span that no calendar suppressed. The claim may have
    /// known some of the calendars in their old or in their new version.
    pub(crate) at_most: &'a dyn Fn(Span) -> usize,
    /// The minimum number of instants within a span that no calendar suppressed.
    pub(crate) at_least: &'a dyn Fn(Span) -> usize,
    /// The rows of the schedule that were written at the same moment, including this one.
    pub(crate) together: &'a [&'a Moment],
    /// An earlier claim may have dealt with the instants before this one.
    pub(crate) known_from: i64,
    /// The claim certainly knew instants up to this one, unless they still waited for their jitter.
    pub(crate) known_until: i64,
    /// The policy of the automatic end of a pause that wrote the row.
    pub(crate) ended_by: Option<CatchUp>,
}

/// Whether the fire wanted to start when it was claimed, even if something blocked it.
fn wants_to_run(made: &Moment) -> bool {
    match (made.verdict(), made.reason()) {
        (Verdict::Pending, _) => true,
        (Verdict::Skipped, reason) => {
            let in_its_way =
                [Reason::Overlap, Reason::BufferFull, Reason::Replaced, Reason::Deadline];
            in_its_way.contains(&reason)
        }
        (Verdict::Started | Verdict::Missed | Verdict::Collapsed | Verdict::Abandoned, _) => false,
    }
}

impl Case<'_> {
    pub(crate) fn judge(&self) -> Result<(), String> {
        let Self { made, last_at, spec, .. } = self;
        let now = made.claimed_at;
        let late_until = now - self.grace_ms() - 1;
        // Within the grace, only the newest instant is on time.
        let is_late = *last_at <= late_until || self.has_others();
        let window = now - spec.misfire.window_seconds * 1_000;
        let is_old = *last_at <= window;
        let is_young = window < made.scheduled_at;
        let behind = (*last_at, now);
        let says = |is_so, what: &str| if is_so { Ok(()) } else { Err(what.to_owned()) };
        match (made.verdict(), made.reason()) {
            (Verdict::Missed, Reason::Outage) => {
                says(is_late, "it was not late")?;
                says(is_young, "it was outside of the window")
            }
            (Verdict::Missed, Reason::CatchUpWindow) => {
                says(is_late, "it was not late")?;
                says(is_old, "it was within the window")
            }
            (Verdict::Missed, Reason::CatchUpLimit) => {
                says(is_late, "it was not late")?;
                says(is_young, "it was outside of the window")?;
                let most = usize::try_from(spec.misfire.max).unwrap();
                let came = (self.at_most)(behind);
                let what = format!("{came} came behind it, fewer than the limit of {most}");
                says(came >= most, &what)
            }
            (Verdict::Collapsed, Reason::Outage) => {
                says(is_late, "it was not late")?;
                says(is_young, "it was outside of the window")?;
                let runs_for_it = (self.at_most)(behind) > 0;
                says(runs_for_it, "none came behind it that could run for it")
            }
            (Verdict::Skipped | Verdict::Collapsed, Reason::Paused) => {
                self.fell_into_a_pause(is_young, is_old)
            }
            _ if wants_to_run(made) => self.runs(is_young),
            _ => Ok(()),
        }
    }

    /// Whether a fire of a pause that ended automatically was rightly left out.
    fn fell_into_a_pause(&self, is_young: bool, is_old: bool) -> Result<(), String> {
        let Self { made, last_at, spec, .. } = self;
        let collapsed = made.verdict() == Verdict::Collapsed;
        match self.ended_by {
            None => Ok(()),
            Some(CatchUp::Skip | CatchUp::All) if collapsed => {
                Err("it collapsed, and its pause was to run none or all".to_owned())
            }
            Some(CatchUp::Skip) => Ok(()),
            Some(CatchUp::Latest) if collapsed == is_young && collapsed != is_old => Ok(()),
            Some(CatchUp::Latest) => Err("the latest of its pause was to run".to_owned()),
            Some(CatchUp::All) => {
                let most = usize::try_from(spec.misfire.max).unwrap();
                let came = (self.at_most)((*last_at, made.claimed_at));
                if is_old || came >= most {
                    return Ok(());
                }
                Err(format!("all of its pause were to run, and {came} came behind it"))
            }
        }
    }

    /// The lateness up to which a single instant counts as in time. A fire that is on time is never
    /// missed, even without any grace.
    fn grace_ms(&self) -> i64 {
        let seconds = self.spec.misfire.grace_seconds + self.spec.timing.jitter_seconds;
        (seconds * 1_000).max(ON_TIME_MS)
    }

    /// The rows of the same claim that wanted to run. Fires that the end of a pause starts are not
    /// part of a claim, and what a claim could not know yet is part of a later one.
    fn beside(&self) -> impl Iterator<Item = &&Moment> {
        let is_same = |other: &&&Moment| {
            let known = self.known_from..=self.known_until;
            other.is_enabled() == self.made.is_enabled() && known.contains(&other.scheduled_at)
        };
        self.together.iter().filter(is_same).filter(|other| wants_to_run(other))
    }

    /// Whether several instants, this one included, may have been due at the claim.
    fn has_others(&self) -> bool {
        let (at, now) = (self.made.scheduled_at, self.made.claimed_at);
        let beside = self
            .together
            .iter()
            .any(|other| other.id != self.made.id && other.is_enabled() == self.made.is_enabled());
        beside || self.last_at > at || (self.at_most)((self.last_at, now)) > 0
    }

    /// Whether the fire ran as a normal fire when it was due: as the only one within the grace, or
    /// as the newest of several, if it was on time.
    fn runs_for_itself(&self, now: i64, jitter_ms: i64) -> bool {
        let made = self.made;
        let is_due = (0..=jitter_ms).contains(&(made.due_at - made.scheduled_at));
        let is_newest = (self.at_least)((made.scheduled_at, self.known_until - jitter_ms)) == 0
            && !self.beside().any(|other| other.scheduled_at > made.scheduled_at);
        let in_grace = now - made.scheduled_at <= self.grace_ms();
        let may = made.is_on_time(now) || !self.came_with_others();
        is_due && made.due_at <= now && is_newest && in_grace && may
    }

    /// Whether several instants were certainly due at the claim.
    fn came_with_others(&self) -> bool {
        self.together.iter().any(|other| {
            other.id != self.made.id
                && other.is_enabled() == self.made.is_enabled()
                && other.reason() != Reason::Calendar
        })
    }

    fn runs(&self, is_young: bool) -> Result<(), String> {
        let Self { made, spec, .. } = self;
        let (now, at) = (made.claimed_at, made.scheduled_at);
        let wait = made.due_at - now;
        let jitter_ms = spec.timing.jitter_seconds * 1_000;
        if made.is_enabled() && self.runs_for_itself(now, jitter_ms) {
            return Ok(());
        }
        if !is_young {
            return Err("it runs, and was outside of the window".to_owned());
        }
        // The end of a pause decides which of its fires run: what was chosen for its automatic end,
        // or what an operator chooses.
        let catch_up = if made.is_enabled() { Some(spec.misfire.catch_up) } else { self.ended_by };
        // What comes behind the end of a pause does not matter.
        let known = (at, self.known_until - jitter_ms);
        let behind = if made.is_enabled() { (self.at_least)(known) } else { 0 };
        let spacing = spec.misfire.spacing_seconds * 1_000;
        let before = self.beside().filter(|other| other.scheduled_at < at).count();
        let before = i64::try_from(before).unwrap();
        let is_newest = !self.beside().any(|other| other.scheduled_at > at);
        let most = usize::try_from(spec.misfire.max).unwrap();
        match catch_up {
            Some(CatchUp::Skip) => Err("it runs, and was missed".to_owned()),
            Some(CatchUp::Latest) if behind > 0 || !is_newest => {
                Err("it runs, and is not the latest".to_owned())
            }
            Some(CatchUp::Latest) if wait != 0 => Err("it waits for nothing".to_owned()),
            Some(CatchUp::All) if behind >= most => Err("it runs over the limit".to_owned()),
            Some(CatchUp::All) | None if wait < 0 => Err("it ran before its time".to_owned()),
            Some(CatchUp::All) | None if spacing == 0 && wait > 0 => {
                Err("it waits for nothing".to_owned())
            }
            Some(CatchUp::All) | None if spacing > 0 && wait % spacing != 0 => {
                Err("it is out of its place".to_owned())
            }
            Some(CatchUp::All) if wait < spacing * before => Err("it runs too early".to_owned()),
            None | Some(CatchUp::Latest | CatchUp::All) => Ok(()),
        }
    }
}
