//! How schedules get their marks while a maintenance window is far ahead.

use super::{windows::Site, world::at};
use crate::support::{TestDatabase, on_both};

on_both!(
    schedules_are_looked_for_rarely_until_a_window_is_about_to_begin,
    what_a_cancelled_window_lets_go_is_soon_marked_for_a_later_one,
);

/// A time on the day of the test, with seconds.
fn second(time: &str) -> chrono::DateTime<chrono::Utc> {
    at(&format!("2026-03-01T{time}Z"))
}

async fn schedules_are_looked_for_rarely_until_a_window_is_about_to_begin(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let window = site.plan(&Site::spec("23:00", "23:30")).await;
    let marked = Some(("23:00".to_owned(), window));
    site.clock.set(second("12:20:59"));
    let first = site.schedule("0 * * * *").await;
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&first).await, None);
    site.clock.set(second("12:21:00"));
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&first).await, marked);

    // The last look comes a second before the window begins, whenever the one before was.
    site.clock.set(second("22:59:57"));
    site.go_round("maintenance").await;
    let last = site.schedule("0 * * * *").await;
    site.clock.set(second("22:59:58"));
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&last).await, None);
    site.clock.set(second("22:59:59"));
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&last).await, marked);
    site.at("23:00").await;
    assert!(site.fates(&last).await.is_empty());
    assert!(!site.row(&last).await.enabled);
    site.node.abandon();
}

async fn what_a_cancelled_window_lets_go_is_soon_marked_for_a_later_one(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let later = site.plan(&Site::spec("23:00", "23:30")).await;
    let sooner = site.plan(&Site::spec("22:00", "22:30")).await;
    assert_eq!(site.mark(&schedule).await, Some(("22:00".to_owned(), sooner)));
    site.cancel(sooner).await;
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&schedule).await, None);
    site.clock.set(second("12:20:05"));
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&schedule).await, Some(("23:00".to_owned(), later)));
    site.node.abandon();
}
