//! A timing on the clock of its zone, with its calendars: the fires, one by one and counted.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};

use crate::{
    calendars::{Calendar, MAX_CALENDARS},
    count,
    definition::{Definition, DstPolicy},
    describe,
    error::{Fault, TimingError},
    expression::{Cron, Expression, LAST_SECOND},
    fire::Fire,
    fires::Fires,
    jitter, lint,
    lint::{ClockChange, Warning, WarningCode},
    pattern::Pattern,
    pieces::Pieces,
    source::{Every, Moment, Source},
    zone::Zone,
};

/// Maximum number of expressions in a definition.
const EXPRESSIONS: usize = 16;

/// The longest jitter. A fire is identified by its scheduled instant, and a longer jitter would
/// only obscure when the work is done.
const LONGEST_JITTER: Duration = Duration::from_secs(86_400);

/// No fire is later than the year 9999, the last year whose instants every format can represent.
const LAST: i64 = LAST_SECOND * 1_000 + 999;

/// A checked and compiled [`Definition`], which computes when the schedule fires.
///
/// A timetable is immutable, and cheap to clone and to share between threads.
/// Every answer depends only on the definition, the arguments and the zone data in use.
/// It takes microseconds whatever the definition: no search visits the days between two fires.
///
/// Calendars ([`Timetable::with_calendars`]) do not change the fires,
/// but determine which of them are suppressed.
#[derive(Clone, Debug)]
pub struct Timetable(Arc<Parts>, Option<Arc<[Arc<Calendar>]>>);

/// Maximum number of stretches of suppressed fires that a search for an allowed fire skips.
/// Under a calendar of weekdays, a stretch is a week.
const PASSED_OVER: usize = 2_000;

/// Maximum number of stretches whose fires are counted.
const COUNTED: usize = 20_000;

/// The parts of a timetable.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The expressions as typed, with their meaning; for descriptions, not for search.
    pub(crate) expressions: Vec<(String, Expression)>,
    /// The same expressions in the same order, compiled for search.
    pub(crate) sources: Vec<Source>,
    pub(crate) zone: Arc<Zone>,
    pub(crate) dst: DstPolicy,
    pub(crate) start: Option<DateTime<Utc>>,
    pub(crate) end: Option<DateTime<Utc>>,
    pub(crate) jitter: Duration,
    pub(crate) seed: [u8; 16],
}

impl Timetable {
    /// Checks and compiles a definition.
    ///
    /// # Errors
    ///
    /// The first invalid field: an expression that violates the grammar or that no date ever
    /// matches, a zone that is not a canonical name, an end before the start, a jitter of more than
    /// a day. A definition whose instants are all past is valid; it never fires.
    pub fn new(definition: &Definition) -> Result<Timetable, TimingError> {
        Timetable::build(definition, |cron| Pattern::compile(cron).map(Arc::new))
    }

    pub(crate) fn build(
        definition: &Definition,
        mut compile: impl FnMut(&Cron) -> Result<Arc<Pattern>, Fault>,
    ) -> Result<Timetable, TimingError> {
        let count = definition.expressions.len();
        if !(1..=EXPRESSIONS).contains(&count) {
            let fault = Fault::new(
                format!("{count} expressions"),
                format!("give 1 to {EXPRESSIONS} expressions"),
            );
            return Err(TimingError::new("expressions", "", fault));
        }
        let mut expressions = Vec::with_capacity(count);
        let mut sources = Vec::with_capacity(count);
        for (index, text) in definition.expressions.iter().enumerate() {
            let refuse = |fault| TimingError::new(format!("expressions[{index}]"), text, fault);
            let expression = Expression::parse(text, &definition.seed).map_err(refuse)?;
            sources.push(match &expression {
                Expression::Cron(cron) => Source::Cron(compile(cron).map_err(refuse)?),
                Expression::Every(seconds) => Source::Every(Every {
                    anchor: definition.anchor.timestamp_millis(),
                    interval: seconds * 1_000,
                }),
                Expression::At(at) => Source::At(*at),
                Expression::Manually if count > 1 => {
                    return Err(refuse(Fault::new(
                        "@manually says that nothing fires by itself, beside what does",
                        "leave it alone, or remove it",
                    )));
                }
                Expression::Manually => Source::Never,
            });
            expressions.push((text.clone(), expression));
        }
        let zone = Zone::named(&definition.zone)
            .map_err(|fault| TimingError::new("zone", &definition.zone, fault))?;
        check_bounds(definition)?;
        let parts = Arc::new(Parts {
            expressions,
            sources,
            zone,
            dst: definition.dst,
            start: definition.start,
            end: definition.end,
            jitter: definition.jitter,
            seed: definition.seed,
        });
        Ok(Timetable(parts, None))
    }

    /// The same timetable with these calendars in place of any earlier ones.
    /// If several suppress a fire, the first of them counts.
    ///
    /// # Errors
    ///
    /// There are more than eight calendars.
    pub fn with_calendars(
        &self,
        calendars: impl IntoIterator<Item = Arc<Calendar>>,
    ) -> Result<Timetable, TimingError> {
        let calendars: Arc<[Arc<Calendar>]> = calendars.into_iter().collect();
        if calendars.len() > MAX_CALENDARS {
            let fault = Fault::new(
                format!("{} calendars", calendars.len()),
                format!("give at most {MAX_CALENDARS} calendars, or join some of them"),
            );
            return Err(TimingError::new("calendars", "", fault));
        }
        Ok(Timetable(Arc::clone(&self.0), (!calendars.is_empty()).then_some(calendars)))
    }

    /// The same timetable without the fires from `from` (inclusive) to `until` (exclusive): they are
    /// suppressed by a calendar of this name, which does not count against the limit. If one of the
    /// timetable's own calendars suppresses a fire as well, that one counts.
    #[must_use]
    pub fn without(&self, name: &str, from: DateTime<Utc>, until: DateTime<Utc>) -> Timetable {
        let pause = Arc::new(Calendar::all_between(name, from, until));
        let own = self.1.iter().flat_map(|calendars| calendars.iter().cloned());
        Timetable(Arc::clone(&self.0), Some(own.chain([pause]).collect()))
    }

    /// The fires strictly after `after`, up to and including `until`, in strictly increasing order.
    /// The iterator finds each fire on demand.
    pub fn fires(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> Fires<'_> {
        let (after, until) = self.0.bounds(after, until);
        Fires::new(&self.0, after, until)
    }

    /// The first fire strictly after `after`.
    pub fn next(&self, after: DateTime<Utc>) -> Option<Fire> {
        let (after, until) = self.0.bounds(after, DateTime::<Utc>::MAX_UTC);
        let moments =
            self.0.sources.iter().filter_map(|source| source.next(&self.0.zone, self.0.dst, after));
        moments.min_by_key(Moment::order).filter(|moment| moment.at <= until)?.fire()
    }

    /// The last fire at or before `at_or_before` and strictly after `after`.
    pub fn last(&self, at_or_before: DateTime<Utc>, after: DateTime<Utc>) -> Option<Fire> {
        let (after, to) = self.0.bounds(after, at_or_before);
        let moments = self
            .0
            .sources
            .iter()
            .filter_map(|source| source.previous(&self.0.zone, self.0.dst, to, after));
        // Of moments at the same instant, the first in order wins, as in a forward search.
        moments.min_by_key(|moment| (std::cmp::Reverse(moment.at), moment.kind))?.fire()
    }

    /// Number of fires strictly after `after`, up to and including `until`.
    /// Fires are counted without visiting each of them.
    pub fn count(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
        let (after, until) = self.0.bounds(after, until);
        count::count(&self.0, after, until)
    }

    /// The name of the calendar that suppresses a fire at this instant, if one does.
    pub fn suppressed_by(&self, at: DateTime<Utc>) -> Option<&Arc<str>> {
        self.name(self.stretch(at).0)
    }

    /// Whether a calendar, which need not be one of the timetable's, suppresses a fire at this
    /// instant on the timetable's wall clock.
    pub fn is_suppressed_by(&self, calendar: &Calendar, at: DateTime<Utc>) -> bool {
        let span = self.0.zone.span_at(at.timestamp());
        let (calendar, _) = calendar.in_force(at);
        calendar.suppresses(at.timestamp() + span.offset).0
    }

    /// The first fire strictly after `after` that no calendar suppresses.
    ///
    /// The search skips up to two thousand stretches of suppressed fires (years, for any realistic
    /// definition). Then it gives up and returns `None`.
    pub fn next_allowed(&self, after: DateTime<Utc>) -> Option<Fire> {
        let mut after = after;
        for _ in 0..PASSED_OVER {
            let fire = self.next(after)?;
            match self.blocked_until(fire.at) {
                None => return Some(fire),
                Some(until) if until == DateTime::<Utc>::MAX_UTC => return None,
                Some(until) => after = until - TimeDelta::milliseconds(1),
            }
        }
        None
    }

    /// The fires strictly after `after`, up to and including `until`, in pieces. The fires of a
    /// piece are suppressed by the same calendar or by none, and are counted without visiting each.
    /// Pieces are in order; without calendars there is one.
    pub fn pieces(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> Pieces<'_> {
        Pieces::new(self, after, until)
    }

    /// Number of fires strictly after `after`, up to and including `until`, that no calendar
    /// suppresses; `None` if calendars cut the window into too many stretches to count.
    pub fn count_allowed(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> Option<u64> {
        let mut total = 0;
        for piece in self.pieces(after, until) {
            if piece.steps > COUNTED {
                return None;
            }
            total += if piece.suppressed_by.is_none() { piece.count } else { 0 };
        }
        Some(total)
    }

    /// Whether the timetable has calendars.
    pub fn has_calendars(&self) -> bool {
        self.1.is_some()
    }

    /// When a fire is due: its scheduled instant plus its jitter, which depends only on the
    /// schedule and the instant. A fire is always due before the next one, whatever the jitter: a
    /// fire that waits long must not hold back later ones.
    pub fn due_at(&self, scheduled_at: DateTime<Utc>) -> DateTime<Utc> {
        if self.0.jitter.is_zero() {
            return scheduled_at;
        }
        let gap = self.next(scheduled_at).and_then(|next| (next.at - scheduled_at).to_std().ok());
        let most = gap.map_or(self.0.jitter, |gap| self.0.jitter.min(gap));
        let at = scheduled_at.timestamp_millis();
        let delay = TimeDelta::milliseconds(jitter::delay(&self.0.seed, at, most));
        scheduled_at.checked_add_signed(delay).unwrap_or(scheduled_at)
    }

    /// A description of the timetable in words: one sentence for the times, and one each for zone,
    /// clock changes, jitter, start and end where they matter.
    pub fn describe(&self) -> String {
        let mut words = describe::describe(&self.0);
        for calendar in self.1.iter().flat_map(|calendars| calendars.iter()) {
            words.push_str(&describe::calendar(calendar));
        }
        words
    }

    /// Warnings about probable mistakes in the definition,
    /// judged at `from`: the most important first.
    pub fn lint(&self, from: DateTime<Utc>) -> Vec<Warning> {
        let mut warnings = lint::lint(self, &self.0, from);
        if self.has_calendars() && self.next(from).is_some() && self.next_allowed(from).is_none() {
            let warning = Warning {
                code: WarningCode::NeverAllowed,
                message: "its calendars let none of its fires through".to_owned(),
                field: "calendars".to_owned(),
                suggestion: None,
            };
            warnings.insert(0, warning);
        }
        warnings
    }

    /// The first clock change of the timetable's zone after `from`, up to `until`,
    /// that affects one of its times: the time does not exist then, or occurs twice.
    /// An expression of every hour follows the clock and is not affected.
    pub fn clock_change(&self, from: DateTime<Utc>, until: DateTime<Utc>) -> Option<ClockChange> {
        lint::clock_change(&self.0, from, until)
    }

    /// The warning that the values chosen by `H` are only an example.
    /// It is for a definition that belongs to no schedule, because the seed has no meaning then.
    pub fn example(&self) -> Option<Warning> {
        lint::hashed(&self.0)
    }

    /// The index of the calendar that suppresses fires at an instant,
    /// and a later instant up to which that stays so.
    pub(crate) fn stretch(&self, at: DateTime<Utc>) -> (Option<usize>, DateTime<Utc>) {
        let Some(calendars) = &self.1 else {
            return (None, DateTime::<Utc>::MAX_UTC);
        };
        let span = self.0.zone.span_at(at.timestamp());
        let mut end = instant(span.end);
        for (index, calendar) in calendars.iter().enumerate() {
            let (calendar, change) = calendar.in_force(at);
            let (suppresses, until) = calendar.suppresses(at.timestamp() + span.offset);
            end = end.min(instant(until - span.offset)).min(change);
            if suppresses {
                return (Some(index), end);
            }
        }
        (None, end)
    }

    /// If a calendar suppresses fires at an instant, a later instant up to which one still does.
    fn blocked_until(&self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let calendars = self.1.as_ref()?;
        let span = self.0.zone.span_at(at.timestamp());
        let civil = at.timestamp() + span.offset;
        let ends = calendars.iter().filter_map(|calendar| {
            let (calendar, change) = calendar.in_force(at);
            let (suppresses, until) = calendar.suppresses(civil);
            suppresses.then(|| instant(until - span.offset).min(change))
        });
        Some(ends.max()?.min(instant(span.end)))
    }

    pub(crate) fn name(&self, calendar: Option<usize>) -> Option<&Arc<str>> {
        Some(self.1.as_ref()?.get(calendar?)?.name())
    }
}

/// The instant of a unix second; a second that is out of range becomes the last instant.
fn instant(second: i64) -> DateTime<Utc> {
    let known = (second <= LAST_SECOND).then(|| DateTime::from_timestamp(second, 0)).flatten();
    known.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

impl Parts {
    /// The window `(after, until]` in milliseconds, narrowed to the definition's start and end.
    fn bounds(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> (i64, i64) {
        let (mut after, mut until) = (after.timestamp_millis(), until.timestamp_millis().min(LAST));
        if let Some(start) = self.start {
            after = after.max(ceil(start) - 1);
        }
        if let Some(end) = self.end {
            until = until.min(ceil(end) - 1);
        }
        (after, until)
    }
}

impl Moment {
    /// The sort key: the instant; at the same instant, a normal moment comes first.
    pub(crate) fn order(&self) -> (i64, crate::FireKind) {
        (self.at, self.kind)
    }

    /// The fire in its public form. Every instant within [`LAST`] has one.
    pub(crate) fn fire(self) -> Option<Fire> {
        let at = DateTime::from_timestamp_millis(self.at)?;
        let offset = FixedOffset::east_opt(i32::try_from(self.offset).ok()?)?;
        let local = at.naive_utc().checked_add_signed(TimeDelta::seconds(self.offset))?;
        Some(Fire { at, local, offset, kind: self.kind })
    }
}

/// The first millisecond at or after an instant.
fn ceil(instant: DateTime<Utc>) -> i64 {
    let finer = !instant.timestamp_subsec_nanos().is_multiple_of(1_000_000);
    instant.timestamp_millis() + i64::from(finer)
}

fn check_bounds(definition: &Definition) -> Result<(), TimingError> {
    if let (Some(start), Some(end)) = (definition.start, definition.end)
        && end <= start
    {
        let fault = Fault::new(
            format!("the end is not after the start, {start:?}"),
            "the start is inclusive and the end exclusive: move one of them, or leave it out",
        );
        return Err(TimingError::new("end", &format!("{end:?}"), fault));
    }
    if definition.jitter > LONGEST_JITTER {
        let seconds = definition.jitter.as_secs();
        let fault = Fault::new(
            format!("a jitter of {seconds} seconds"),
            "the longest jitter is a day, 86400 seconds",
        );
        return Err(TimingError::new("jitter", &format!("{seconds}s"), fault));
    }
    Ok(())
}
