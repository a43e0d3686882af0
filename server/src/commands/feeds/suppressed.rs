//! The days on which calendars suppress fires: one event for each calendar and day, because a
//! holiday often suppresses the fires of all schedules of a feed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use entity::schedule::Model;
use timetable::{Fire, Piece, Timetable};
use uuid::Uuid;

use crate::model::calendars::CurrentCalendars;

const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// Maximum number of schedules that an event names.
const NAMED: usize = 10;

/// A day on which a calendar suppresses fires of the feed's schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressedDay {
    /// The calendar's key.
    pub calendar: Uuid,
    /// The calendar's name.
    pub name: String,
    /// The day on the clocks of the schedules.
    pub date: NaiveDate,
    /// The number of suppressed fires.
    pub fires: u64,
    /// The number of schedules that they belong to.
    pub schedules: usize,
    /// The names of the first of these schedules.
    pub named: Vec<String>,
    /// When the calendar or one of these schedules was last changed.
    pub updated_at: DateTime<Utc>,
    /// The schedule that was counted last.
    last: Uuid,
}

/// The suppressed days of a feed.
pub(super) struct SuppressedDays {
    /// The key of each calendar, and when it was last changed, by its name.
    known: HashMap<Arc<str>, (Uuid, DateTime<Utc>)>,
    days: BTreeMap<(NaiveDate, Arc<str>), SuppressedDay>,
}

impl SuppressedDays {
    /// `changed` says when each calendar was last changed.
    pub(super) fn new(current: &CurrentCalendars, changed: &HashMap<Uuid, DateTime<Utc>>) -> Self {
        let one = |(id, compiled): (&Uuid, &Result<Arc<timetable::Calendar>, _>)| {
            Some((compiled.as_ref().ok()?.name().clone(), (*id, *changed.get(id)?)))
        };
        Self { known: current.iter().filter_map(one).collect(), days: BTreeMap::new() }
    }

    /// Adds the suppressed fires of a schedule strictly after `after`, up to and including `until`,
    /// and before `left` other fires; false if the calculator was called too often.
    pub(super) fn add(
        &mut self,
        row: &Model,
        timetable: &Timetable,
        after: DateTime<Utc>,
        until: DateTime<Utc>,
        left: u64,
        looks: &mut usize,
    ) -> bool {
        let (mut left, mut steps) = (left, 0);
        for piece in timetable.pieces(after, until) {
            if left == 0 {
                return true;
            }
            let Some(rest) = looks.checked_sub(piece.steps - steps) else { return false };
            (*looks, steps) = (rest, piece.steps);
            match &piece.suppressed_by {
                Some(calendar) => {
                    if !self.add_piece(row, timetable, calendar, &piece, looks) {
                        return false;
                    }
                }
                None => left = left.saturating_sub(piece.count),
            }
        }
        true
    }

    /// Adds consecutive fires that the same calendar suppresses, day by day.
    fn add_piece(
        &mut self,
        row: &Model,
        timetable: &Timetable,
        calendar: &Arc<str>,
        piece: &Piece,
        looks: &mut usize,
    ) -> bool {
        let mut after = piece.first.at - MOMENT;
        while let Some(fire) = timetable.next(after).filter(|fire| fire.at <= piece.last) {
            let Some(rest) = looks.checked_sub(2) else { return false };
            *looks = rest;
            let end = day_end(&fire).min(piece.last);
            let fires = timetable.count(fire.at - MOMENT, end);
            self.note(row, calendar, fire.local.date(), fires);
            after = end;
        }
        true
    }

    fn note(&mut self, row: &Model, calendar: &Arc<str>, date: NaiveDate, fires: u64) {
        let Some((key, changed_at)) = self.known.get(calendar) else { return };
        let day = self.days.entry((date, calendar.clone())).or_insert_with(|| SuppressedDay {
            calendar: *key,
            name: calendar.to_string(),
            date,
            fires: 0,
            schedules: 0,
            named: Vec::new(),
            updated_at: *changed_at,
            last: Uuid::nil(),
        });
        day.fires += fires;
        day.updated_at = day.updated_at.max(row.updated_at.utc());
        if day.last != row.id {
            day.last = row.id;
            day.schedules += 1;
            if day.named.len() < NAMED {
                day.named.push(row.name.clone());
            }
        }
    }

    /// The first of these days, at most `limit`, and whether these are all.
    pub(super) fn first(self, limit: usize) -> (Vec<SuppressedDay>, bool) {
        let is_whole = self.days.len() <= limit;
        (self.days.into_values().take(limit).collect(), is_whole)
    }
}

/// The last millisecond of the fire's day on its clock. If the clock changes later on that day, the
/// last hour of the day may count for the next one, or the other way round.
fn day_end(fire: &Fire) -> DateTime<Utc> {
    let next = fire.local.date().checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX);
    let ahead = TimeDelta::seconds(fire.offset.local_minus_utc().into());
    next.and_time(NaiveTime::MIN).and_utc() - ahead - MOMENT
}
