//! The required final content of the ledger, computed independently of the engine: from the naive
//! oracle, and from the requests of operators and their times.
//!
//! A schedule's life is divided into segments. A new segment begins when a change affects its
//! fires: when they occur, how they are decided, or what they run. Each segment has instants that
//! must be accounted for, and instants that may be: those that were claimed ahead of their time,
//! because a clock was stepped back later.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use carillon::{model::Spec, store::Store};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{calendar, fire, fire::Reason, schedule, schedule_version};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::{
    backfills,
    eras::Eras,
    misfires::{Case, Span},
    moments::{Moment, Turns},
    pauses::Pauses,
    removals,
    segments::{Instants, Over, Segment, TICK, within},
    windows::Windows,
};

/// All requests that concern the ledger.
pub(crate) struct Expectations {
    store: Store,
    names: u32,
    histories: BTreeMap<Uuid, History>,
    pub(crate) eras: Eras,
    pub(crate) windows: Windows,
    /// How many days a namespace without its own retention keeps history; `None` if history is
    /// never removed.
    server_days: Option<i64>,
    /// The shortest retention that the namespace ever had.
    namespace_days: Option<i64>,
}

/// A schedule's life.
pub(crate) struct History {
    pub(crate) name: String,
    anchor: DateTime<Utc>,
    segments: Vec<Segment>,
    /// The definitions that were in force, by version.
    pub(crate) specs: BTreeMap<i32, Spec>,
    /// The calendars that these definitions named.
    calendars: BTreeMap<i32, Vec<String>>,
    pub(crate) pauses: Pauses,
    pub(crate) was_deleted: bool,
}

impl Expectations {
    /// Creates the expectations of a world whose server keeps history for that many days; forever
    /// if `None`.
    pub(crate) fn new(store: Store, server_days: Option<i64>) -> Self {
        Self {
            store,
            names: 0,
            histories: BTreeMap::new(),
            eras: Eras::default(),
            windows: Windows::default(),
            server_days,
            namespace_days: server_days,
        }
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

    /// The schedules that are not deleted, oldest first.
    pub(crate) async fn living(&self) -> Vec<schedule::Model> {
        schedule::Entity::find()
            .filter(schedule::Column::DeletedAt.is_null())
            .order_by_asc(schedule::Column::CreatedAt)
            .order_by_asc(schedule::Column::Name)
            .all(self.store.read())
            .await
            .unwrap()
    }

    /// The minimum number of days for which the history of a schedule is kept, over all edits;
    /// `None` if history is never removed.
    pub(crate) fn kept_days(&self, schedule: Option<Uuid>) -> Option<i64> {
        let usual = self.namespace_days?;
        let history = schedule.and_then(|schedule| self.histories.get(&schedule));
        let Some(history) = history.filter(|history| !history.was_deleted) else {
            // After a schedule is deleted, its history is kept for as long as that of its
            // namespace.
            let specs = history.into_iter().flat_map(|history| history.specs.values());
            return Some(specs.filter_map(|spec| spec.retention_days).fold(usual, i64::min));
        };
        history.specs.values().map(|spec| spec.retention_days.unwrap_or(usual)).min()
    }

    /// Records that the namespace's retention may have been set to `days`.
    pub(crate) fn keeps(&mut self, days: Option<i64>) {
        let Some(server) = self.server_days else { return };
        let days = days.unwrap_or(server);
        self.namespace_days = self.namespace_days.map(|before| before.min(days));
    }

    /// Records a request at `now` to create a schedule with this name. If the schedule exists, it
    /// is expected to fire.
    pub(crate) async fn made(&mut self, name: &str, now: DateTime<Utc>) {
        let found = schedule::Entity::find()
            .filter(schedule::Column::Name.eq(name))
            .filter(schedule::Column::DeletedAt.is_null());
        let Some(row) = found.one(self.store.read()).await.unwrap() else { return };
        if self.histories.contains_key(&row.id) {
            return;
        }
        let spec = Spec::of(&row);
        let timing = spec.timing.clone();
        let calendars = self.calendars(&row).await;
        let history = History {
            name: row.name,
            anchor: row.anchor_at.utc(),
            segments: vec![Segment { timing, first_version: row.version, after: now, over: None }],
            specs: BTreeMap::from([(row.version, spec)]),
            calendars: BTreeMap::from([(row.version, calendars)]),
            pauses: Pauses::default(),
            was_deleted: false,
        };
        self.histories.insert(row.id, history);
    }

    /// Records a request at `now` about a schedule whose row was `before`. The result is read from
    /// the tables, because the answer may have been lost.
    pub(crate) async fn touched(&mut self, before: &schedule::Model, now: DateTime<Utc>) {
        let found = schedule::Entity::find_by_id(before.id).one(self.store.read()).await.unwrap();
        let row = found.expect("a schedule is only marked as deleted");
        let cursor = before.next_scheduled_at.map(|at| at.utc());
        let old = Spec::of(before);
        let new = Spec::of(&row);
        let calendars = self.calendars(&row).await;
        // All instants up to the end of the old timing are accounted for, if the schedule may still
        // fire.
        let must_before = match (is_spent(before), cursor) {
            (true, _) => last_accounted(&self.store, row.id).await,
            (false, Some(cursor)) => cursor.max(now + TICK),
            // The old timing had already ended, perhaps on a clock that has been stepped back
            // since.
            (false, None) => last_accounted(&self.store, row.id).await.max(now + TICK),
        };
        let has_other_work = self.has_other_work(before, &row).await;
        // If a clock was set back, backfills may have run instants after the present. These
        // instants have their rows, but the timing may produce them again.
        let is_beyond = before.last_fire_at.is_some_and(|last| last.utc() > now);
        let last_past = match is_beyond {
            true => last_past(&self.store, row.id).await,
            false => DateTime::<Utc>::MIN_UTC,
        };
        let history = self.histories.get_mut(&row.id).expect("every schedule was ordered");
        history.pauses.note(before, &row, now);
        let has_others = history.calendars[&before.version] != calendars;
        // If the timing stays the same, an instant that is due but still waits for its jitter
        // belongs to the new version.
        let is_same = old.timing == new.timing && !has_others && row.deleted_at.is_none();
        let left = row.next_scheduled_at.map(|at| at.utc()).filter(|at| is_same && *at <= now);
        let over = Over {
            must_before: left.unwrap_or(must_before),
            may_until: left.map_or(now, |left| left - TICK),
        };
        history.calendars.insert(row.version, calendars);
        if row.deleted_at.is_some() {
            history.was_deleted = true;
            history.close(over);
        } else if has_other_fires(&old, &new)
            || has_other_work
            || has_others
            || begins_again(before, &row)
        {
            // With the same timing, the instants stay the same, but none that was due before the
            // edit runs with the new definition. With other calendars, the instants begin again
            // from here, if all clocks were stepped back.
            history.close(over);
            let timing = new.timing.clone();
            let first_version = row.version;
            // If the clock was stepped back, the old timing is accounted for beyond the present.
            // The same timing produces no instants before its own beginning.
            let begun = history.segments.last().map(|last| last.after).filter(|_| is_same);
            let after = left.map_or(now.max(last_past), |left| left - TICK);
            let after = begun.map_or(after, |begun| begun.max(after));
            history.segments.push(Segment { timing, first_version, after, over: None });
        }
        history.specs.insert(row.version, new);
    }

    /// Whether an edit changed the workflow that the schedule runs. Modules declare workflows
    /// separately from schedules.
    async fn has_other_work(&self, before: &schedule::Model, row: &schedule::Model) -> bool {
        let read = self.store.read();
        let work = async |version: i32| {
            let found = schedule_version::Entity::find_by_id((row.id, version)).one(read);
            found.await.unwrap().expect("each version is kept").snapshot["workflow"].clone()
        };
        let is_declared = row.module.is_some();
        before.workflow_id != row.workflow_id
            || (before.version != row.version
                && !is_declared
                && work(before.version).await != work(row.version).await)
    }

    /// The calendars that a schedule names.
    async fn calendars(&self, row: &schedule::Model) -> Vec<String> {
        let keys = row.calendars.clone().unwrap_or_default().0;
        let calendars = calendar::Entity::find().filter(calendar::Column::Id.is_in(keys));
        let calendars = calendars.all(self.store.read()).await.unwrap();
        calendars.into_iter().map(|calendar| calendar.name).collect()
    }

    /// Compares the whole ledger with the expectations, at the instant `end`.
    pub(crate) async fn check(
        &mut self,
        fires: impl Iterator<Item = &fire::Model>,
        turns: &Turns,
        end: DateTime<Utc>,
    ) -> Result<(), String> {
        self.eras.read(&self.store).await;
        for row in self.living().await.iter().filter(|row| is_spent(row)) {
            let must_before = last_accounted(&self.store, row.id).await;
            let history = self.histories.get_mut(&row.id).expect("every schedule was ordered");
            history.close(Over { must_before, may_until: end });
        }
        let backfilled = backfills::started(&self.store).await;
        let mut ledger: BTreeMap<Uuid, Vec<&fire::Model>> = BTreeMap::new();
        for fire in fires {
            ledger.entry(fire.schedule_id).or_default().push(fire);
        }
        for (id, history) in &self.histories {
            let rows = ledger.remove(id).unwrap_or_default();
            let checked = history.check(&rows, &self.eras, &self.windows, &backfilled, turns, end);
            checked.map_err(|what| format!("{}: {what}", history.name))?;
        }
        match ledger.keys().next() {
            Some(id) => Err(format!("the schedule {id} was never made, and fired")),
            None => Ok(()),
        }
    }
}

/// Whether two definitions differ in when fires occur or how they are decided. Descriptions,
/// priorities and retention do not matter.
fn has_other_fires(old: &Spec, new: &Spec) -> bool {
    let bare = |spec: &Spec| Spec {
        name: String::new(),
        note: String::new(),
        tags: vec![],
        group: None,
        priority: 0,
        retention_days: None,
        ping: None,
        ..spec.clone()
    };
    bare(old) != bare(new)
}

/// Whether an edit makes a schedule fire again after its end, if any instants are left.
fn begins_again(before: &schedule::Model, row: &schedule::Model) -> bool {
    let may_again = is_spent(before) && !is_spent(row);
    may_again || (before.next_scheduled_at.is_none() && row.next_scheduled_at.is_some())
}

/// Whether the schedule has had its maximum number of fires.
fn is_spent(row: &schedule::Model) -> bool {
    row.max_fires.is_some_and(|most| most <= row.fire_count)
}

/// All rows that were ever in a schedule's ledger.
async fn rows_of(store: &Store, schedule: Uuid) -> Vec<fire::Model> {
    let fires = fire::Entity::find().filter(fire::Column::ScheduleId.eq(schedule));
    let mut fires = fires.all(store.read()).await.unwrap();
    let gone = removals::gone::<fire::Model>(store, "fire").await.into_iter();
    fires.extend(gone.filter(|fire| fire.schedule_id == schedule));
    fires
}

/// The instant after the last one in a schedule's ledger that the schedule's own timing produced.
async fn last_accounted(store: &Store, schedule: Uuid) -> DateTime<Utc> {
    let backfilled = backfills::started(store).await;
    let fires = rows_of(store, schedule).await.into_iter();
    let own = fires.filter(|fire| !backfilled.contains(&fire.id));
    let last = own.map(|fire| fire.last_scheduled_at.utc() + TICK).max();
    last.unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// The last instant in a schedule's ledger that had come when its row was written.
async fn last_past(store: &Store, schedule: Uuid) -> DateTime<Utc> {
    let fires = rows_of(store, schedule).await.into_iter();
    let past = fires.filter(|fire| fire.last_scheduled_at <= fire.claimed_at);
    past.map(|fire| fire.last_scheduled_at.utc()).max().unwrap_or(DateTime::<Utc>::MIN_UTC)
}

impl History {
    /// The longest delay of a fire that any version of the schedule allowed.
    pub(crate) fn longest_jitter(&self) -> TimeDelta {
        let jitters = self.specs.values().map(|spec| spec.timing.jitter_seconds);
        TimeDelta::seconds(jitters.max().unwrap_or_default())
    }

    /// Whether the schedule's fires were changed after that version.
    pub(crate) fn has_other_fires_after(&self, version: i32) -> bool {
        self.segments.last().is_some_and(|last| last.first_version > version)
    }

    /// Whether a row may say that a calendar suppressed an instant, or that none did, as far as its
    /// writer could know.
    pub(crate) fn may_say(
        &self,
        row: &fire::Model,
        is_suppressed: bool,
        eras: &Eras,
        at: DateTime<Utc>,
    ) -> bool {
        let version = &row.schedule_version;
        eras.allow(
            row.id,
            is_suppressed,
            &self.calendars[version],
            &self.specs[version].timing.zone,
            at,
        )
    }

    /// Whether a fire that started did so under its own version: the definition in force at that
    /// moment must have the same fires.
    fn still_fires(&self, started: &Moment) -> Result<(), String> {
        let of = |version: i64| {
            let version = i32::try_from(version).unwrap();
            Some((self.specs.get(&version)?, self.calendars.get(&version)?))
        };
        let (Some(own), Some(other)) = (of(started.version), of(started.in_force)) else {
            return Ok(());
        };
        if has_other_fires(own.0, other.0) || own.1 != other.1 {
            return Err("it started, and the version in force has other fires".to_owned());
        }
        Ok(())
    }

    fn close(&mut self, over: Over) {
        let last = self.segments.last_mut().expect("a life has a segment");
        last.over.get_or_insert(over);
    }

    /// The segment that a row belongs to.
    fn place(&self, row: &fire::Model) -> Option<usize> {
        let of = |segment: &Segment| segment.first_version <= row.schedule_version;
        self.segments.iter().rposition(of)
    }

    /// Checks the rows of this life, up to the `end`.
    fn check(
        &self,
        rows: &[&fire::Model],
        eras: &Eras,
        windows: &Windows,
        backfilled: &BTreeSet<Uuid>,
        turns: &Turns,
        end: DateTime<Utc>,
    ) -> Result<(), String> {
        let expected = self.expected(rows, end);
        let mut accounted = Accounted::new();
        let mut together: HashMap<(i64, i64), Vec<&Moment>> = HashMap::new();
        for made in rows.iter().filter(|row| !backfilled.contains(&row.id)) {
            let made = &turns.made[&made.id];
            together.entry((made.claimed_at, made.version)).or_default().push(made);
        }
        for &row in rows {
            if backfilled.contains(&row.id) {
                // The instants of a backfill were already compared with the oracle when the
                // backfill was requested.
                accounted.entry(row.scheduled_at.utc()).or_default().push(row);
                continue;
            }
            let place = self.place(row).ok_or("a fire of no version")?;
            for at in self.instants_of(row, &expected[place], eras)? {
                accounted.entry(at).or_default().push(row);
            }
            if let Some(started) = turns.started.get(&row.id) {
                self.still_fires(started).map_err(|what| format!("{what}: {started:?}"))?;
            }
            let made = &turns.made[&row.id];
            let together = &together[&(made.claimed_at, made.version)];
            self.judge(row, made, together, &expected[place], eras, windows)?;
        }
        accounted_once(&accounted, backfilled)?;
        all_accounted(&expected, &accounted)
    }

    /// The instants of each segment. Skipped instants may be accounted for ahead of their time.
    fn expected(&self, rows: &[&fire::Model], end: DateTime<Utc>) -> Vec<Instants> {
        let of_segment = |(place, segment): (usize, &Segment)| {
            let own = rows.iter().filter(|row| self.place(row) == Some(place));
            let skipped = own.clone().filter(|row| row.reason == Reason::ByRequest);
            let ahead = skipped.map(|row| row.last_scheduled_at.utc()).max();
            let seen = own.map(|row| row.claimed_at.utc()).max();
            segment.instants(self.anchor, end, ahead, seen)
        };
        self.segments.iter().enumerate().map(of_segment).collect()
    }

    /// The instants that a row accounts for: all expected instants from its first to its last.
    fn instants_of(
        &self,
        row: &fire::Model,
        expected: &Instants,
        eras: &Eras,
    ) -> Result<Vec<DateTime<Utc>>, String> {
        let (first, last) = (row.scheduled_at.utc(), row.last_scheduled_at.utc());
        let instants = expected.all.range(first..=last);
        let instants: Vec<_> = instants.filter(|(at, _)| **at <= expected.may_until).collect();
        let (from, to) = (instants.first().map(|i| *i.0), instants.last().map(|i| *i.0));
        if from != Some(first) || to != Some(last) || instants.len() as i64 != row.count {
            let count = instants.len();
            return Err(format!("{count} instants were expected where there is {row:?}"));
        }
        if row.count == 1 && *instants[0].1 != row.kind {
            return Err(format!("{:?} was expected where there is {row:?}", instants[0].1));
        }
        let is_suppressed = row.reason == Reason::Calendar;
        match instants.iter().find(|(at, _)| !self.may_say(row, is_suppressed, eras, **at)) {
            Some((at, _)) => Err(format!("what calendars said of {at} does not fit {row:?}")),
            None => Ok(instants.into_iter().map(|(at, _)| *at).collect()),
        }
    }

    /// Judges the verdict that a row had when it was written. `made` is that state of the row,
    /// `together` are the rows of the same claim.
    fn judge(
        &self,
        row: &fire::Model,
        made: &Moment,
        together: &[&Moment],
        expected: &Instants,
        eras: &Eras,
        windows: &Windows,
    ) -> Result<(), String> {
        let count = |span: Span, is_meant: &dyn Fn(DateTime<Utc>) -> bool| {
            within(&expected.all, span).filter(|(at, _)| is_meant(**at)).count()
        };
        let case = Case {
            made,
            last_at: row.last_scheduled_at.0,
            spec: &self.specs[&row.schedule_version],
            at_most: &|span| count(span, &|at| self.may_say(row, false, eras, at)),
            at_least: &|span| count(span, &|at| !self.may_say(row, true, eras, at)),
            together,
            known_from: windows.known_from(made.scheduled_at),
            known_until: windows.known_until(made.scheduled_at, made.claimed_at),
            // A window may have ended the pause instead.
            ended_by: self
                .pauses
                .ended_by(row)
                .filter(|_| !windows.cover(row, self.longest_jitter())),
        };
        case.judge().map_err(|what| format!("{what}: {made:?}, now {row:?}"))
    }
}

/// The rows that account for each instant.
type Accounted<'a> = BTreeMap<DateTime<Utc>, Vec<&'a fire::Model>>;

fn accounted_once(accounted: &Accounted<'_>, backfilled: &BTreeSet<Uuid>) -> Result<(), String> {
    let is_twice = |rows: &[&fire::Model]| rows.len() > 1 && !was_forgotten(rows, backfilled);
    match accounted.iter().find(|(_, rows)| is_twice(rows)) {
        Some((at, rows)) => Err(format!("{at} is accounted for {} times: {rows:#?}", rows.len())),
        None => Ok(()),
    }
}

fn all_accounted(expected: &[Instants], accounted: &Accounted<'_>) -> Result<(), String> {
    for Instants { all, may_until, must_before } in expected {
        let mut must = all.range(..*must_before).filter(|(at, _)| *at <= may_until);
        if let Some((at, kind)) = must.find(|(at, _)| !accounted.contains_key(*at)) {
            let before = accounted.range(..at).next_back().map(|(_, rows)| rows);
            let after = accounted.range(at..).next().map(|(_, rows)| rows);
            return Err(format!(
                "{at} ({kind:?}) is not in the ledger, between {before:#?} and {after:#?}"
            ));
        }
    }
    Ok(())
}

/// Whether several rows of one instant are permitted: all except the first belong to backfills of a
/// period whose history had already been removed.
fn was_forgotten(rows: &[&fire::Model], backfilled: &BTreeSet<Uuid>) -> bool {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| (row.claimed_at, row.id));
    let settled = |row: &fire::Model| row.decided_at.unwrap_or(row.claimed_at);
    rows.windows(2).all(|pair| {
        let days = pair[1].claimed_at.utc() - settled(pair[0]).utc();
        backfilled.contains(&pair[1].id) && days >= TimeDelta::days(1)
    })
}
