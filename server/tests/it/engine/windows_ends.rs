//! The pauses of maintenance windows whose end is moved, and of schedules that were deleted and
//! restored.

use carillon::commands::{Call, DeploymentSource, Undelete};
use entity::{
    maintenance_window::State,
    schedule::{self, CatchUp},
};
use uuid::Uuid;

use super::{
    editing::{ada, commands},
    windows::{Site, instant, paused, started},
    world::ms,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_new_end_that_has_not_reached_a_pause_yet_holds_all_the_same,
    a_restored_schedule_is_held_until_its_window_ends,
    a_restored_schedule_whose_window_is_over_fires_again,
    a_restored_schedule_whose_window_was_cancelled_fires_again,
    a_window_of_a_module_holds_until_its_new_end_or_until_it_is_declared_no_more,
);

/// Deploys a module with this window on the day of the test; without an end, a module without it.
async fn deploy(site: &Site, end: Option<&str>) {
    let window = end.map_or_else(String::new, |end| {
        format!(
            "maintenance_windows:\n  Upgrade: {{ start: '2026-03-01T13:00:00Z', \
             end: '2026-03-01T{end}:00Z' }}\n"
        )
    });
    let source = format!("module: m\nnamespace: test\n{window}");
    let (editor, deploying) = (ada().editor().unwrap(), commands(&site.world));
    let source = DeploymentSource::yaml(&source);
    deploying.deploy(&editor, source, &Call::once()).await.unwrap();
}

async fn delete(site: &Site, schedule: &schedule::Model) {
    let (editor, deleting) = (ada().editor().unwrap(), commands(&site.world));
    let call = Call::once();
    deleting.delete_schedule(&editor, schedule.id, None, None, &call).await.unwrap();
}

async fn restore(site: &Site, schedule: &schedule::Model) -> schedule::Model {
    let (editor, restoring) = (ada().editor().unwrap(), commands(&site.world));
    let order = Undelete { id: schedule.id, name: None, reason: None };
    restoring.undelete_schedule(&editor, &order, &Call::once()).await.unwrap();
    site.row(schedule).await
}

/// A schedule that was deleted ten minutes after the beginning of a window that held it, and that
/// window, which lasts from 13:00 to `end`.
async fn deleted_while_held(database: TestDatabase, end: &str) -> (Site, schedule::Model, Uuid) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", end)).await;
    site.at("13:00").await;
    site.clock.set(instant("13:10"));
    delete(&site, &schedule).await;
    (site, schedule, window)
}

/// The server has died after it had written the new end to the window and to other pauses.
async fn a_new_end_that_has_not_reached_a_pause_yet_holds_all_the_same(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "14:00")).await;
    site.at("13:00").await;
    let change = "UPDATE maintenance_window SET ends_at = $1, title = $2 WHERE id = $3";
    let later = ms("2026-03-01T16:00:00Z");
    let values = [later.0.into(), "Longer upgrade".into(), window.into()];
    site.world.write(change, values).await;
    // The planner looks before the window is carried out.
    site.clock.set(instant("14:00"));
    site.claim().await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_until), (false, Some(later)));
    site.go_round("maintenance").await;
    let row = site.row(&schedule).await;
    assert_eq!(row.paused_reason.as_deref(), Some("Maintenance: Longer upgrade (OPS-7)"));

    // An earlier end holds, too, however late it is written to the pauses.
    let values = [ms("2026-03-01T15:00:00Z").0.into(), "Upgrade".into(), window.into()];
    site.world.write(change, values).await;
    site.at("15:00").await;
    let expected = [paused("13:00"), paused("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    let ended = site.window(window).await;
    assert_eq!((ended.state, ended.is_open), (State::Ended, false));
    site.node.abandon();
}

async fn a_restored_schedule_is_held_until_its_window_ends(database: TestDatabase) {
    let (mut site, schedule, window) = deleted_while_held(database, "16:00").await;
    site.change(window, &Site::spec("13:00", "15:00")).await;
    site.go_round("maintenance").await;
    site.clock.set(instant("13:30"));
    let row = restore(&site, &schedule).await;
    assert_eq!((row.enabled, row.paused_window_id), (false, Some(window)));
    assert_eq!(row.paused_until, Some(ms("2026-03-01T15:00:00Z")));
    assert_eq!(row.paused_missed, Some(CatchUp::Skip));
    assert_eq!(row.paused_reason.as_deref(), Some("Maintenance: Database upgrade (OPS-7)"));
    site.at("14:00").await;
    site.at("15:00").await;
    let expected = [paused("13:00"), paused("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

async fn a_restored_schedule_whose_window_is_over_fires_again(database: TestDatabase) {
    let (mut site, schedule, window) = deleted_while_held(database, "15:00").await;
    site.at("15:00").await;
    assert_eq!(site.window(window).await.state, State::Ended);
    site.clock.set(instant("15:30"));
    let row = restore(&site, &schedule).await;
    assert!(row.enabled && row.paused_at.is_none() && row.paused_by.is_none());
    assert_eq!((row.paused_reason, row.paused_until, row.paused_missed), (None, None, None));
    site.at("16:00").await;
    assert_eq!(site.fates(&schedule).await, [paused("13:00"), started("16:00")]);
    site.node.abandon();
}

async fn a_restored_schedule_whose_window_was_cancelled_fires_again(database: TestDatabase) {
    let (mut site, schedule, window) = deleted_while_held(database, "15:00").await;
    site.cancel(window).await;
    // The service has not carried that out yet.
    assert!(site.window(window).await.is_open);
    assert!(restore(&site, &schedule).await.enabled);
    site.at("14:00").await;
    assert!(!site.window(window).await.is_open);
    assert_eq!(site.fates(&schedule).await, [paused("13:00"), started("14:00")]);
    site.node.abandon();
}

async fn a_window_of_a_module_holds_until_its_new_end_or_until_it_is_declared_no_more(
    database: TestDatabase,
) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    deploy(&site, Some("14:00")).await;
    site.go_round("maintenance").await;
    site.at("13:00").await;
    site.clock.set(instant("13:59"));
    deploy(&site, Some("17:00")).await;
    // The planner looks first.
    site.at("14:00").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_until), (false, Some(ms("2026-03-01T17:00:00Z"))));
    site.clock.set(instant("15:30"));
    deploy(&site, None).await;
    site.go_round("maintenance").await;
    site.claim().await;
    assert!(site.row(&schedule).await.enabled);
    site.at("16:00").await;
    let expected = [paused("13:00"), paused("14:00"), paused("15:00"), started("16:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}
