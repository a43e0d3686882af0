use std::{sync::Arc, time::Duration};

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};

use crate::{
    count,
    definition::{Definition, DstPolicy},
    describe,
    error::{Fault, TimingError},
    expression::{Cron, Expression, LAST_SECOND},
    fire::Fire,
    fires::Fires,
    jitter, lint,
    lint::Warning,
    pattern::Pattern,
    source::{Every, Moment, Source},
    zone::Zone,
};

/// How many expressions a definition may join.
const EXPRESSIONS: usize = 16;

/// The longest jitter. A fire is identified by its scheduled instant, so a longer one would only
/// hide when the work is done.
const LONGEST_JITTER: Duration = Duration::from_secs(86_400);

/// No fire lies behind the year 9999, whose instants every format can still write.
const LAST: i64 = LAST_SECOND * 1_000 + 999;

/// A checked and compiled [`Definition`]: the pure function that says when it fires.
///
/// Immutable, and cheap to clone and to share between threads. Every answer depends on nothing
/// but the definition, the arguments and the zone data in use, and takes microseconds whatever the
/// definition says: no search visits the days between two fires.
#[derive(Clone, Debug)]
pub struct Timetable(Arc<Parts>);

/// What a timetable is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The expressions as typed, with what they mean; for words, not for search.
    pub(crate) expressions: Vec<(String, Expression)>,
    /// The same in the same order, for search.
    pub(crate) sources: Vec<Source>,
    pub(crate) zone: Arc<Zone>,
    pub(crate) dst: DstPolicy,
    pub(crate) start: Option<DateTime<Utc>>,
    pub(crate) end: Option<DateTime<Utc>>,
    pub(crate) jitter: Duration,
    seed: [u8; 16],
}

impl Timetable {
    /// Checks and compiles a definition.
    ///
    /// # Errors
    ///
    /// The first field that is wrong: an expression that breaks the grammar or that no date ever
    /// matches, a zone that has no such canonical name, an end before the start, a jitter of more
    /// than a day. A definition whose instants are all past is not an error; it never fires.
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
            });
            expressions.push((text.clone(), expression));
        }
        let zone = Zone::named(&definition.zone)
            .map_err(|fault| TimingError::new("zone", &definition.zone, fault))?;
        check_bounds(definition)?;
        Ok(Timetable(Arc::new(Parts {
            expressions,
            sources,
            zone,
            dst: definition.dst,
            start: definition.start,
            end: definition.end,
            jitter: definition.jitter,
            seed: definition.seed,
        })))
    }

    /// The fires strictly after `after`, up to and including `until`, in strictly increasing
    /// order. Each is found when it is asked for.
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
        // Of equal instants, the first in order: as in a search forward.
        moments.min_by_key(|moment| (std::cmp::Reverse(moment.at), moment.kind))?.fire()
    }

    /// How many fires lie strictly after `after`, up to and including `until`, without visiting
    /// each.
    pub fn count(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
        let (after, until) = self.0.bounds(after, until);
        count::count(&self.0, after, until)
    }

    /// When the work of a fire is due: its scheduled instant plus the jitter of this schedule and
    /// this instant, which never changes. It is due before the next fire is, whatever the jitter:
    /// one that waits long must not hold back those behind it.
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

    /// The timetable in words: one sentence for when, and one each for zone, clock changes,
    /// jitter, start and end where they matter.
    pub fn describe(&self) -> String {
        describe::describe(&self.0)
    }

    /// What is likely not meant, judged at `from`: the most important first.
    pub fn lint(&self, from: DateTime<Utc>) -> Vec<Warning> {
        lint::lint(self, &self.0, from)
    }
}

impl Parts {
    /// The window `(after, until]` in milliseconds, narrowed to start and end.
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
    /// Of several moments at one instant, the one that needs no explanation comes first.
    pub(crate) fn order(&self) -> (i64, crate::FireKind) {
        (self.at, self.kind)
    }

    /// The fire as the world outside sees it. There is one for every instant within [`LAST`].
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
