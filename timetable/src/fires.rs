use std::iter::FusedIterator;

use crate::{fire::Fire, source::Moment, timetable::Parts};

/// The fires of a timetable in a window, in strictly increasing order.
///
/// Returned by [`Timetable::fires`](crate::Timetable::fires).
#[derive(Clone, Debug)]
pub struct Fires<'a> {
    parts: &'a Parts,
    until: i64,
    /// The next moment of each source.
    heads: Vec<Option<Moment>>,
}

impl<'a> Fires<'a> {
    pub(crate) fn new(parts: &'a Parts, after: i64, until: i64) -> Fires<'a> {
        let next = |source: &crate::source::Source| source.next(&parts.zone, parts.dst, after);
        Fires { parts, until, heads: parts.sources.iter().map(next).collect() }
    }
}

impl Iterator for Fires<'_> {
    type Item = Fire;

    fn next(&mut self) -> Option<Fire> {
        let first = self.heads.iter().flatten().min_by_key(|moment| moment.order()).copied()?;
        if first.at > self.until {
            return None;
        }
        for (head, source) in self.heads.iter_mut().zip(&self.parts.sources) {
            // All sources that contain this instant advance together: it is one fire.
            if head.is_some_and(|moment| moment.at == first.at) {
                *head = source.next(&self.parts.zone, self.parts.dst, first.at);
            }
        }
        first.fire()
    }
}

impl FusedIterator for Fires<'_> {}
