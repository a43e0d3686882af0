use std::{iter::FusedIterator, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};

use crate::{fire::Fire, timetable::Timetable};

/// Maximum number of stretches that are joined into one
/// piece, which bounds the cost of finding a piece.
const JOINED: usize = 1_000;

/// Consecutive fires of a timetable that are suppressed by the same calendar, or by none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first fire.
    pub first: Fire,
    /// The instant of the last fire, which may also be the first.
    pub last: DateTime<Utc>,
    /// Number of fires.
    pub count: u64,
    /// The name of the calendar that suppresses the fires, if one does.
    pub suppressed_by: Option<Arc<str>>,
    /// Number of stretches visited since the beginning of the window, including those of this
    /// piece: the cost of the search so far.
    pub steps: usize,
}

/// The fires of a window as an iterator of pieces, in order.
///
/// Returned by [`Timetable::pieces`]. The cost depends on the number of calendar boundaries that
/// have fires between them, not on the number of fires.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    timetable: &'a Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    steps: usize,
}

/// A stretch between two boundaries of calendars.
struct Stretch {
    first: Fire,
    to: DateTime<Utc>,
    calendar: Option<usize>,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(
        timetable: &'a Timetable,
        after: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Self {
        Pieces { timetable, after, until, steps: 0 }
    }

    /// The stretch that contains the next fire.
    fn ahead(&self) -> Option<Stretch> {
        let first = self.timetable.next(self.after).filter(|first| first.at <= self.until)?;
        let (calendar, end) = self.timetable.stretch(first.at);
        Some(Stretch { first, to: self.until.min(end - MS), calendar })
    }
}

const MS: TimeDelta = TimeDelta::milliseconds(1);

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let Stretch { first, calendar, to } = self.ahead()?;
        let (before, mut to) = (first.at - MS, to);
        for _ in 0..JOINED {
            self.after = to;
            self.steps += 1;
            // Neighbouring stretches with the same calendar form one piece.
            match self.ahead().filter(|next| next.calendar == calendar) {
                Some(next) => to = next.to,
                None => break,
            }
        }
        let last = self.timetable.last(self.after, before)?;
        Some(Piece {
            first,
            last: last.at,
            count: self.timetable.count(before, self.after),
            suppressed_by: self.timetable.name(calendar).cloned(),
            steps: self.steps,
        })
    }
}

impl FusedIterator for Pieces<'_> {}
