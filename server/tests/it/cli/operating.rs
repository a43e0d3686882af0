//! The commands for schedules, their buffers and their runs.

use carillon::clock::Clock;
use chrono::{DateTime, TimeDelta, Utc};
use entity::fire;
use sea_orm::{ConnectionTrait, EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_resume_is_previewed_row_by_row,
    a_schedule_goes_back_to_an_earlier_version,
    a_buffer_is_listed_reordered_and_purged,
    a_run_is_cancelled_and_done_again,
);

/// The discard port is closed: the first attempt fails, and the run waits for the next.
const MODULE: &str = "module: test
schedules:
  tick:
    when: '* * * * *'
    paused: true
    misfire: { max: 300 }
    task: { target: { noop: {} } }
  busy:
    when: '@daily'
    paused: true
    misfire: { window: 20d }
    overlap: buffer_all
    task:
      target: { http: { url: 'http://127.0.0.1:9/' } }
      retry: { max_attempts: 2, initial: 1h, max: 1h }
";

/// Moves the schedule's cursor as if it had been paused that many minutes ago.
async fn paused_for(database: &TestDatabase, schedule: &str, minutes: i64) -> DateTime<Utc> {
    let now = Clock::system().now().timestamp() / 60 * 60;
    let at = DateTime::from_timestamp(now, 0).unwrap() - TimeDelta::minutes(minutes);
    let store = &database.store;
    let sql = "UPDATE schedule SET next_scheduled_at = $1, next_fire_at = $1 WHERE name = $2";
    let values = [at.timestamp_millis().into(), schedule.into()];
    let tx = store.begin().await.unwrap();
    tx.execute_raw(store.dialect().statement(sql, values)).await.unwrap();
    store.commit(tx).await.unwrap();
    at
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

async fn a_resume_is_previewed_row_by_row(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let until = ["--until", "2099-01-01T00:00:00Z"];
    let pause = [&["pause", "tick", "--reason", "stock-taking"], &until[..]].concat();
    assert_eq!(desk.said(&pause), "paused tick until 2099-01-01T00:00:00Z\n");
    let latest = [&pause[..], &["--missed", "latest"]].concat();
    let then = "until 2099-01-01T00:00:00Z, then runs the latest";
    assert_eq!(desk.said(&latest), format!("paused tick {then}\n"));
    assert!(desk.said(&["show", "tick"]).contains(&format!("{then}: stock-taking")));
    // A pause without an end leaves the choice to the resume.
    let endless = ["pause", "tick", "--reason", "x", "--missed", "latest"];
    assert!(desk.command(&endless).run().refused(2).contains("--until"));
    let paused = desk.json(&["pause", "tick", "--reason", "still stock-taking"]);
    assert_eq!((&paused["state"], &paused["pause"]["until"]), (&"PAUSED".into(), &Value::Null));
    assert_eq!(paused["pause"]["reason"], "still stock-taking");
    let past = ["pause", "tick", "--reason", "x", "--until", "2020-01-01T00:00:00Z"];
    assert!(desk.command(&past).run().refused(1).contains("until"));
    assert_eq!(desk.command(&["pause", "tick"]).run().code, 2);

    let since = paused_for(&database, "tick", 400).await;
    let told = desk.json(&["resume", "tick", "--dry-run"]);
    let choices = told["choices"].as_array().unwrap();
    let missed = texts(&told["choices"], "missed");
    assert_eq!(told["paused"], true);
    assert_eq!(missed, ["SKIP", "LATEST", "ALL"]);
    assert_eq!([&choices[0]["runs"], &choices[1]["runs"]], [0, 1]);
    // The server has more rows than it returns at once: one for each of the last 300 instants, and
    // a range before them.
    let rows = choices[2]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &choices[2]["rowCount"]), (301, &301.into()));
    assert_eq!(rows[0]["scheduledAt"], json!(since));
    let at = |row: &Value| row["scheduledAt"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
    let after_range: DateTime<Utc> = rows[0]["lastScheduledAt"].as_str().unwrap().parse().unwrap();
    for (index, row) in rows[1..].iter().enumerate() {
        let minutes = TimeDelta::minutes(i64::try_from(index).unwrap() + 1);
        assert_eq!((at(row), &row["verdict"]), (after_range + minutes, &"PENDING".into()));
    }
    let table = desk.said(&["resume", "tick", "--dry-run", "--catch-up", "latest"]);
    assert!(table.starts_with("latest: 1 would run, "), "{table}");
    assert!(!table.contains("skip: ") && table.contains("collapsed"), "{table}");

    let said = desk.said(&["resume", "tick", "--catch-up", "latest"]);
    assert!(said.starts_with("resumed tick\nnext "), "{said}");
    let runs = ["runs", "--schedule", "tick"];
    desk.until(&runs, |runs| !runs.as_array().unwrap().is_empty());
    let said = desk.said(&["resume", "tick", "--dry-run"]);
    assert_eq!(said, "it is not paused: there is nothing to resume\n");
    let missing = desk.command(&["resume", "tock"]).run().refused(1);
    assert!(missing.contains("there is no schedule 'tock'"), "{missing}");
}

async fn a_schedule_goes_back_to_an_earlier_version(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let ask = async |query: &str| {
        let request = desk.server.post("/graphql").bearer_auth(&desk.token);
        let answer = request.json(&json!({ "query": query })).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        assert!(answer["errors"].is_null(), "{answer}");
        answer["data"].clone()
    };
    let create = "mutation { createSchedule(input: { name: \"nightly\",
        timing: { expressions: [\"0 2 * * *\"] }, task: { target: { noop: {} } } }) {
        schedule { id } } }";
    let id = ask(create).await["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let change = format!(
        "mutation {{ updateSchedule(input: {{ id: \"{id}\", expectedVersion: 1,
        timing: {{ expressions: [\"0 3 * * *\"] }} }}) {{ schedule {{ version }} }} }}"
    );
    ask(&change).await;
    let table = desk.said(&["versions", "nightly"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("VERSION  AT") && lines.len() == 3, "{table}");
    assert!(
        lines[1].starts_with("2  ") && lines[1].contains("`0 2 * * *` -> `0 3 * * *`"),
        "{table}"
    );
    assert_eq!(desk.json(&["versions", &id, "--limit", "1"])[0]["snapshot"]["name"], "nightly");

    let stale = desk.command(&["rollback", "nightly", "--to", "1", "--expected", "1"]).run();
    assert!(stale.refused(1).contains("version"), "the version was not compared");
    let said = desk.said(&["rollback", "nightly", "--to", "1", "--reason", "a mistake"]);
    assert!(said.starts_with("nightly version 3: rolled back to version 1: timing: "), "{said}");
    assert!(said.lines().last().unwrap().ends_with("T02:00:00Z"), "{said}");
    // The schedule is already in the state of that version, so nothing is written.
    let again = desk.said(&["rollback", "nightly", "--to", "1"]);
    assert_eq!(again, "nightly is now as version 1 was\n");
    let missing = desk.command(&["rollback", "nightly", "--to", "9"]).run().refused(1);
    assert!(missing.contains("is not an earlier version"), "{missing}");
    let declared = desk.command(&["rollback", "tick", "--to", "1"]).run().refused(1);
    assert!(declared.contains("declared by the module"), "{declared}");
    let nobody = uuid::Uuid::nil().to_string();
    let nobody = desk.command(&["versions", &nobody]).run().refused(1);
    assert!(nobody.contains("there is no schedule with the id"), "{nobody}");
}

async fn a_buffer_is_listed_reordered_and_purged(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    paused_for(&database, "busy", 6 * 24 * 60).await;
    // The first caught-up fire runs, and the others wait for it.
    desk.said(&["resume", "busy", "--catch-up", "all"]);
    let rows = fire::Entity::find().count(database.store.read()).await.unwrap();
    assert!(rows >= 6, "{rows} fires of six days");
    let list = ["buffer", "list", "busy"];
    // Waits until the first fire has a run and all others wait for that run. A fire that entered or
    // left the buffer later would disturb the following steps.
    let buffer = desk.until(&list, |buffer| {
        let why = buffer["buffer"][0]["reason"]["text"].as_str().unwrap_or_default();
        why.starts_with("Waits for run ") && buffer["bufferSize"].as_u64() == Some(rows - 1)
    });
    let cut = desk.command(&["buffer", "list", "busy", "--limit", "1", "--json"]).run();
    assert!(cut.err.starts_with(&format!("1 shown, {} ", rows - 2)), "{cut:?}");
    assert!(cut.err.trim().ends_with("give --limit, up to 1000"), "{cut:?}");
    let fires = texts(&buffer["buffer"], "id");
    let few = desk.said(&["buffer", "list", "busy", "--limit", "2"]);
    assert!(few.starts_with("PLACE  FIRE") && few.lines().count() == 3, "{few}");

    let moved = desk.json(&["buffer", "move", "busy", &fires[3], &fires[1]]);
    let order = texts(&moved["buffer"], "id");
    assert_eq!(order[..4], [&fires[3], &fires[1], &fires[0], &fires[2]].map(Clone::clone));
    let said = desk.said(&["buffer", "purge", "busy", &fires[1]]);
    assert!(said.starts_with("purged 1; "), "{said}");
    assert!(!texts(&desk.json(&list)["buffer"], "id").contains(&fires[1]));
    let gone = desk.command(&["buffer", "move", "busy", &fires[1]]).run().refused(1);
    assert!(gone.contains("does not wait in this buffer"), "{gone}");
    assert_eq!(desk.command(&["buffer", "purge", "busy"]).run().code, 2);
    assert_eq!(desk.command(&["buffer", "purge", "busy", "--all", &fires[0]]).run().code, 2);
    let purged = desk.json(&["buffer", "purge", "busy", "--all"]);
    assert!(purged["purged"].as_array().unwrap().len() >= 3, "{purged}");
    assert_eq!(desk.json(&list)["bufferSize"], 0);
}

async fn a_run_is_cancelled_and_done_again(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let id_of = |said: String| said.trim().strip_prefix("run ").unwrap().to_owned();
    // The command stops waiting, and still says which run it is.
    let wait = ["trigger", "busy", "--wait", "--timeout", "1s", "--json"];
    let waited = desk.command(&wait).run().refused(1);
    assert!(waited.contains("after 1s the run ") && waited.ends_with("it continues"), "{waited}");
    let run = waited.split(' ').find(|word| uuid::Uuid::try_parse(word).is_ok());
    let run = run.expect("the run's id").to_owned();
    desk.until(&["runs", "--state", "retrying"], |runs| runs[0]["id"] == *run);
    let live = desk.command(&["run", "rerun", &run]).run().refused(1);
    assert!(live.starts_with("failed to rerun the run: ") && live.contains("is still"), "{live}");
    let said = desk.said(&["run", "cancel", &run, "--reason", "enough"]);
    assert_eq!(said, format!("run {run} is cancelled\n"));
    let again = desk.command(&["run", "cancel", &run]).run().refused(1);
    assert!(again.contains("already"), "{again}");

    let retried = desk.json(&["run", "retry", &run]);
    assert_eq!((&retried["trigger"], &retried["retryOf"]), (&"RETRY".into(), &run.as_str().into()));
    let rerun = id_of(desk.said(&["run", "rerun", &run]));
    let runs = desk.json(&["runs", "--schedule", "busy"]);
    assert!(texts(&runs, "id").contains(&rerun), "{runs}");
    let nobody = desk.command(&["run", "retry", &uuid::Uuid::nil().to_string()]).run().refused(1);
    assert!(nobody.contains("run"), "{nobody}");
    assert_eq!(desk.command(&["run", "cancel", "7"]).run().code, 2);
}
