//! History is removed once it is old enough; live rows never are.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::{
    model::Retention,
    store::reads::{feed, within::Within},
};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Strings, Timestamp, backfill, backfill_fire,
    fire::{Kind, Reason, Verdict},
    idempotency, maintenance_window, node, run,
    schedule::CatchUp,
    schedule_version, session, workflow,
};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel, PaginatorTrait};
use serde_json::json;
use uuid::Uuid;

use super::{
    forge,
    past::succeeded,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    settled_history_is_removed_when_it_is_old_enough,
    what_is_alive_or_young_stays_however_old_its_key,
    a_namespace_and_a_schedule_keep_history_for_as_long_as_they_say,
    a_run_with_more_lines_than_a_chunk_goes_with_all_of_them,
    the_preview_is_what_a_round_removes,
    deleted_schedules_are_purged_after_a_week,
    a_follower_of_schedules_meets_what_changes_after_the_last_one_was_removed,
    rows_that_nothing_needs_are_removed,
    maintenance_windows_that_are_over_are_removed,
    an_ended_backfill_is_removed_with_its_instants,
    a_slot_that_the_cursor_has_still_before_it_stays_taken,
    the_fire_of_a_live_retry_stays,
    firing_goes_on_while_a_large_history_is_removed,
    the_servers_own_rounds_remove_history,
);

fn noon() -> DateTime<Utc> {
    at("2026-03-01T12:00:00Z")
}

async fn settled_history_is_removed_when_it_is_old_enough(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let old = world.past(&schedule, 47, 3, |_, _| {}).await;
    let young = world.past(&schedule, 44, 2, |_, _| {}).await;
    let report = world.retain(45).await;
    let removed = (report.fires, report.runs, report.attempts, report.lines);
    assert_eq!(removed, (1, 1, 1, 3), "{report:?}");
    assert_eq!(world.sizes().await, [1, 1, 1, 2]);
    assert_eq!(world.runs(schedule.id).await[0].id, young);
    assert_ne!(old, young);
    let again = world.retain(45).await;
    assert_eq!((again.runs, again.chunks, again.made), (0, 0, 0), "{again:?}");
}

async fn what_is_alive_or_young_stays_however_old_its_key(database: TestDatabase) {
    let (world, clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let yesterday = Timestamp::from(noon() - TimeDelta::days(1));
    let mut kept = Vec::new();
    for (days, state) in [(50, run::State::Running), (51, run::State::Retrying)] {
        kept.push(
            world
                .past(&schedule, days, 1, |_, run| {
                    (run.state, run.finished_at) = (state, None);
                })
                .await,
        );
    }
    // The run was in progress for weeks.
    kept.push(world.past(&schedule, 52, 1, |_, run| run.finished_at = Some(yesterday)).await);
    // The fire was caught up on yesterday.
    let made_up = world
        .past(&schedule, 53, 1, |fire, _| {
            (fire.verdict, fire.reason) = (Verdict::Started, Reason::CaughtUp);
            (fire.claimed_at, fire.decided_at) = (yesterday, Some(yesterday));
        })
        .await;
    // The fire waits in a buffer.
    let pending = world
        .past(&schedule, 54, 1, |fire, _| {
            (fire.verdict, fire.reason) = (Verdict::Pending, Reason::AwaitingHandoff);
            (fire.decided_at, fire.run_id, fire.claimed_by) = (None, None, None);
        })
        .await;
    // The row covers the instants of weeks, up to yesterday.
    let range = world
        .past(&schedule, 55, 1, |fire, _| {
            (fire.verdict, fire.reason) = (Verdict::Missed, Reason::Outage);
            (fire.last_scheduled_at, fire.run_id, fire.count) = (yesterday, None, 1_000);
        })
        .await;
    let gone = world.past(&schedule, 56, 1, |_, _| {}).await;

    let check = async |world: &World| {
        let fires: Vec<Uuid> = world.ledger(schedule.id).await.iter().map(|f| f.id).collect();
        let runs: Vec<Uuid> = world.runs(schedule.id).await.iter().map(|run| run.id).collect();
        for id in &kept {
            assert!(runs.contains(id), "{id} of {runs:?}");
        }
        // The fire of a run that is still in progress stays. The fire of a run that ended yesterday
        // is old, and is removed.
        for id in [kept[0], kept[1], made_up, pending, range] {
            assert!(fires.contains(&id), "{id} of {fires:?}");
        }
        assert!(!fires.contains(&kept[2]) && !fires.contains(&gone), "{fires:?}");
        assert_eq!((fires.len(), runs.len()), (5, 3));
        assert_eq!(world.sizes().await, [5, 3, 3, 3]);
    };
    world.retain(45).await;
    check(&world).await;
    // A later round does not remove these rows either.
    clock.advance(Duration::from_secs(24 * 3600));
    world.retain(45).await;
    check(&world).await;
}

async fn a_namespace_and_a_schedule_keep_history_for_as_long_as_they_say(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let usual = forge::idle(&world, noop(), |_| {}).await;
    let brief = forge::idle(&world, noop(), |row| row.retention_days = Some(3)).await;
    let long = forge::idle(&world, noop(), |row| row.retention_days = Some(400)).await;
    for schedule in [&usual, &brief, &long] {
        for days in [2, 5, 12, 50, 402] {
            world.past(schedule, days, 1, |_, _| {}).await;
        }
    }
    let ages = async |schedule: Uuid| {
        let runs = world.runs(schedule).await;
        let fires = world.ledger(schedule).await;
        assert_eq!(runs.len(), fires.len());
        let age = |at: Timestamp| (noon() - at.utc()).num_days();
        runs.iter().map(|run| age(run.created_at)).collect::<Vec<_>>()
    };
    world.retain(45).await;
    assert_eq!(ages(usual.id).await, [12, 5, 2]);
    assert_eq!(ages(brief.id).await, [2]);
    assert_eq!(ages(long.id).await, [50, 12, 5, 2]);
    let sql = "UPDATE namespace SET retention_days = 10 WHERE id = $1";
    world.write(sql, [world.namespace.into()]).await;
    world.retain(45).await;
    assert_eq!(ages(usual.id).await, [5, 2]);
    assert_eq!(ages(long.id).await, [50, 12, 5, 2]);
}

async fn a_run_with_more_lines_than_a_chunk_goes_with_all_of_them(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    world.past(&schedule, 50, 1_500, |_, _| {}).await;
    world.past(&schedule, 1, 10, |_, _| {}).await;
    let report = world.retain(45).await;
    assert_eq!((report.lines, report.runs), (1_500, 1), "{report:?}");
    assert!(report.chunks >= 4, "{report:?}");
    assert_eq!(world.sizes().await, [1, 1, 1, 10]);
}

async fn the_preview_is_what_a_round_removes(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let brief = forge::idle(&world, noop(), |row| row.retention_days = Some(3)).await;
    for days in [1, 2, 4, 30, 46, 47, 60] {
        world.past(&schedule, days, 2, |_, _| {}).await;
        world.past(&brief, days, 1, |_, _| {}).await;
    }
    world.past(&schedule, 100, 1, |_, run| run.state = run::State::Running).await;
    let before = world.sizes().await;
    let preview = world.would_go(45).await;
    assert_eq!(world.sizes().await, before, "a preview removes nothing");
    assert_eq!((preview.policies.longest, preview.policies.shortest), (45, 3));
    let rows = |table| {
        let figures = preview.figures.iter().filter(|figure| figure.table == table);
        figures.map(|figure| figure.rows.unsigned_abs()).sum::<u64>()
    };
    assert!(preview.figures.iter().all(|figure| figure.namespace_id == Some(world.namespace)));
    assert!(preview.figures.iter().all(|figure| figure.bytes > figure.rows * 100));
    let announced = [rows("fire"), rows("run"), rows("task_run"), rows("task_log")];
    assert!(announced.iter().all(|rows| *rows >= 7), "{announced:?}");
    let run = preview.oldest.iter().find(|oldest| oldest.table == "run").unwrap();
    assert_eq!(run.made_at.utc(), noon() - TimeDelta::days(100));

    let report = world.retain(45).await;
    let removed = [report.fires, report.runs, report.attempts, report.lines];
    assert_eq!(removed, announced, "{report:?}");
    let after = world.sizes().await;
    assert_eq!([0, 1, 2, 3].map(|table| before[table] - after[table]), announced);
    assert!(world.would_go(45).await.figures.is_empty());
}

async fn deleted_schedules_are_purged_after_a_week(database: TestDatabase) {
    let (world, clock) = World::at(database, noon()).await;
    let deleted = Timestamp::from(noon() - TimeDelta::days(2));
    let busy = forge::idle(&world, noop(), |row| row.deleted_at = Some(deleted)).await;
    let idle = forge::idle(&world, noop(), |row| row.deleted_at = Some(deleted)).await;
    let alive = forge::idle(&world, noop(), |_| {}).await;
    world.past(&idle, 3, 1, |_, _| {}).await;
    let running = world.past(&busy, 3, 1, |_, run| run.state = run::State::Running).await;
    world
        .write(
            "UPDATE workflow SET deleted_at = $1 WHERE id <> $2",
            [deleted.0.into(), alive.workflow_id.into()],
        )
        .await;
    let version = schedule_version::Model {
        schedule_id: idle.id,
        version: 1,
        snapshot: json!({}),
        change: "made".to_owned(),
        changed_by: "ada".to_owned(),
        changed_at: deleted,
    };
    let tx = world.database.store.begin().await.unwrap();
    version.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
    let there = async || {
        let read = world.database.store.read();
        let mut schedules = Vec::new();
        for id in [busy.id, idle.id, alive.id] {
            schedules
                .push(entity::schedule::Entity::find_by_id(id).one(read).await.unwrap().is_some());
        }
        (schedules, workflow::Entity::find().count(read).await.unwrap())
    };

    world.retain(45).await;
    assert_eq!(there().await, (vec![true; 3], 3));
    clock.advance(Duration::from_secs(6 * 24 * 3600));
    world.retain(45).await;
    // The workflow stays as long as runs name it, and a schedule as long as one of its runs is at
    // work.
    assert_eq!(there().await, (vec![true, false, true], 3));
    assert_eq!(world.sizes().await[1], 2, "history goes with its own age");
    world.write("UPDATE run SET state = 'succeeded' WHERE id = $1", [running.into()]).await;
    world.retain(45).await;
    assert_eq!(there().await, (vec![false, false, true], 3));
    clock.advance(Duration::from_secs(47 * 24 * 3600));
    world.retain(45).await;
    assert_eq!(there().await, (vec![false, false, true], 1));
    assert_eq!(world.sizes().await, [0, 0, 0, 0]);
    let read = world.database.store.read();
    assert_eq!(schedule_version::Entity::find().count(read).await.unwrap(), 1);
}

/// On SQLite, stamps follow from those of the rows, and the removed row had the greatest one.
async fn a_follower_of_schedules_meets_what_changes_after_the_last_one_was_removed(
    database: TestDatabase,
) {
    let (world, _clock) = World::at(database, noon()).await;
    let store = &world.database.store;
    let stamp = async |schedule: Uuid| {
        let sql = format!(
            "UPDATE schedule SET changed = {} WHERE id = $1",
            store.dialect().stamp("schedule")
        );
        world.write(&sql, [schedule.into()]).await;
    };
    let kept = forge::idle(&world, noop(), |_| {}).await.id;
    let removed = forge::idle(&world, noop(), |_| {}).await.id;
    stamp(kept).await;
    stamp(removed).await;
    let position = feed::end_of_schedules(store).await.unwrap();
    world.write("DELETE FROM schedule WHERE id = $1", [removed.into()]).await;
    stamp(kept).await;
    let within = Within::One(world.namespace);
    let met = async {
        loop {
            // On PostgreSQL, older transactions on the server may delay the feed.
            let seen = feed::schedules(store, &within, None, position, 10).await.unwrap();
            if let Some(row) = seen.rows.into_iter().next() {
                return row.id;
            }
            tokio::task::yield_now().await;
        }
    };
    let met = tokio::time::timeout(Duration::from_secs(20), met).await;
    assert_eq!(met.expect("the change is met"), kept);
}

async fn rows_that_nothing_needs_are_removed(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let hours = |hours| Timestamp::from(noon() - TimeDelta::hours(hours));
    let tx = world.database.store.begin().await.unwrap();
    for (id, expires_at) in [("old", hours(1)), ("new", hours(-1))] {
        let row = session::Model {
            id: id.to_owned(),
            user_id: None,
            address: None,
            browser: None,
            began_at: None,
            used_at: None,
            mark: None,
            data: json!({}),
            expires_at,
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    for (key, at) in [("old", hours(25)), ("new", hours(23))] {
        let row = idempotency::Model {
            actor: "ada".to_owned(),
            key: key.to_owned(),
            request: String::new(),
            answer: json!({}),
            at,
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    for (incarnation, ended) in [(1, 50), (2, 47), (3, 40), (4, 39)] {
        let row = node::Model {
            id: Uuid::now_v7(),
            name: "away".to_owned(),
            incarnation,
            state: node::State::Left,
            version: "1".to_owned(),
            zone_data: "1".to_owned(),
            schema: String::new(),
            process: String::new(),
            roles: Strings::default(),
            tags: Strings::default(),
            capacity: 1,
            held: 0,
            clock_offset_ms: 0,
            beats_in: node::BeatsIn::Database,
            doubted_at: None,
            redis_problem: None,
            draining_at: None,
            drained_at: None,
            drained_by: None,
            drain_reason: None,
            started_at: hours(ended * 24),
            heartbeat_at: hours(ended * 24),
            ended_at: Some(hours(ended * 24)),
            changed: 0,
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    world.database.store.commit(tx).await.unwrap();
    let announced: i64 = world.would_go(45).await.figures.iter().map(|figure| figure.rows).sum();
    let report = world.retain(45).await;
    assert_eq!((report.leftovers, announced), (4, 4), "{report:?}");
    let read = world.database.store.read();
    let sessions = session::Entity::find().all(read).await.unwrap();
    let answers = idempotency::Entity::find().all(read).await.unwrap();
    let nodes = node::Entity::find().all(read).await.unwrap();
    assert_eq!((sessions.len(), &*sessions[0].id), (1, "new"));
    assert_eq!((answers.len(), &*answers[0].key), (1, "new"));
    let mut lives: Vec<_> = nodes.iter().map(|node| node.incarnation).collect();
    lives.sort_unstable();
    assert_eq!(lives, [3, 4]);
}

async fn maintenance_windows_that_are_over_are_removed(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let ago = |days| Timestamp::from(noon() - TimeDelta::days(days));
    let ended = |days: i64| maintenance_window::Model {
        id: Uuid::now_v7(),
        namespace_id: world.namespace,
        title: "Upgrade".to_owned(),
        ticket: None,
        search: None,
        starts_at: ago(days + 1),
        ends_at: ago(days),
        missed: CatchUp::Skip,
        state: maintenance_window::State::Ended,
        is_open: false,
        held: 1,
        planned_by: "ada".to_owned(),
        planned_at: ago(days + 2),
        changed_at: None,
        cancelled_by: None,
        cancelled_at: None,
        cancel_reason: None,
        module: None,
    };
    let cancelled = maintenance_window::Model {
        state: maintenance_window::State::Cancelled,
        cancelled_at: Some(ago(50)),
        ..ended(40)
    };
    let (young, holding) = (ended(40), ended(50));
    let open = maintenance_window::Model { is_open: true, ..ended(50) };
    // One that holds a schedule stays, even if the schedule is deleted: it may be restored.
    let held = forge::idle(&world, noop(), |row| {
        (row.enabled, row.paused_window_id) = (false, Some(holding.id));
        row.deleted_at = Some(ago(1));
    });
    held.await;
    let mut kept = vec![young.id, holding.id, open.id];
    let tx = world.database.store.begin().await.unwrap();
    for row in [ended(50), cancelled, young, holding, open] {
        row.into_active_model().insert(&tx).await.unwrap();
    }
    world.database.store.commit(tx).await.unwrap();
    let announced: i64 = world.would_go(45).await.figures.iter().map(|figure| figure.rows).sum();
    let report = world.retain(45).await;
    assert_eq!((report.leftovers, announced), (2, 2), "{report:?}");
    let read = world.database.store.read();
    let rows = maintenance_window::Entity::find().all(read).await.unwrap();
    let mut left: Vec<_> = rows.iter().map(|row| row.id).collect();
    left.sort_unstable();
    kept.sort_unstable();
    assert_eq!(left, kept);
}

async fn an_ended_backfill_is_removed_with_its_instants(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let ago = |days| Timestamp::from(noon() - TimeDelta::days(days));
    let usual = forge::idle(&world, noop(), |_| {}).await;
    let brief = forge::idle(&world, noop(), |row| row.retention_days = Some(3)).await;
    let tx = world.database.store.begin().await.unwrap();
    for (schedule, finished_at, instants) in [
        (&usual, Some(ago(50)), 130),
        (&usual, Some(ago(40)), 2),
        (&usual, None, 3),
        (&brief, Some(ago(5)), 4),
    ] {
        let id = Uuid::now_v7();
        let done = finished_at.is_some();
        let backfill = backfill::Model {
            id,
            namespace_id: world.namespace,
            schedule_id: schedule.id,
            schedule_version: 1,
            from_at: ago(90),
            to_at: ago(80),
            mode: backfill::Mode::Missing,
            fire_order: backfill::Order::OldestFirst,
            concurrency: 1,
            total: instants,
            state: if done { backfill::State::Completed } else { backfill::State::Running },
            reason: "late data".to_owned(),
            context: None,
            created_by: "ada".to_owned(),
            created_at: ago(60),
            paused_by: None,
            paused_at: None,
            paused_reason: None,
            cancelled_by: None,
            cancel_reason: None,
            cancelled_at: None,
            finished_at,
            changed: 0,
        };
        backfill.into_active_model().insert(&tx).await.unwrap();
        for position in 0..instants {
            let instant = backfill_fire::Model {
                backfill_id: id,
                position,
                schedule_id: schedule.id,
                scheduled_at: Timestamp(ago(90).0 + i64::from(position)),
                kind: Kind::Normal,
                state: backfill_fire::State::Pending,
                run_id: None,
                detail: None,
                started_at: None,
                finished_at,
            };
            instant.into_active_model().insert(&tx).await.unwrap();
        }
    }
    world.database.store.commit(tx).await.unwrap();
    let preview = world.would_go(45).await;
    let announced: i64 = preview.figures.iter().map(|figure| figure.rows).sum();
    let report = world.retain(45).await;
    assert_eq!((report.leftovers, announced), (136, 136), "{report:?}");
    let read = world.database.store.read();
    let left = backfill::Entity::find().all(read).await.unwrap();
    let ends: Vec<_> = left.iter().map(|row| row.finished_at).collect();
    assert_eq!(ends.len(), 2);
    assert!(ends.contains(&None) && ends.contains(&Some(ago(40))), "{ends:?}");
    assert_eq!(backfill_fire::Entity::find().count(read).await.unwrap(), 5);
}

async fn a_slot_that_the_cursor_has_still_before_it_stays_taken(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let skipped = world
        .past(&schedule, 50, 1, |fire, run| {
            (fire.verdict, fire.reason, fire.run_id) = (Verdict::Skipped, Reason::ByRequest, None);
            run.fire_id = None;
        })
        .await;
    let fires = async || world.ledger(schedule.id).await.iter().map(|f| f.id).collect::<Vec<_>>();
    // An edit has moved the cursor back, and the schedule is paused.
    let cursor = Timestamp::from(noon() - TimeDelta::days(51));
    let sql = "UPDATE schedule SET next_scheduled_at = $1, enabled = $2";
    world.write(sql, [cursor.0.into(), false.into()]).await;
    world.retain(45).await;
    assert_eq!(fires().await, [skipped]);
    let cursor = Timestamp::from(noon());
    world.write(sql, [cursor.0.into(), false.into()]).await;
    world.retain(45).await;
    assert!(fires().await.is_empty());
}

async fn the_fire_of_a_live_retry_stays(database: TestDatabase) {
    let (world, _clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let failed = world.past(&schedule, 50, 1, |_, run| run.state = run::State::Failed).await;
    let (_, mut retry) = succeeded(&schedule, noon());
    (retry.fire_id, retry.retry_of, retry.trigger) =
        (Some(failed), Some(failed), run::Trigger::Retry);
    (retry.state, retry.finished_at) = (run::State::Running, None);
    let tx = world.database.store.begin().await.unwrap();
    retry.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
    world.retain(45).await;
    assert_eq!(world.ledger(schedule.id).await.len(), 1);
    assert_eq!(world.runs(schedule.id).await.len(), 1);
}

async fn firing_goes_on_while_a_large_history_is_removed(database: TestDatabase) {
    let (mut world, clock) = World::at(database, noon()).await;
    let old = forge::idle(&world, noop(), |_| {}).await;
    world.long_past(&old, 60, 4_000).await;
    let schedule = world.schedule("* * * * * *", noop(), |_| {}).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, time) = (seen.clone(), clock.clone());
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if sql.contains("DELETE FROM run") || sql.contains("DELETE FROM fire") {
            log.lock().unwrap().push("chunk");
            // By the service's clock, each chunk takes a second.
            time.advance(Duration::from_secs(1));
        } else if sql.contains("INSERT INTO fire") {
            log.lock().unwrap().push("fire");
        }
    });
    world.settings.retention = Some(Retention::default());
    let engine = world.engine().await;
    let mut reports = engine.retention_reports().unwrap();
    let done = reports.wait_for(|(rounds, _)| *rounds > 0);
    let report = tokio::time::timeout(Duration::from_secs(60), done).await.unwrap().unwrap().1;
    assert_eq!((report.runs, report.fires), (4_000, 4_000), "{report:?}");
    assert!(report.chunks >= 8, "{report:?}");
    let seen = seen.lock().unwrap().clone();
    let last = seen.iter().rposition(|what| *what == "chunk").unwrap();
    let fires = seen[..last].iter().filter(|what| **what == "fire").count();
    assert!(fires > 0, "nothing fired before the last chunk: {seen:?}");
    let passed = clock.clock().now() - noon();
    let last = schedule.next_scheduled_at.unwrap().utc() + passed - TimeDelta::seconds(1);
    world
        .until("each second is accounted for", || async {
            let ledger = world.ledger(schedule.id).await;
            let reached = ledger.last().is_some_and(|fire| fire.last_scheduled_at.utc() >= last);
            reached.then_some(())
        })
        .await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn the_servers_own_rounds_remove_history(database: TestDatabase) {
    let (mut world, clock) = World::at(database, noon()).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    world.past(&schedule, 50, 1, |_, _| {}).await;
    world.past(&schedule, 40, 1, |_, _| {}).await;
    world.settings.retention = Some(Retention::default());
    let engine = world.engine().await;
    let mut reports = engine.retention_reports().unwrap();
    let mut round = async |wanted: u64| {
        let done = reports.wait_for(|(rounds, _)| *rounds >= wanted);
        tokio::time::timeout(Duration::from_secs(60), done).await.unwrap().unwrap().1
    };
    assert_eq!(round(1).await.runs, 1);
    for wanted in 2..=7 {
        clock.advance(Duration::from_secs(24 * 3600));
        round(wanted).await;
    }
    assert_eq!(world.sizes().await, [0, 0, 0, 0]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
