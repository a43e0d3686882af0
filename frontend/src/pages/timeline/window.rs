//! The stretch of time that the page shows. A range that ends now is shown with a quarter of its length ahead, so that
//! what comes next is seen, too.

use crate::time::Moment;

const HOUR: i64 = 3_600_000;
/// The range without bounds.
const USUAL: i64 = 6 * HOUR;
/// The server refuses longer ranges.
const LONGEST: i64 = 31 * 24 * HOUR;
const SHORTEST: i64 = 60_000;

/// From `from` up to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: Moment,
    pub(super) to: Moment,
}

impl Window {
    /// The window of a range with these bounds.
    pub(super) fn of((from, until): (Option<Moment>, Option<Moment>), now: Moment) -> Self {
        let start = |end: Moment| from.unwrap_or_else(|| end.earlier(USUAL));
        match until {
            Some(until) => {
                let from = start(until).min(until.earlier(SHORTEST));
                Self { from: from.max(until.earlier(LONGEST)), to: until }
            }
            None => {
                let from = start(now);
                let ahead = (now.since(from) / 4).max(SHORTEST);
                let to = now.later(ahead).max(from.later(SHORTEST));
                Self { from, to: to.min(from.later(LONGEST)) }
            }
        }
    }

    /// The left edge and the width of a stretch, in thousandths of the window's width; `None` if the stretch is
    /// outside the window.
    pub(super) fn span(self, from: Moment, to: Moment) -> Option<(i64, i64)> {
        if to < self.from || from >= self.to {
            return None;
        }
        let (left, right) = (self.thousandth(from), self.thousandth(to));
        Some((left, right - left))
    }

    /// The position of an instant, from 0 to 1,000.
    pub(super) fn thousandth(self, at: Moment) -> i64 {
        let length = self.to.since(self.from).max(1);
        (at.since(self.from).clamp(0, length)).saturating_mul(1_000) / length
    }
}

/// Thousandths as a length for the style sheet: `12.5%`.
pub(super) fn percent(thousandths: i64) -> String {
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Moment {
        Moment::from_millis(hours * HOUR)
    }

    #[test]
    fn a_range_that_ends_now_is_shown_with_a_quarter_ahead() {
        let now = at(10_000);
        let of = |from, until| {
            let Window { from, to } = Window::of((from, until), now);
            (from.since(now) / HOUR, to.since(now) / HOUR)
        };
        assert_eq!(of(Some(at(9_996)), None), (-4, 1));
        assert_eq!(of(None, None), (-6, 1));
        // A month is as long as the server permits.
        assert_eq!(of(Some(at(10_000 - 720)), None), (-720, 24));
        assert_eq!(of(Some(at(9_990)), Some(at(9_995))), (-10, -5));
        assert_eq!(of(Some(at(1_000)), Some(at(10_000))), (-744, 0));
        assert_eq!(of(None, Some(at(10_005))), (-1, 5));
        // A range that has not begun is seen from its beginning on.
        assert_eq!(of(Some(at(10_002)), None), (2, 2));
    }

    #[test]
    fn a_stretch_is_cut_at_the_edges_of_the_window() {
        let window = Window { from: at(10), to: at(20) };
        assert_eq!(window.span(at(11), at(16)), Some((100, 500)));
        assert_eq!(window.span(at(0), at(11)), Some((0, 100)));
        assert_eq!(window.span(at(19), at(30)), Some((900, 100)));
        assert_eq!((window.span(at(0), at(9)), window.span(at(20), at(21))), (None, None));
        assert_eq!([percent(0), percent(125), percent(1_000)], ["0.0%", "12.5%", "100.0%"]);
    }
}
