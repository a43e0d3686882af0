//! What calendars suppressed, and when: a calendar may be drawn anew at any time, and each instant
//! is judged by what it says in the transaction that writes the instant's row. The database itself
//! notes with each row in which era of the calendars that was.

use std::collections::{BTreeMap, HashMap};

use carillon::store::{DatabaseTransaction, Store};
use chrono::{DateTime, NaiveTime, Utc};
use chrono_tz::Tz;
use entity::calendar::{self, Mode};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult};
use timetable::CalendarEntries;
use uuid::Uuid;

/// A time of the day, in which a calendar suppresses fires, or outside of which.
#[derive(Clone, Copy, Debug)]
struct Window {
    mode: Mode,
    from: NaiveTime,
    to: NaiveTime,
}

/// All that calendars have said.
#[derive(Default)]
pub(crate) struct Eras {
    /// By the sum of their versions, which each change makes greater.
    said: BTreeMap<i64, BTreeMap<String, Window>>,
    of_fires: HashMap<Uuid, i64>,
}

/// Lets the database note the era of each row of the ledger. On PostgreSQL a row that is moved from
/// one partition to another is noted again, and stays in its era.
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
    /// Notes what the calendars say now.
    pub(crate) async fn note(&mut self, store: &Store) {
        let rows = calendar::Entity::find().all(store.read()).await.unwrap();
        let era = rows.iter().map(|row| i64::from(row.version)).sum();
        let time = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").expect("a time");
        let window = |row: calendar::Model| {
            let entries: CalendarEntries = serde_json::from_value(row.definition).unwrap();
            let window = &entries.windows[0];
            let (from, to) = (time(&window.from), time(&window.to));
            (row.name, Window { mode: row.mode, from, to })
        };
        self.said.insert(era, rows.into_iter().map(window).collect());
    }

    /// Reads in which era each row was written.
    pub(crate) async fn read(&mut self, store: &Store) {
        #[derive(FromQueryResult)]
        struct Row {
            fire_id: Uuid,
            era: i64,
        }
        let statement = store.dialect().statement("SELECT fire_id, era FROM era", []);
        let rows = Row::find_by_statement(statement).all(store.read()).await.unwrap();
        self.of_fires = rows.into_iter().map(|row| (row.fire_id, row.era)).collect();
    }

    /// Whether one of these calendars suppressed an instant when that row was written: the wall
    /// clock shows a time that it excludes.
    pub(crate) fn suppress(
        &self,
        row: Uuid,
        calendars: &[String],
        zone: &str,
        at: DateTime<Utc>,
    ) -> bool {
        if calendars.is_empty() {
            return false;
        }
        let zone: Tz = zone.parse().expect("a zone");
        let time = at.with_timezone(&zone).time();
        let said = &self.said[&self.of_fires[&row]];
        calendars.iter().any(|name| {
            let Window { mode, from, to } = said[name];
            let is_within = from <= time && time < to;
            match mode {
                Mode::Exclude => is_within,
                Mode::Only => !is_within,
            }
        })
    }
}
