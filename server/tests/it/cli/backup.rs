//! A backup made under load, and restored in place of a lost database.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use sea_orm::FromQueryResult;
use serde_json::Value;

use crate::support::{Command, Server, TestDatabase};

/// Schedules that fire every second, beside one whose first run waits for a file.
const LOAD: usize = 8;

const SETTINGS: &str = r#"
[engine]
heartbeat_interval = "200ms"
heartbeat_expiry = "2s"
recovery_interval = "100ms"
lost_after = "1s"
"#;

#[derive(Debug, FromQueryResult)]
struct Fire {
    schedule: String,
    scheduled_at: i64,
    count: i64,
    verdict: String,
    state: Option<String>,
}

#[derive(FromQueryResult)]
struct Attempt {
    state: String,
}

fn module(gate: &Path) -> String {
    let mut text = "module: load\nschedules:\n".to_owned();
    let each = "    when: \"* * * * * *\"\n    task:\n      target: { command: { script: ";
    for number in 0..LOAD {
        text.push_str(&format!("  load-{number}:\n{each}\"exit 0\" }} }}\n"));
    }
    let wait = format!("until test -e {}; do sleep 0.1; done", gate.display());
    text.push_str(&format!("  waits:\n{each}\"{wait}\" }} }}\n"));
    text
}

async fn fires(store: &Store) -> Vec<Fire> {
    let sql = "SELECT schedule.name AS schedule, fire.scheduled_at, fire.count, fire.verdict, \
                 run.state FROM fire JOIN schedule ON schedule.id = fire.schedule_id \
                 LEFT JOIN run ON run.id = fire.run_id ORDER BY fire.scheduled_at";
    let rows = Fire::find_by_statement(store.dialect().statement(sql, []));
    rows.all(store.read()).await.unwrap()
}

/// Waits until the ledger reaches the expected state.
async fn until(url: &str, what: &str, is_so: impl Fn(&[Fire]) -> bool) -> Vec<Fire> {
    let store = Store::open(&Options::new(url)).await.unwrap();
    let clock = Clock::system();
    let waited = clock.timeout(Duration::from_secs(60), async {
        loop {
            let fires = fires(&store).await;
            if is_so(&fires) {
                return fires;
            }
            clock.sleep(Duration::from_millis(50)).await;
        }
    });
    let Ok(fires) = waited.await else { panic!("not {what}: {:?}", fires(&store).await) };
    store.close().await.unwrap();
    fires
}

#[tokio::test]
async fn a_backup_under_load_brings_every_fire_back() {
    let database = TestDatabase::sqlite().await;
    // The command does not replace a database that is open, and this test had it open.
    database.store.clone().close().await.unwrap();
    let file = Path::new(database.url.trim_start_matches("sqlite:"));
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (gate, settings, backup) = (at("gate"), at("settings.toml"), at("backup.db"));
    fs::write(&settings, SETTINGS).unwrap();
    fs::write(at("load.yaml"), module(&gate)).unwrap();
    let (settings, load) = (settings.to_str().unwrap(), at("load.yaml"));
    let flags = ["--config", settings, "--allow-commands", "--node-name", "ops"];
    let server =
        Server::start_with(&database, &[&flags[..], &["--apply", load.to_str().unwrap()]].concat());
    let is_done = |fire: &Fire| fire.state.as_deref() == Some("succeeded");
    let busy = |fires: &[Fire]| fires.iter().filter(|fire| is_done(fire)).count() > 3 * LOAD;
    until(&database.url, "busy", busy).await;

    let to = backup.to_str().unwrap();
    let make =
        |more: &[&str]| Command::new(&[&["backup", "--to", to], more].concat()).on(&database).run();
    let made: Value = serde_json::from_str(&make(&["--json"]).done()).unwrap();
    assert_eq!(made["bytes"], fs::metadata(&backup).unwrap().len());
    let refused = make(&[]).refused(1);
    assert!(refused.contains("it exists") && refused.contains("--overwrite"), "{refused}");
    assert!(make(&["--overwrite"]).done().starts_with("created the backup "));
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 3, "settings, module and backup, and nothing else");

    let restore =
        |from: &Path| Command::new(&["restore", from.to_str().unwrap()]).on(&database).run();
    let refused = restore(&backup).refused(1);
    assert!(refused.contains("has it open; stop it first"), "{refused}");
    let last = until(&database.url, "further", |fires| fires.len() > 6 * LOAD).await;
    let last = last.last().unwrap().scheduled_at;
    drop(server);

    // An unusable backup is refused, and the database is not touched.
    let before = fs::read(file).unwrap();
    let mut bytes = fs::read(&backup).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8_192].fill(0xa5);
    fs::write(at("damaged.db"), &bytes).unwrap();
    fs::write(at("cut.db"), &bytes[..middle]).unwrap();
    for (name, why) in [
        ("damaged.db", "it is damaged"),
        ("cut.db", "it is damaged"),
        ("load.yaml", "it is not a SQLite database"),
        ("none.db", "No such file"),
    ] {
        let refused = restore(&at(name)).refused(1);
        assert!(refused.contains(why) && refused.contains(name), "{refused}");
        assert_eq!(fs::read(file).unwrap(), before, "{name}");
    }

    // As if the disk had lost the beginning of the database.
    let mut lost = before;
    lost[..4_096].fill(0);
    fs::write(file, lost).unwrap();
    let said = restore(&backup).done();
    assert!(said.contains("the previous database is kept as"), "{said}");
    let kept = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = kept.filter(|path| path.to_str().unwrap().contains("before-rest")).collect();
    // The replaced database is kept with its write-ahead log, merged or beside it.
    assert!(!kept.is_empty(), "nothing was kept");

    fs::write(&gate, "").unwrap();
    let server = Server::start_with(&database, &flags);
    let settled = |fires: &[Fire]| {
        let until = fires.iter().filter(|fire| is_done(fire)).map(|fire| fire.scheduled_at).max();
        let is_open =
            |fire: &&Fire| fire.verdict == "pending" || fire.state.is_some() && !is_done(fire);
        until > Some(last + 2_000)
            && fires.iter().filter(|fire| fire.scheduled_at <= last).find(is_open).is_none()
    };
    let fires = until(&database.url, "all accounted for", settled).await;
    let mut by_schedule: BTreeMap<&str, Vec<&Fire>> = BTreeMap::new();
    for fire in fires.iter().filter(|fire| fire.scheduled_at <= last) {
        by_schedule.entry(&fire.schedule).or_default().push(fire);
    }
    assert_eq!(by_schedule.len(), LOAD + 1);
    for (schedule, fires) in by_schedule {
        // Each second has its row, from before the backup until after the restore.
        for pair in fires.windows(2) {
            let step = pair[1].scheduled_at - pair[0].scheduled_at;
            assert_eq!(step, 1_000 * pair[0].count, "{schedule}: {pair:?}");
        }
        // A fire that was due while the previous run was live was skipped. Of two fires due at one
        // claim, the older one was collapsed. Both rows say so.
        let has_a_reason = |fire: &Fire| ["skipped", "collapsed"].contains(&&*fire.verdict);
        let is_well = |fire: &&Fire| schedule == "waits" || is_done(fire) || has_a_reason(fire);
        assert!(fires.iter().all(is_well), "{schedule}: {fires:?}");
    }
    // The runs that were in progress during the backup were lost with their process, and repeated.
    let store = Store::open(&Options::new(&database.url)).await.unwrap();
    let sql = "SELECT task_run.state FROM task_run JOIN run ON run.id = task_run.run_id \
               JOIN schedule ON schedule.id = run.schedule_id WHERE schedule.name = 'waits' \
               ORDER BY run.scheduled_at, task_run.attempt LIMIT 2";
    let attempts = Attempt::find_by_statement(store.dialect().statement(sql, []));
    let attempts = attempts.all(store.read()).await.unwrap();
    let attempts: Vec<&str> = attempts.iter().map(|attempt| attempt.state.as_str()).collect();
    assert_eq!(attempts, ["lost", "succeeded"]);
    store.close().await.unwrap();
    drop(server);
}

#[tokio::test]
async fn a_backup_of_another_version_or_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("{}/{name}", folder.path().display());
    let newer = TestDatabase::at(format!("sqlite:{}", at("newer.db"))).await;
    let transaction = newer.store.begin().await.unwrap();
    let insert = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)";
    sea_orm::ConnectionTrait::execute_unprepared(&transaction, insert).await.unwrap();
    newer.store.commit(transaction).await.unwrap();
    let restore = |from: &str| {
        let command = Command::new(&["restore", from]);
        command.env("CARILLON_DATABASE__URL", &format!("sqlite:{}", at("other.db"))).run()
    };
    // A database in use is not a backup.
    let refused = restore(&at("newer.db")).refused(1);
    assert!(refused.contains("'-wal'") && refused.contains("carillon backup"), "{refused}");
    newer.store.clone().close().await.unwrap();
    let refused = restore(&at("newer.db")).refused(1);
    assert!(refused.contains("m9999_later"), "{refused}");
    assert!(!Path::new(&at("other.db")).exists());
    let missing = Command::new(&["backup", "--to", &at("x.db")])
        .env("CARILLON_DATABASE__URL", &format!("sqlite:{}", at("none.db")))
        .run()
        .refused(1);
    assert!(missing.contains("none.db") && !Path::new(&at("none.db")).exists(), "{missing}");
}

#[test]
fn a_server_of_postgresql_is_left_to_its_own_tools() {
    for args in [&["backup", "--to", "x.db"][..], &["restore", "x.db"]] {
        let url = "postgres://ada:s3cret@db/carillon";
        let refused = Command::new(args).env("CARILLON_DATABASE__URL", url).run().refused(1);
        assert!(refused.contains("pg_dump") && !refused.contains("s3cret"), "{refused}");
    }
}
