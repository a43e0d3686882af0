//! Resume: a schedule that fires every second and was paused for a year is resumed.
//!
//! The whole command is measured, as a caller of the API sees it: 31.5 million fires are counted,
//! accounted for in the ledger, and committed. The part that is pure calculation is also measured
//! alone.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use chrono::{DateTime, TimeDelta, Utc};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use timetable::misfire;

use crate::{
    database::Kind,
    goals,
    graphql::Caller,
    place::Place,
    server::{self, Server},
    spread::percentile,
    table::{Findings, Table},
};

/// How to measure resuming.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of schedules that are resumed.
    #[arg(long, default_value_t = 50)]
    schedules: usize,
    #[command(flatten)]
    pub(crate) place: Place,
}

const YEAR: TimeDelta = TimeDelta::days(365);
const CREATE: &str = "mutation($input: CreateScheduleInput!) {
    createSchedule(input: $input) { schedule { id } } }";
const RESUME: &str = "mutation($id: UUID!) {
    resumeSchedule(id: $id, missed: LATEST) { schedule { id } } }";

/// Measures resuming on each database.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    let clock = Clock::system();
    for kind in arguments.place.database.kinds() {
        let took = one(arguments, &clock, *kind).await?;
        let of = |percent| percentile(&took, percent).map(milliseconds);
        let pure = (0..20).map(|_| pure(&clock)).collect::<Result<Vec<_>>>()?;
        let pure = pure.into_iter().map(milliseconds);
        let title = format!("{}: a year of missed every-second fires", kind.name());
        let table = Table::new(title)
            .goal("the whole command, p50 ms", of(50), goals::P18)
            .line("p99 ms", of(99))
            .line("slowest, ms", of(100))
            .goal("only the calculation, ms", pure, goals::P18);
        findings.add(table);
    }
    Ok(findings)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

async fn one(arguments: &Arguments, clock: &Clock, kind: Kind) -> Result<Vec<Duration>> {
    let fresh = arguments.place.fresh(kind).await?;
    let store = Store::open(&Options::new(&fresh.url)).await?;
    let token = server::token(&store, clock).await?;
    let server = Server::start(clock, &fresh.url, "bench").await?;
    let mut caller = server.caller(&token).await?;
    let mut ids = Vec::new();
    for number in 0..arguments.schedules {
        ids.push(paused(&mut caller, number).await?);
    }
    backdate(&store, clock.now() - YEAR).await?;
    let mut took = Vec::new();
    for id in ids {
        let body = json!({ "query": RESUME, "variables": { "id": id } }).to_string();
        let began = clock.instant();
        caller.send(&body).await?;
        took.push(began.elapsed());
    }
    server.kill().await?;
    check(&store, arguments.schedules).await?;
    store.close().await?;
    fresh.drop().await?;
    took.sort_unstable();
    Ok(took)
}

async fn paused(caller: &mut Caller, number: usize) -> Result<Value> {
    let input = json!({
        "name": format!("bench-{number}"),
        "timing": { "expressions": ["* * * * * *"], "zone": "Europe/Berlin" },
        "task": { "target": { "noop": {} } },
        "paused": true,
    });
    let made = caller.ask(CREATE, &json!({ "input": input })).await?;
    Ok(made["createSchedule"]["schedule"]["id"].clone())
}

/// Backdates the pause of all schedules.
async fn backdate(store: &Store, since: DateTime<Utc>) -> Result<()> {
    let ms = since.timestamp_millis() / 1_000 * 1_000;
    let sql = format!(
        "UPDATE schedule SET anchor_at = {ms}, created_at = {ms}, paused_at = {ms}, \
         next_scheduled_at = {ms}, next_fire_at = {ms}"
    );
    let tx = store.begin().await?;
    tx.execute_unprepared(&sql).await?;
    Ok(store.commit(tx).await?)
}

/// Checks that the ledger accounts for every second of the year.
async fn check(store: &Store, schedules: usize) -> Result<()> {
    let row = store.read().query_one_raw(
        store.dialect().statement("SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM fire", []),
    );
    let row = row.await?.context("a sum is a row")?;
    let counted: i64 = row.try_get_by_index(0)?;
    let least = YEAR.num_seconds() * i64::try_from(schedules)?;
    ensure!(counted >= least, "the ledger accounts for {counted} fires of at least {least}");
    Ok(())
}

/// The duration of the pure calculation.
fn pure(clock: &Clock) -> Result<Duration> {
    let now = clock.now();
    let definition = timetable::Definition {
        anchor: now - YEAR,
        ..timetable::Definition::new(vec!["* * * * * *".to_owned()], "Europe/Berlin")
    };
    let timetable = timetable::Cache::new(1).timetable(&definition)?;
    let policy = misfire::Policy {
        catch_up: misfire::CatchUp::Latest,
        grace: TimeDelta::minutes(5),
        max: 100,
        spacing: TimeDelta::zero(),
        window: TimeDelta::days(1),
    };
    let began = clock.instant();
    black_box(misfire::plan(black_box(&timetable), now - YEAR, now, &policy));
    Ok(began.elapsed())
}
