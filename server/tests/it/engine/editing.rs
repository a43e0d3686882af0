//! Edits while the engine runs: which fires they leave alone, and which they affect.

use std::{sync::Arc, time::Duration};

use carillon::{
    access::{Grants, Viewer, ViewerKind},
    commands::{CalendarEdit, Call, CommandError, Commands, Edit},
    model::Spec,
    target::{Executor, Policy},
};
use entity::{
    Keys,
    calendar::Mode,
    fire::{self, Reason, Verdict},
    schedule::{self, CatchUp, Overlap},
    schedule_version,
    user::Role,
};
use sea_orm::{EntityTrait, PaginatorTrait, QueryOrder};
use serde_json::json;
use uuid::Uuid;

use super::{
    forge,
    gate::Gate,
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    what_people_only_read_and_what_orders_runs_costs_no_fire_that_is_on_its_way,
    an_edit_of_policies_starts_nothing_of_the_past,
    a_deadline_counts_wherever_in_a_reordered_queue_its_fire_waits,
    what_is_due_when_a_calendar_changes_has_the_fate_that_the_old_one_gives_it,
    a_change_of_a_calendar_leaves_what_is_due_to_whoever_claims_it,
    every_schedule_that_names_a_calendar_is_asked_before_it_changes,
    an_edit_after_the_end_of_a_pause_tells_it_from_the_outage,
    what_nothing_can_run_any_more_is_written_ahead_of_an_order,
);

pub(crate) fn ada() -> Viewer {
    let (kind, role) = (ViewerKind::User, Role::Editor);
    Viewer::new(Uuid::from_u128(7), "ada", kind, Grants::everywhere(role), "test")
}

pub(crate) fn commands(world: &World) -> Commands {
    let executor =
        Executor::new(Policy { private_addresses: true, ..Policy::default() }, world.clock.clone());
    Commands::new(
        world.database.store.clone(),
        world.clock.clone(),
        Arc::new(timetable::Cache::new(1_000)),
        Arc::new(executor.unwrap()),
        world.signals.clone(),
    )
}

async fn edit(commands: &Commands, world: &World, id: Uuid, apply: fn(&mut Spec)) {
    let row = schedule::Entity::find_by_id(id).one(world.database.store.read()).await.unwrap();
    let edit = Edit {
        id,
        expected_version: row.unwrap().version,
        apply: Box::new(apply),
        work: None,
        reason: None,
    };
    commands.update_schedule(&ada().editor().unwrap(), edit, &Call::once()).await.unwrap();
}

/// Creates seven versions of a schedule, none of which changes its fires.
async fn label(commands: &Commands, world: &World, id: Uuid) {
    let operator = ada().operator().unwrap();
    commands.annotate(&operator, id, "mind the dog", &Call::once()).await.unwrap();
    let edits: [fn(&mut Spec); 6] = [
        |spec| spec.tags = vec!["billing".to_owned()],
        |spec| spec.priority = 9,
        |spec| spec.name.push_str("-renamed"),
        |spec| spec.group = Some("exports".to_owned()),
        |spec| spec.retention_days = Some(3),
        |spec| spec.note.clear(),
    ];
    for apply in edits {
        edit(commands, world, id, apply).await;
    }
}

/// One fire of the schedule is running, one waits behind it, and one is due in a minute. A fire of
/// another schedule was claimed by a node that died before the hand-off.
async fn what_people_only_read_and_what_orders_runs_costs_no_fire_that_is_on_its_way(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let (commands, mut gate) = (commands(&world), Gate::open().await);
    let (editor, call) = (ada().editor().unwrap(), Call::once());
    commands.create_group(&editor, "test", "exports", 3, &call).await.unwrap();
    let lost = forge::idle(&world, noop(), |_| {}).await;
    forge::intent(&world, &lost, |_| {}).await;
    label(&commands, &world, lost.id).await;
    let schedule = world
        .schedule("0 * * * *", gate.task(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T10:00:00Z"));
            row.catch_up = CatchUp::All;
            row.catch_up_spacing_ms = 60_000;
            row.overlap = Overlap::BufferAll;
        })
        .await;
    let engine = world.engine().await;
    let recovered = world.decided(lost.id, 1).await.remove(0);
    assert_eq!((recovered.verdict, recovered.reason), (Verdict::Started, Reason::Recovered));

    let first = gate.arrival().await;
    clock.set(at("2026-03-01T12:21:05Z"));
    let waits = async || {
        let ledger = world.ledger(schedule.id).await;
        ledger.into_iter().find(|fire| fire.queue_position.is_some())
    };
    world.until("a fire waits", waits).await;
    label(&commands, &world, schedule.id).await;
    first.answer(200);
    gate.arrival().await.answer(200);
    world.settled(schedule.id, 2).await;
    clock.set(at("2026-03-01T12:22:05Z"));
    gate.arrival().await.answer(200);
    let runs = world.settled(schedule.id, 3).await;
    let priorities: Vec<i16> = runs.iter().map(|run| run.priority).collect();
    assert_eq!(priorities, [0, 9, 9], "a fire that waited runs as things are now");
    let ledger = world.ledger(schedule.id).await;
    assert!(ledger.iter().all(|fire| fire.verdict == Verdict::Started), "{ledger:#?}");

    let history = schedule_version::Entity::find().all(world.database.store.read()).await.unwrap();
    assert_eq!(history.len(), 2 * 7, "who changed what is kept all the same");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

fn fate(fire: &fire::Model) -> (i32, Verdict, Reason) {
    (fire.schedule_version, fire.verdict, fire.reason)
}

/// No scheduler runs during the edit; one starts afterwards.
async fn an_edit_of_policies_starts_nothing_of_the_past(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:30Z")).await;
    let commands = commands(&world);
    let schedule = world
        .schedule("*/10 * * * *", noop(), |row| {
            row.catch_up = CatchUp::Skip;
            row.grace_ms = 2_000;
        })
        .await;
    clock.set(at("2026-03-01T12:33:00Z"));
    edit(&commands, &world, schedule.id, |spec| spec.misfire.catch_up = CatchUp::All).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:40:00Z"));
    let ledger = world.decided(schedule.id, 4).await;
    let missed = (1, Verdict::Missed, Reason::Outage);
    let fates: Vec<_> = ledger.iter().map(fate).collect();
    assert_eq!(fates, [missed, missed, missed, (2, Verdict::Started, Reason::OnTime)]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_deadline_counts_wherever_in_a_reordered_queue_its_fire_waits(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let (commands, mut gate) = (commands(&world), Gate::open().await);
    let schedule = world
        .schedule("* * * * *", gate.task(), |row| {
            row.overlap = Overlap::BufferAll;
            row.buffer_limit = Some(2);
            row.start_deadline_ms = Some(90_000);
        })
        .await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    let waits = async |minute: u32| {
        clock.set(at(&format!("2026-03-01T12:0{minute}:00Z")));
        let due = ms(&format!("2026-03-01T12:0{minute}:00Z"));
        let found = async || {
            let ledger = world.ledger(schedule.id).await;
            ledger.into_iter().find(|fire| fire.scheduled_at == due)
        };
        let fire = world.until("the fire is there", found).await;
        assert_eq!((fire.verdict, fire.reason), (Verdict::Pending, Reason::Buffered));
        fire
    };
    let (early, late) = (waits(1).await, waits(2).await);
    let operator = ada().operator().unwrap();
    commands.reorder_buffer(&operator, schedule.id, &[late.id], &Call::once()).await.unwrap();
    clock.set(at("2026-03-01T12:02:31Z"));
    let decided = async || {
        let ledger = world.ledger(schedule.id).await;
        ledger.into_iter().find(|fire| fire.id == early.id && fire.decided_at.is_some())
    };
    let gone = world.until("the fire behind the head is past its deadline", decided).await;
    assert_eq!((gone.verdict, gone.reason), (Verdict::Skipped, Reason::Deadline));
    // The buffer has a free place again, and does not contain more fires than may wait.
    waits(3).await;
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.iter().filter(|fire| fire.queue_position.is_some()).count(), 2);
    first.answer(200);
    gate.arrival().await.answer(200);
    gate.arrival().await.answer(200);
    world.settled(schedule.id, 3).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// No scheduler runs while an operator closes the office for the day; one starts afterwards.
async fn what_is_due_when_a_calendar_changes_has_the_fate_that_the_old_one_gives_it(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-06T11:59:30Z")).await;
    let commands = commands(&world);
    let lunch = json!({ "windows": [{ "from": "12:00", "to": "12:15" }] });
    let calendar = world.calendar("closed", Mode::Exclude, lunch).await;
    let plant = |row: &mut schedule::Model| {
        row.calendars = Some(Keys(vec![calendar]));
        row.catch_up = CatchUp::Skip;
    };
    let fires = world.schedule("*/10 * * * *", noop(), plant).await;
    let paused = world
        .schedule("*/10 * * * *", noop(), |row| {
            plant(row);
            row.enabled = false;
        })
        .await;
    clock.set(at("2026-03-06T12:31:00Z"));
    let edit = CalendarEdit {
        id: calendar,
        expected_version: 1,
        apply: Box::new(|spec| {
            spec.entries = serde_json::from_value(json!({ "dates": ["2026-03-06"] })).unwrap();
        }),
        reason: None,
    };
    commands.update_calendar(&ada().editor().unwrap(), edit, &Call::once()).await.unwrap();
    let engine = world.engine().await;
    world.decided(fires.id, 4).await;
    clock.set(at("2026-03-06T12:40:00Z"));
    let ledger = world.decided(fires.id, 5).await;
    let by_calendar = (1, Verdict::Skipped, Reason::Calendar);
    let expected = [
        by_calendar,
        by_calendar,
        (1, Verdict::Missed, Reason::Outage),
        // The instant is within the grace, but others are due as well, so the catch-up policy
        // decides.
        (1, Verdict::Missed, Reason::Outage),
        by_calendar,
    ];
    assert_eq!(ledger.iter().map(fate).collect::<Vec<_>>(), expected);
    // The instants of a paused schedule are decided when the pause ends.
    assert!(world.ledger(paused.id).await.is_empty());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Changes a calendar so that it suppresses everything on the current day.
pub(crate) async fn close_for_a_day(
    commands: &Commands,
    calendar: Uuid,
) -> Result<(), CommandError> {
    let edit = CalendarEdit {
        id: calendar,
        expected_version: 1,
        apply: Box::new(|spec| {
            spec.entries = serde_json::from_value(json!({ "dates": ["2026-03-07"] })).unwrap();
        }),
        reason: None,
    };
    commands.update_calendar(&ada().editor().unwrap(), edit, &Call::once()).await.map(drop)
}

/// More schedules than one transaction reports, all of them with due instants.
async fn a_change_of_a_calendar_leaves_what_is_due_to_whoever_claims_it(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-06T11:59:30Z")).await;
    let commands = commands(&world);
    let calendar = world.calendar("closed", Mode::Exclude, json!({})).await;
    world
        .schedules_with(1_200, noop(), |_, row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.expressions.0 = vec!["0 * * * *".to_owned()];
        })
        .await;
    clock.set(at("2026-03-06T15:30:00Z"));
    let read = world.database.store.read();
    let rows = async || {
        let rows = schedule::Entity::find().order_by_asc(schedule::Column::Id);
        rows.all(read).await.unwrap()
    };
    let before = rows().await;
    close_for_a_day(&commands, calendar).await.unwrap();
    assert_eq!(fire::Entity::find().count(read).await.unwrap(), 0);
    let cursors =
        |rows: &[schedule::Model]| rows.iter().map(|row| row.next_scheduled_at).collect::<Vec<_>>();
    let after = rows().await;
    assert_eq!(cursors(&after), cursors(&before));
    let is_told =
        |(before, after): (&schedule::Model, &schedule::Model)| after.changed > before.changed;
    assert!(before.iter().zip(&after).all(is_told), "who follows them has not heard of it");
}

/// The schedules are checked page by page, ordered by name. The last one would never fire again.
async fn every_schedule_that_names_a_calendar_is_asked_before_it_changes(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-06T11:59:30Z")).await;
    let commands = commands(&world);
    let calendar = world.calendar("closed", Mode::Exclude, json!({})).await;
    let (often, once) = ("0 12 * * *", "@at 2026-03-07T12:00:00Z");
    world
        .schedules_with(2_001, noop(), |number, row| {
            row.name = format!("s{number:04}");
            row.calendars = Some(Keys(vec![calendar]));
            row.expressions.0 = vec![if number < 2_000 { often } else { once }.to_owned()];
        })
        .await;
    let refused = close_for_a_day(&commands, calendar).await.unwrap_err().to_string();
    assert!(refused.contains("every fire of s2000"), "{refused}");
    let read = world.database.store.read();
    let row = entity::calendar::Entity::find_by_id(calendar).one(read).await.unwrap().unwrap();
    assert_eq!(row.version, 1, "nothing is half done");
}

/// No scheduler runs from before the end of the pause until after the edit.
async fn an_edit_after_the_end_of_a_pause_tells_it_from_the_outage(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-06T06:59:30Z")).await;
    let commands = commands(&world);
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.enabled = false;
            row.paused_at = Some(ms("2026-03-06T06:00:00Z"));
            row.paused_until = Some(ms("2026-03-06T09:00:00Z"));
        })
        .await;
    clock.set(at("2026-03-06T12:03:00Z"));
    edit(&commands, &world, schedule.id, |spec| spec.timing.expressions[0].replace_range(..1, "5"))
        .await;
    let expected = [
        (1, Verdict::Skipped, Reason::Paused),
        (1, Verdict::Skipped, Reason::Paused),
        (1, Verdict::Missed, Reason::Outage),
        (1, Verdict::Missed, Reason::Outage),
        (1, Verdict::Missed, Reason::Outage),
        // Until the edit, this instant could still have been claimed.
        (1, Verdict::Skipped, Reason::StaleVersion),
    ];
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.iter().map(fate).collect::<Vec<_>>(), expected);
    let engine = world.engine().await;
    clock.set(at("2026-03-06T12:05:00Z"));
    let ledger = world.decided(schedule.id, 7).await;
    assert_eq!(fate(&ledger[6]), (2, Verdict::Started, Reason::OnTime));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Twelve days with more than two thousand rows: paused, then missed. The rows before the catch-up
/// window stay, even though the request itself is refused.
async fn what_nothing_can_run_any_more_is_written_ahead_of_an_order(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-13T12:20:30Z")).await;
    let commands = commands(&world);
    let calendar = world.calendar_of_many_windows().await;
    for (enabled, old) in [(false, Reason::Paused), (true, Reason::CatchUpWindow)] {
        let schedule = world
            .schedule("* * * * *", noop(), |row| {
                row.calendars = Some(Keys(vec![calendar]));
                row.enabled = enabled;
                row.next_scheduled_at = Some(ms("2026-03-01T00:00:00Z"));
            })
            .await;
        let (editor, id) = (ada().editor().unwrap(), schedule.id);
        let delete = async |version| {
            commands.delete_schedule(&editor, id, version, None, &Call::once()).await
        };
        delete(Some(7)).await.unwrap_err();
        let ahead = world.ledger(id).await;
        assert!((1_000..2_400).contains(&ahead.len()), "{} rows", ahead.len());
        let reasons = ahead.iter().map(|fire| fire.reason);
        assert!(reasons.clone().all(|reason| [old, Reason::Calendar].contains(&reason)));
        delete(Some(1)).await.unwrap();
        let ledger = world.ledger(id).await;
        let mut next = ms("2026-03-01T00:00:00Z").0;
        for fire in &ledger {
            assert_eq!(fire.scheduled_at.0, next);
            next = fire.last_scheduled_at.0 + 60_000;
        }
        assert_eq!(next, ms("2026-03-13T12:21:00Z").0);
        assert!(ledger.len() > ahead.len());
    }
}
