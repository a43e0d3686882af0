//! What the ledger must say in the end, worked out beside the engine: by the naive oracle, from
//! what was ordered and when.
//!
//! A schedule's life is cut where its timing changed. Each segment has instants that must be
//! accounted for and instants that may be: those that were claimed ahead of their time, on a clock
//! that was stepped back later.

use std::collections::BTreeMap;

use carillon::{
    engine::commands::{Spec, Timing},
    store::Store,
};
use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use entity::{calendar, fire, fire::Reason, schedule};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::{oracle, plan::CALENDARS};

/// Everything that was ordered, as far as the ledger is concerned.
pub(crate) struct Expectations {
    store: Store,
    names: u32,
    histories: BTreeMap<Uuid, History>,
}

/// A schedule's life.
pub(crate) struct History {
    pub(crate) name: String,
    anchor: DateTime<Utc>,
    segments: Vec<Segment>,
    /// The definitions that were in force, by version.
    pub(crate) specs: BTreeMap<i32, Spec>,
    /// And the times of the day at which they were suppressed.
    windows: BTreeMap<i32, Vec<(NaiveTime, NaiveTime)>>,
    pub(crate) was_paused: bool,
    pub(crate) was_deleted: bool,
}

struct Segment {
    timing: Timing,
    first_version: i32,
    /// Its instants lie after this.
    after: DateTime<Utc>,
    /// Set when it is over.
    over: Option<Over>,
}

/// How far a segment got.
struct Over {
    /// What lies before this must be accounted for.
    must_before: DateTime<Utc>,
    /// And what lies up to here may be.
    may_until: DateTime<Utc>,
}

const TICK: TimeDelta = TimeDelta::milliseconds(1);

impl Expectations {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, names: 0, histories: BTreeMap::new() }
    }

    /// The store, without faults.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// A name that no schedule has had.
    pub(crate) fn new_name(&mut self) -> String {
        self.names += 1;
        format!("s{}", self.names)
    }

    /// The life of a schedule.
    pub(crate) fn history(&self, schedule: Uuid) -> Option<&History> {
        self.histories.get(&schedule)
    }

    /// The schedules that are not deleted, the first made first.
    pub(crate) async fn living(&self) -> Vec<schedule::Model> {
        schedule::Entity::find()
            .filter(schedule::Column::DeletedAt.is_null())
            .order_by_asc(schedule::Column::CreatedAt)
            .order_by_asc(schedule::Column::Name)
            .all(self.store.read())
            .await
            .unwrap()
    }

    /// Somebody ordered a schedule of this name at `now`: if it is there, it is expected to fire.
    pub(crate) async fn made(&mut self, name: &str, now: DateTime<Utc>) {
        let found = schedule::Entity::find().filter(schedule::Column::Name.eq(name));
        let Some(row) = found.one(self.store.read()).await.unwrap() else { return };
        let spec = Spec::of(&row);
        let timing = spec.timing.clone();
        let windows = self.windows(&row).await;
        let history = History {
            name: row.name,
            anchor: row.anchor_at.utc(),
            segments: vec![Segment { timing, first_version: row.version, after: now, over: None }],
            specs: BTreeMap::from([(row.version, spec)]),
            windows: BTreeMap::from([(row.version, windows)]),
            was_paused: false,
            was_deleted: false,
        };
        self.histories.insert(row.id, history);
    }

    /// Somebody ordered something about a schedule at `now`, and `before` it was like this. What
    /// became of it is read from the tables: an answer may have been lost.
    pub(crate) async fn touched(&mut self, before: &schedule::Model, now: DateTime<Utc>) {
        let found = schedule::Entity::find_by_id(before.id).one(self.store.read()).await.unwrap();
        let row = found.expect("a schedule is only marked as deleted");
        let cursor = before.next_scheduled_at.map(|at| at.utc());
        let old = Spec::of(before);
        let new = Spec::of(&row);
        let windows = self.windows(&row).await;
        // What a timing named up to the moment of its end is accounted for, if it had fires left.
        let must_before = match (is_spent(before), cursor) {
            (true, _) => last_accounted(&self.store, row.id).await,
            (false, Some(cursor)) => cursor.max(now + TICK),
            (false, None) => now + TICK,
        };
        let over = Over { must_before, may_until: now };
        let last_past = last_past(&self.store, row.id).await;
        let history = self.histories.get_mut(&row.id).expect("every schedule was ordered");
        history.was_paused |= !row.enabled;
        history.windows.insert(row.version, windows);
        if row.deleted_at.is_some() {
            history.was_deleted = true;
            history.close(over);
        } else if old.timing != new.timing || (cursor.is_none() && row.next_scheduled_at.is_some())
        {
            history.close(over);
            let timing = new.timing.clone();
            let first_version = row.version;
            // Where the clock was stepped back, the old timing is accounted for beyond now.
            let after = now.max(last_past);
            history.segments.push(Segment { timing, first_version, after, over: None });
        }
        history.specs.insert(row.version, new);
    }

    /// When the calendars of a schedule suppress it.
    async fn windows(&self, row: &schedule::Model) -> Vec<(NaiveTime, NaiveTime)> {
        let keys = row.calendars.clone().unwrap_or_default().0;
        let calendars = calendar::Entity::find().filter(calendar::Column::Id.is_in(keys));
        let time = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").expect("a time");
        let calendars = calendars.all(self.store.read()).await.unwrap().into_iter();
        let window = |row: calendar::Model| {
            let known = CALENDARS.iter().find(|(name, ..)| *name == row.name);
            let (_, from, to) = known.expect("a calendar of the table");
            (time(from), time(to))
        };
        calendars.map(window).collect()
    }

    /// Holds the ledger against all of it, at the `end`.
    pub(crate) async fn check(
        &mut self,
        fires: &[fire::Model],
        end: DateTime<Utc>,
    ) -> Result<(), String> {
        for row in self.living().await.iter().filter(|row| is_spent(row)) {
            let must_before = last_accounted(&self.store, row.id).await;
            let history = self.histories.get_mut(&row.id).expect("every schedule was ordered");
            history.close(Over { must_before, may_until: end });
        }
        let mut ledger: BTreeMap<Uuid, Vec<&fire::Model>> = BTreeMap::new();
        for fire in fires {
            ledger.entry(fire.schedule_id).or_default().push(fire);
        }
        for (id, history) in &self.histories {
            let rows = ledger.remove(id).unwrap_or_default();
            history.check(&rows, end).map_err(|what| format!("{}: {what}", history.name))?;
        }
        match ledger.keys().next() {
            Some(id) => Err(format!("the schedule {id} was never made, and fired")),
            None => Ok(()),
        }
    }
}

/// Whether it has had all the fires that it may have.
fn is_spent(row: &schedule::Model) -> bool {
    row.max_fires.is_some_and(|most| most <= row.fire_count)
}

/// Behind the last instant in a schedule's ledger.
async fn last_accounted(store: &Store, schedule: Uuid) -> DateTime<Utc> {
    let last = fire::Entity::find()
        .filter(fire::Column::ScheduleId.eq(schedule))
        .order_by_desc(fire::Column::LastScheduledAt)
        .one(store.read())
        .await
        .unwrap();
    last.map_or(DateTime::<Utc>::MIN_UTC, |fire| fire.last_scheduled_at.utc() + TICK)
}

/// The last instant in a schedule's ledger that had come when its row was written.
async fn last_past(store: &Store, schedule: Uuid) -> DateTime<Utc> {
    let fires = fire::Entity::find().filter(fire::Column::ScheduleId.eq(schedule));
    let fires = fires.all(store.read()).await.unwrap().into_iter();
    let past = fires.filter(|fire| fire.last_scheduled_at <= fire.claimed_at);
    past.map(|fire| fire.last_scheduled_at.utc()).max().unwrap_or(DateTime::<Utc>::MIN_UTC)
}

impl History {
    /// Whether a calendar of that version suppresses an instant: the wall clock shows a time within
    /// one of its windows.
    pub(crate) fn is_suppressed(&self, version: i32, at: DateTime<Utc>) -> bool {
        let zone: Tz = self.specs[&version].timing.zone.parse().expect("a zone");
        let time = at.with_timezone(&zone).time();
        self.windows[&version].iter().any(|(from, to)| *from <= time && time < *to)
    }

    fn close(&mut self, over: Over) {
        let last = self.segments.last_mut().expect("a life has a segment");
        last.over.get_or_insert(over);
    }

    /// The segment that a row is of.
    fn place(&self, row: &fire::Model) -> Option<usize> {
        let of = |segment: &Segment| segment.first_version <= row.schedule_version;
        self.segments.iter().rposition(of)
    }

    fn check(&self, rows: &[&fire::Model], end: DateTime<Utc>) -> Result<(), String> {
        // Which instants each row accounts for, by the segment of its version.
        let mut accounted: BTreeMap<DateTime<Utc>, Vec<&fire::Model>> = BTreeMap::new();
        let mut expected = Vec::new();
        // What somebody skips is accounted for ahead of its time.
        let skipped = rows.iter().filter(|row| row.reason == Reason::ByRequest);
        for (place, segment) in self.segments.iter().enumerate() {
            let ahead = skipped.clone().filter(|row| self.place(row) == Some(place));
            let ahead = ahead.map(|row| row.last_scheduled_at.utc()).max();
            expected.push(segment.instants(self.anchor, end, ahead));
        }
        for &row in rows {
            let place = self.place(row).ok_or("a fire of no version")?;
            let (first, last) = (row.scheduled_at.utc(), row.last_scheduled_at.utc());
            let instants: Vec<_> = expected[place].0.range(first..=last).collect();
            let (from, to) = (instants.first().map(|i| *i.0), instants.last().map(|i| *i.0));
            if from != Some(first) || to != Some(last) || instants.len() as i64 != row.count {
                let count = instants.len();
                return Err(format!("{count} instants were expected where there is {row:?}"));
            }
            if row.count == 1 && *instants[0].1 != row.kind {
                return Err(format!("{:?} was expected where there is {row:?}", instants[0].1));
            }
            for (at, _) in instants {
                accounted.entry(*at).or_default().push(row);
            }
        }
        if let Some((at, rows)) = accounted.iter().find(|(_, rows)| rows.len() > 1) {
            return Err(format!("{at} is accounted for {} times: {rows:#?}", rows.len()));
        }
        for (instants, must_before) in &expected {
            let mut must = instants.range(..*must_before);
            if let Some((at, kind)) = must.find(|(at, _)| !accounted.contains_key(*at)) {
                return Err(format!("{at} ({kind:?}) is not in the ledger"));
            }
        }
        Ok(())
    }
}

impl Segment {
    /// Its instants up to the `end`, or as far `ahead` as somebody skipped some, and before when they
    /// must be accounted for at the `end`.
    fn instants(
        &self,
        anchor: DateTime<Utc>,
        end: DateTime<Utc>,
        ahead: Option<DateTime<Utc>>,
    ) -> (BTreeMap<DateTime<Utc>, fire::Kind>, DateTime<Utc>) {
        let jitter = TimeDelta::seconds(self.timing.jitter_seconds);
        let (must_before, may_until) = match &self.over {
            None => (end - jitter + TICK, end),
            Some(over) => (over.must_before, over.may_until),
        };
        let until = may_until.max(must_before - TICK).min(end);
        let until = ahead.map_or(until, |ahead| ahead.max(until));
        let timing = oracle::Timing {
            expressions: self.timing.expressions.iter().map(String::as_str).collect(),
            zone: self.timing.zone.parse().expect("a zone that chrono-tz knows"),
            gap: self.timing.gap,
            overlap: self.timing.overlap,
            anchor,
            bounds: (self.timing.start_at, self.timing.end_at),
        };
        (oracle::fires(&timing, self.after, until), must_before)
    }
}
