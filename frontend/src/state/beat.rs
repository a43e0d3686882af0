//! The beat of work that draws the page. Work after a pause runs at once. Further work waits until the page has rested
//! for a quarter of a second, and then runs together, so the page draws at most four times a second.
//!
//! The rest begins once the work has been drawn. Counted from its beginning, a slow drawing and a quick one after it
//! could end within less than the beat.

use std::{mem, time::Duration};

use leptos::prelude::*;

/// The time between the end of one drawing and the begin of the next one.
pub(crate) const BEAT: Duration = Duration::from_millis(250);

type Work = Box<dyn FnOnce()>;

/// Runs work that draws the page, with a rest after each time.
#[derive(Clone, Copy)]
pub(crate) struct Beat(StoredValue<Turns<Work>, LocalStorage>);

impl Beat {
    /// A beat that ends with its owner: what waits then does not run.
    pub(crate) fn new() -> Self {
        Self(StoredValue::new_local(Turns::new()))
    }

    /// Runs the work now, or with all other work after the rest.
    pub(crate) fn run(self, work: impl FnOnce() + 'static) {
        self.begin(Box::new(work), Turns::ask);
    }

    /// Runs the work now, or after the first rest in which no other work was requested.
    pub(crate) fn run_when_quiet(self, work: impl FnOnce() + 'static) {
        self.begin(Box::new(work), Turns::ask_late);
    }

    fn begin(self, work: Work, ask: fn(&mut Turns<Work>, Work) -> Option<Work>) {
        if let Some(work) = self.0.try_update_value(|turns| ask(turns, work)).flatten() {
            work();
            self.rest();
        }
    }

    fn rest(self) {
        // What has been changed is drawn before the next timer, even one without a delay.
        set_timeout(move || set_timeout(move || self.end_rest(), BEAT), Duration::ZERO);
    }

    fn end_rest(self) {
        let due = self.0.try_update_value(Turns::end_rest).unwrap_or_default();
        if !due.is_empty() {
            for work in due {
                work();
            }
            self.rest();
        }
    }
}

/// The work that waits for its turn.
struct Turns<T> {
    rests: bool,
    next: Vec<T>,
    /// Work that waits for a rest in which no other work was requested.
    late: Vec<T>,
}

impl<T> Turns<T> {
    fn new() -> Self {
        Self { rests: false, next: Vec::new(), late: Vec::new() }
    }

    /// Returns the work if it is its turn: the rest begins.
    fn ask(&mut self, work: T) -> Option<T> {
        if mem::replace(&mut self.rests, true) {
            self.next.push(work);
            return None;
        }
        Some(work)
    }

    fn ask_late(&mut self, work: T) -> Option<T> {
        if mem::replace(&mut self.rests, true) {
            self.late.push(work);
            return None;
        }
        Some(work)
    }

    /// The work whose turn it is after a rest. If there is some, another rest follows it.
    fn end_rest(&mut self) -> Vec<T> {
        let waiting = if self.next.is_empty() { &mut self.late } else { &mut self.next };
        let due = mem::take(waiting);
        self.rests = !due.is_empty();
        due
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    #[test]
    fn work_after_a_pause_runs_at_once_and_all_further_work_together_after_the_rest() {
        let mut turns = Turns::new();
        assert_eq!(turns.ask(1), Some(1));
        assert_eq!([turns.ask(2), turns.ask(3)], [None, None]);
        assert_eq!(turns.end_rest(), [2, 3]);
        assert_eq!(turns.ask(4), None, "work is followed by a rest");
        assert_eq!(turns.end_rest(), [4]);
        assert!(turns.end_rest().is_empty());
        assert_eq!(turns.ask(5), Some(5), "nothing ran for a whole rest");
    }

    #[test]
    fn late_work_waits_until_nothing_else_does() {
        let mut turns = Turns::new();
        assert_eq!(turns.ask_late(1), Some(1));
        assert_eq!([turns.ask_late(2), turns.ask(3)], [None, None]);
        assert_eq!(turns.end_rest(), [3]);
        assert_eq!(turns.end_rest(), [2]);
        assert!(turns.end_rest().is_empty());
    }
}
