use entity::{
    Keys, Strings,
    schedule::{CatchUp, DstGap, DstOverlap, Model, Overlap},
};
use serde_json::json;

use super::*;

const MINUTE: i64 = 60_000;

fn row(version: i32, fire_count: i64) -> Model {
    Model {
        id: Uuid::from_u128(1),
        namespace_id: Uuid::from_u128(2),
        name: "tick".to_owned(),
        note: String::new(),
        tags: Strings::default(),
        workflow_id: Uuid::from_u128(3),
        version,
        fires_version: version,
        expressions: Strings(vec!["* * * * *".to_owned()]),
        zone: "UTC".to_owned(),
        dst_gap: DstGap::Shift,
        dst_overlap: DstOverlap::First,
        anchor_at: Timestamp(0),
        start_at: None,
        end_at: None,
        jitter_ms: 0,
        calendars: None,
        max_fires: None,
        fire_count,
        fires_an_hour: 60,
        catch_up: CatchUp::Latest,
        grace_ms: 300_000,
        catch_up_max: 100,
        catch_up_spacing_ms: 0,
        catch_up_window_ms: DAY_MS,
        overlap: Overlap::Skip,
        buffer_limit: None,
        group_id: None,
        priority: 0,
        start_deadline_ms: None,
        context: json!({}),
        retention_days: None,
        ping: None,
        shard: 0,
        enabled: true,
        paused_reason: None,
        paused_by: None,
        paused_at: None,
        paused_until: None,
        paused_missed: None,
        paused_window_id: None,
        pause_from: None,
        pause_window_id: None,
        next_scheduled_at: None,
        next_fire_at: None,
        last_fire_at: None,
        module: None,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        deleted_at: None,
        changed: 0,
    }
}

/// A version that was made at that minute.
fn version(version: i32, minute: i64, spec: &Spec, change: &str) -> schedule_version::Model {
    schedule_version::Model {
        schedule_id: Uuid::from_u128(1),
        version,
        snapshot: json!(spec),
        change: change.to_owned(),
        changed_by: "ada".to_owned(),
        changed_at: Timestamp(minute * MINUTE),
    }
}

fn life(row: &Model, versions: Vec<schedule_version::Model>) -> ScheduleLife {
    ScheduleLife::of(row, versions, &Cache::new(10)).unwrap()
}

fn minutely() -> Spec {
    Spec::on("tick", "* * * * *")
}

#[test]
fn an_edit_begins_a_period_only_if_it_changes_the_instants() {
    let renamed = Spec { name: "tock".to_owned(), retention_days: Some(3), ..minutely() };
    let mut late = renamed.clone();
    late.timing.jitter_seconds = 30;
    let hourly = Spec::on("tock", "0 * * * *");
    let versions = vec![
        version(3, 20, &late, "jitter"),
        version(1, 0, &minutely(), "made"),
        version(2, 10, &renamed, "name"),
        version(4, 90, &hourly, "expressions"),
        version(5, 99, &minutely(), "written after the row was read"),
    ];
    let life = life(&row(4, 0), versions);
    let periods: Vec<_> =
        life.periods.iter().map(|one| (one.first_version, one.began.0, one.ended)).collect();
    let changed = Timestamp(90 * MINUTE);
    assert_eq!(periods, [(1, 0, Some(changed)), (4, changed.0, None)]);
    assert!(life.periods.iter().all(|one| !one.may_stop));
    // Ninety minutes, and then the hours 2 and 3.
    let range = CheckedRange { from: Timestamp(1), until: Timestamp(181 * MINUTE) };
    assert_eq!(life.count(range), 90 + 2);
}

#[test]
fn a_schedule_may_stop_where_it_was_deleted_or_had_its_maximum() {
    let few = Spec { max_fires: Some(5), ..minutely() };
    let more = Spec { max_fires: Some(9), ..minutely() };
    let versions = vec![
        version(1, 0, &few, "made"),
        version(2, 10, &more, "maxFires"),
        version(3, 20, &minutely(), RESTORED),
    ];
    let stops = |fires| {
        let life = life(&row(3, fires), versions.clone());
        life.periods.iter().map(|one| one.may_stop).collect::<Vec<_>>()
    };
    assert_eq!(stops(4), [false, true, false], "it had fewer than five");
    assert_eq!(stops(5), [true, true, false]);
}

#[test]
fn rows_are_kept_by_the_shortest_retention_of_the_time() {
    let short = Spec { retention_days: Some(1), ..minutely() };
    let now = Timestamp(10 * DAY_MS);
    let day = |days: i64| Timestamp(days * DAY_MS + MARGIN_MS);
    assert_eq!(life(&row(1, 0), vec![]).kept_from(7, now), day(3));
    let versions = vec![version(1, 0, &short, "made"), version(2, 60, &minutely(), "days")];
    let kept = life(&row(2, 0), versions).kept_from(7, now);
    assert_eq!(kept, day(3), "what the first version removed is older");
    let changed_at = Timestamp(9 * DAY_MS);
    let later = schedule_version::Model { changed_at, ..version(2, 0, &minutely(), "days") };
    let versions = vec![version(1, 0, &short, "made"), later];
    assert_eq!(life(&row(2, 0), versions).kept_from(7, now), day(8));
}

#[test]
fn a_deleted_schedule_ends_with_its_deletion_and_is_kept_as_its_namespace_says() {
    let deleted = Timestamp(5 * DAY_MS);
    let short = Model { retention_days: Some(1), deleted_at: Some(deleted), ..row(1, 0) };
    let life = life(&short, vec![]);
    assert_eq!(life.periods[0].ended, Some(deleted));
    // Its last day was removed by its own retention.
    assert_eq!(life.kept_from(30, deleted), Timestamp(4 * DAY_MS + MARGIN_MS));
    let later = Timestamp(12 * DAY_MS);
    assert_eq!(life.kept_from(7, later), Timestamp(5 * DAY_MS + MARGIN_MS));
}

#[test]
fn the_calendars_of_a_version_are_known_by_their_keys() {
    let (mine, other) = (Uuid::from_u128(21), Uuid::from_u128(22));
    let named = Spec { calendars: vec!["night".to_owned()], ..minutely() };
    let mut with_keys = version(2, 10, &named, "calendars");
    with_keys.snapshot[CALENDAR_KEYS] = json!([other]);
    let versions = vec![
        version(1, 0, &minutely(), "made"),
        with_keys,
        version(3, 20, &named, "an earlier release did not keep the keys"),
        version(4, 30, &named, "name"),
    ];
    let row = Model { calendars: Some(Keys(vec![mine])), ..row(4, 0) };
    let life = life(&row, versions);
    let keys: Vec<_> = life.named.iter().map(|named| named.keys.clone()).collect();
    assert_eq!(keys, [Some(vec![]), Some(vec![other]), None, Some(vec![mine])]);
    assert_eq!(life.calendar_keys(), HashSet::from([mine, other]));
}

#[test]
fn a_version_that_cannot_be_read_is_named() {
    let mut bad = version(1, 0, &minutely(), "made");
    bad.snapshot = json!({ "timing": 7 });
    let error = ScheduleLife::of(&row(1, 0), vec![bad], &Cache::new(10)).unwrap_err();
    assert!(error.starts_with("version 1 of the schedule can no longer be read: "), "{error}");
}
