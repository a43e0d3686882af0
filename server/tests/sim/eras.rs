//! The effect of calendars over time. Calendars may change at any time. Each instant is judged by
//! the calendars in force at that instant, as far as the transaction that writes the row can know
//! them. A trigger in the database records for each row in which era of the calendars it was
//! written.

use std::collections::{BTreeMap, HashMap};

use carillon::store::{DatabaseTransaction, Store};
use chrono::{DateTime, NaiveTime, Utc};
use chrono_tz::Tz;
use entity::calendar::{self, Mode};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult};
use timetable::CalendarEntries;
use uuid::Uuid;

/// A time of the day, inside or outside of which a calendar suppresses fires.
#[derive(Clone, Copy, Debug)]
struct Window {
    mode: Mode,
    from: NaiveTime,
    to: NaiveTime,
    /// The calendar's version, and the time from which it is in force.
    version: i32,
    since: DateTime<Utc>,
}

/// All versions of all calendars.
#[derive(Default)]
pub(crate) struct Eras {
    /// The eras. An era's number is the sum of all calendars' versions, which each change
    /// increases.
    said: BTreeMap<i64, BTreeMap<String, Window>>,
    of_fires: HashMap<Uuid, i64>,
    /// The number of eras that the writer of a row may know. On PostgreSQL, calendars may change
    /// between the read and the write of a claim.
    known: usize,
}

/// Makes the database record the era of each ledger row. On PostgreSQL a row that moves to another
/// partition is recorded again, and keeps its era.
pub(crate) async fn install(store: &Store, tx: &DatabaseTransaction) {
    let note = "INSERT INTO era (fire_id, era) SELECT NEW.id, \
       (SELECT coalesce(sum(version), 0) FROM calendar) WHERE true ON CONFLICT DO NOTHING;";
    let statements = if store.dialect().is_postgres() {
        vec![
            "CREATE TABLE era (fire_id uuid PRIMARY KEY, era bigint NOT NULL)".to_owned(),
            format!(
                "CREATE FUNCTION sim_era() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {note} \
                   RETURN NULL; END $$"
            ),
            "CREATE TRIGGER sim_era AFTER INSERT ON fire FOR EACH ROW EXECUTE FUNCTION sim_era()"
                .to_owned(),
        ]
    } else {
        vec![
            "CREATE TABLE era (fire_id BLOB PRIMARY KEY, era BIGINT NOT NULL)".to_owned(),
            format!("CREATE TRIGGER sim_era AFTER INSERT ON fire BEGIN {note} END"),
        ]
    };
    for statement in statements {
        tx.execute_unprepared(&statement).await.unwrap();
    }
}

impl Eras {
    /// Records the current calendars.
    pub(crate) async fn note(&mut self, store: &Store) {
        let rows = calendar::Entity::find().all(store.read()).await.unwrap();
        let era = rows.iter().map(|row| i64::from(row.version)).sum();
        let time = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").expect("a time");
        let window = |row: calendar::Model| {
            let entries: CalendarEntries = serde_json::from_value(row.definition).unwrap();
            let window = &entries.windows[0];
            let (from, to) = (time(&window.from), time(&window.to));
            let since = row.updated_at.utc();
            (row.name, Window { mode: row.mode, from, to, version: row.version, since })
        };
        self.said.insert(era, rows.into_iter().map(window).collect());
    }

    /// Reads the era in which each row was written.
    pub(crate) async fn read(&mut self, store: &Store) {
        #[derive(FromQueryResult)]
        struct Row {
            fire_id: Uuid,
            era: i64,
        }
        let statement = store.dialect().statement("SELECT fire_id, era FROM era", []);
        let rows = Row::find_by_statement(statement).all(store.read()).await.unwrap();
        self.of_fires = rows.into_iter().map(|row| (row.fire_id, row.era)).collect();
        self.known = if store.dialect().is_postgres() { 3 } else { 1 };
    }

    /// Whether a row may say that one of these calendars suppressed an instant (or, with another
    /// verdict, that none did).
    pub(crate) fn allow(
        &self,
        row: Uuid,
        is_suppressed: bool,
        calendars: &[String],
        zone: &str,
        at: DateTime<Utc>,
    ) -> bool {
        if calendars.is_empty() {
            return !is_suppressed;
        }
        let era = self.of_fires[&row];
        let mut known = self.said.range(..=era).rev().map(|(_, said)| said).take(self.known);
        known.any(|said| self.suppress(said, calendars, zone, at) == is_suppressed)
    }

    /// Whether one of these calendars suppresses an instant according to an era: the wall clock
    /// shows a time that the calendar excludes.
    fn suppress(
        &self,
        known: &BTreeMap<String, Window>,
        calendars: &[String],
        zone: &str,
        at: DateTime<Utc>,
    ) -> bool {
        let zone: Tz = zone.parse().expect("a zone");
        let time = at.with_timezone(&zone).time();
        calendars.iter().any(|name| {
            let Window { mode, from, to, .. } = self.in_force(name, known[name].version, at);
            let is_within = from <= time && time < to;
            match mode {
                Mode::Exclude => is_within,
                Mode::Only => !is_within,
            }
        })
    }

    /// The version of a calendar that was in force at an instant, among the versions up to the
    /// given one. If none was in force yet, this is the first version.
    fn in_force(&self, name: &str, version: i32, at: DateTime<Utc>) -> Window {
        let windows = self.said.values().filter_map(|said| said.get(name));
        let of_then = windows.filter(|window| window.version <= version);
        let order = |window: &&Window| (window.since <= at, window.version);
        let mut of_then: Vec<&Window> = of_then.collect();
        of_then.sort_by_key(order);
        let begun = of_then.last().filter(|window| window.since <= at);
        **begun.or(of_then.first()).expect("it was made")
    }
}
