//! Maintenance windows that meet other windows, a person's pause, a change of their search, or the
//! deletion of their namespace.

use carillon::commands::{AutomaticEnd, Call, WindowSpec};
use entity::{
    maintenance_window::State,
    schedule::{self, CatchUp},
    user::Role,
};

use super::{
    editing::{ada, commands},
    windows::{Site, instant, paused, started},
    world::{ms, noop},
};
use crate::{
    api::desk::viewer,
    support::{TestDatabase, on_both},
};

on_both!(
    the_end_of_one_window_leaves_a_schedule_to_the_other,
    a_pause_until_the_start_of_a_window_does_not_keep_the_schedule_out_of_it,
    a_window_that_is_moved_to_now_releases_those_that_it_no_longer_covers,
    a_cancelled_window_ends_no_pause_of_a_restored_namespace,
);

/// The longer window holds the schedule, so the shorter one has nothing to do until it is cancelled.
async fn the_end_of_one_window_leaves_a_schedule_to_the_other(database: TestDatabase) {
    let mut site = Site::open(database, "12:40").await;
    let schedule = site.schedule("*/30 * * * *").await;
    let longer = site.plan(&Site::spec("13:00", "16:00")).await;
    let shorter = site.plan(&Site::spec("13:30", "15:00")).await;
    for time in ["13:00", "13:30", "14:10"] {
        site.at(time).await;
    }
    assert_eq!(site.row(&schedule).await.paused_window_id, Some(longer));
    for window in [longer, shorter] {
        assert_eq!(site.window(window).await.state, State::Active);
    }
    site.cancel(longer).await;
    site.go_round("maintenance").await;
    // The planner ends the pause of the longer window, and may not claim what follows.
    site.claim().await;
    site.go_round("maintenance").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_window_id), (false, Some(shorter)));
    assert_eq!(row.paused_at, Some(ms("2026-03-01T14:10:00Z")));
    assert_eq!(row.paused_until, Some(ms("2026-03-01T15:00:00Z")));
    site.at("14:30").await;
    assert!(!site.row(&schedule).await.enabled);
    site.at("15:00").await;
    let expected =
        [paused("13:00"), paused("13:30"), paused("14:00"), paused("14:30"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    assert_eq!(site.window(longer).await.held, 1);
    assert_eq!(site.window(shorter).await.held, 1);
    site.node.abandon();
}

async fn a_pause_until_the_start_of_a_window_does_not_keep_the_schedule_out_of_it(
    database: TestDatabase,
) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    let operator = ada().operator().unwrap();
    let end = AutomaticEnd { at: instant("13:00"), missed: CatchUp::Skip };
    let (by_hand, call) = (commands(&site.world), Call::once());
    by_hand.pause(&operator, schedule.id, "by hand", Some(end), &call).await.unwrap();
    // The window is carried out before the planner ends the pause.
    site.clock.set(instant("13:00"));
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&schedule).await, Some(("13:00".to_owned(), window)));
    site.claim().await;
    site.go_round("maintenance").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_window_id), (false, Some(window)));
    assert_eq!(row.paused_until, Some(ms("2026-03-01T15:00:00Z")));
    site.at("14:00").await;
    assert!(site.fates(&schedule).await.is_empty());
    site.at("15:00").await;
    let expected = [paused("13:00"), paused("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

async fn a_window_that_is_moved_to_now_releases_those_that_it_no_longer_covers(
    database: TestDatabase,
) {
    let mut site = Site::open(database, "12:20").await;
    let tagged = |row: &mut schedule::Model| row.tags.0 = vec!["db".to_owned()];
    let covered = site.world.schedule("0 * * * *", noop(), tagged).await;
    let stranger = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    assert_eq!(site.mark(&stranger).await, Some(("13:00".to_owned(), window)));
    site.clock.set(instant("12:40"));
    let search = Some("tag:db".to_owned());
    site.change(window, &WindowSpec { search, ..Site::spec("12:40", "15:00") }).await;
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&stranger).await, None);
    let row = site.row(&covered).await;
    assert_eq!((row.enabled, row.paused_window_id), (false, Some(window)));
    assert_eq!(row.paused_at, Some(ms("2026-03-01T12:40:00Z")));
    site.at("13:00").await;
    assert_eq!(site.fates(&stranger).await, [started("13:00")]);
    assert!(site.fates(&covered).await.is_empty());
    let active = site.window(window).await;
    assert_eq!((active.state, active.held), (State::Active, 1));
    site.node.abandon();
}

/// The schedules of a restored namespace stay paused until a person resumes them.
async fn a_cancelled_window_ends_no_pause_of_a_restored_namespace(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "16:00")).await;
    site.at("13:00").await;
    assert_eq!(site.row(&schedule).await.paused_window_id, Some(window));
    let (owner, deleting) = (viewer(Role::Admin).owner().unwrap(), commands(&site.world));
    let call = Call::once();
    deleting.delete_namespace(&owner, "test", Some(1), "moved", &call).await.unwrap();
    site.at("13:20").await;
    let call = Call::once();
    deleting.undelete_namespace(&owner, "test", None, None, &call).await.unwrap();
    site.at("13:40").await;
    assert_eq!(site.window(window).await.state, State::Active);
    site.cancel(window).await;
    site.go_round("maintenance").await;
    site.at("14:00").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_window_id, row.paused_until), (false, None, None));
    let reason = "its namespace was deleted and restored";
    assert_eq!(row.paused_reason.as_deref(), Some(reason));
    assert!(site.fates(&schedule).await.is_empty());
    assert!(!site.window(window).await.is_open);
    site.node.abandon();
}
