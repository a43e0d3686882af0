use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

#[test]
fn fires_are_counted_by_the_minute() {
    let id = Uuid::from_u128(1);
    let meter = Meter::new(Quotas { fires_a_minute: Some(5), ..Quotas::default() });
    assert_eq!(meter.take_fires(id, 3, at(1)), 3);
    assert_eq!(meter.take_fires(id, 3, at(59)), 2);
    assert_eq!(meter.take_fires(id, 3, at(59)), 0);
    assert_eq!(meter.fires(id, at(59)), 5);
    assert_eq!(meter.take_fires(id, 3, at(60)), 3);
    assert_eq!(meter.take_fires(Uuid::from_u128(2), 3, at(59)), 3, "of another namespace");
    let own = OwnQuotas { fires_a_minute: Some(0), ..OwnQuotas::default() };
    meter.set([(id, "shop".to_owned(), own)]);
    assert_eq!(meter.take_fires(id, 3_000, at(60)), 3_000);
}

#[test]
fn fires_that_did_not_start_are_given_back_in_their_minute() {
    let id = Uuid::from_u128(1);
    let meter = Meter::new(Quotas { fires_a_minute: Some(5), ..Quotas::default() });
    meter.give_back_fires(id, 3, at(1));
    assert_eq!(meter.take_fires(id, 5, at(1)), 5);
    meter.give_back_fires(id, 2, at(59));
    assert_eq!(meter.take_fires(id, 5, at(59)), 2);
    assert_eq!(meter.take_fires(id, 5, at(60)), 5);
    meter.give_back_fires(id, 2, at(59));
    assert_eq!(meter.take_fires(id, 5, at(60)), 0, "of an earlier minute");
}

fn printer<'a>(namespace: &'a str, of_run: &'a AtomicI64) -> Printer<'a> {
    Printer { namespace, schedule_id: None, of_run }
}

#[test]
fn a_line_that_does_not_fit_uses_the_quota_of_the_day_up() {
    let meter = Meter::new(Quotas { log_bytes_a_day: Some(10), ..Quotas::default() });
    let take = |namespace, bytes, second| {
        meter.take_log(printer(namespace, &AtomicI64::default()), bytes, at(second))
    };
    assert_eq!(take("shop", 7, 0), Ok(()));
    assert_eq!(take("shop", 7, 0), Err(LogQuota::Day(10)));
    assert_eq!(take("shop", 1, 0), Err(LogQuota::Day(10)));
    assert_eq!(take("other", 1, 0), Ok(()));
    assert_eq!(meter.log_bytes("shop", at(0)), 10);
    assert_eq!(take("shop", 1, 86_400), Ok(()));
    let own = OwnQuotas { log_bytes_a_day: Some(2), ..OwnQuotas::default() };
    meter.set([(Uuid::from_u128(1), "shop".to_owned(), own)]);
    assert_eq!(take("shop", 2, 86_400), Err(LogQuota::Day(2)));
}

#[test]
fn a_run_has_a_quota_of_its_own() {
    let meter = Meter::new(Quotas { log_bytes_a_run: Some(10), ..Quotas::default() });
    let (first, second) = (AtomicI64::new(4), AtomicI64::default());
    assert_eq!(meter.take_log(printer("shop", &first), 6, at(0)), Ok(()));
    assert_eq!(meter.take_log(printer("shop", &first), 1, at(0)), Err(LogQuota::Run(10)));
    assert_eq!(meter.take_log(printer("shop", &second), 10, at(0)), Ok(()));
}

#[test]
fn what_is_written_beyond_a_quota_counts_as_well() {
    let quotas = Quotas {
        log_bytes: Some(10),
        log_bytes_a_day: Some(10),
        log_bytes_a_run: Some(10),
        ..Quotas::default()
    };
    let meter = Meter::new(quotas);
    let run = AtomicI64::default();
    assert_eq!(meter.take_log(printer("shop", &run), 11, at(0)), Err(LogQuota::Run(10)));
    meter.count_log(printer("shop", &run), 11, at(0));
    assert_eq!((run.load(Ordering::Relaxed), meter.log_bytes("shop", at(0))), (11, 10));
    let fresh: i64 = meter.fresh_log().iter().map(|row| row.bytes).sum();
    assert_eq!(fresh, 11);
}

#[test]
fn what_is_written_counts_once_whether_the_database_has_counted_it_or_not() {
    let meter = Meter::new(Quotas { log_bytes: Some(100), ..Quotas::default() });
    let run = AtomicI64::default();
    meter.set_kept_log([("shop".to_owned(), 50)]);
    assert_eq!(meter.take_log(printer("shop", &run), 30, at(0)), Ok(()));
    let added = meter.fresh_log();
    assert_eq!(added.len(), 1);
    assert_eq!(meter.take_log(printer("shop", &run), 15, at(0)), Ok(()));
    meter.added_log(&added);
    assert_eq!(meter.take_log(printer("shop", &run), 6, at(0)), Err(LogQuota::Kept(100)));
    meter.set_kept_log([("shop".to_owned(), 80)]);
    assert_eq!(meter.take_log(printer("shop", &run), 6, at(0)), Err(LogQuota::Kept(100)));
    assert_eq!(meter.take_log(printer("shop", &run), 5, at(0)), Ok(()));
    assert_eq!(meter.full_logs(), [("shop".to_owned(), 100)]);
    let left: i64 = meter.fresh_log().iter().map(|row| row.bytes).sum();
    assert_eq!(left, 20);
    // Retention has removed log lines, which makes room.
    meter.added_log(&meter.fresh_log());
    meter.set_kept_log([("shop".to_owned(), 10)]);
    assert!(meter.full_logs().is_empty() && meter.fresh_log().is_empty());
    assert_eq!(meter.take_log(printer("shop", &run), 90, at(0)), Ok(()));
}
