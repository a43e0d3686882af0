use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{field::Field, postgres::Postgres, short_or_long};

const LEASE: Duration = Duration::from_secs(3);

/// How far the clock of one node is off, round by round.
const STEPS: [&str; 4] = ["+3600", "+0", "-3600", "+0"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_one_node_is_stepped_by_an_hour_each_way() {
    let (schedules, times, turn) =
        short_or_long((50, 1, Duration::from_secs(4)), (300, 8, Duration::from_secs(10)));
    let library = library();
    let postgres = Postgres::start(&[]).await;
    let length = (turn * 4 * times + LEASE * 2).as_secs().cast_signed();
    let url = postgres.url();
    let mut field = Field::new("clock", &url, LEASE, schedules, length).await;
    let offset = field.folder().join("clock");
    set(&offset, "+0");
    let clock = faked(&library, &offset);
    let mut nodes = [field.node("right"), field.node_by("wrong", &url, &clock)];
    for node in &mut nodes {
        node.is_ready().await;
    }
    field.begins().await;
    for _ in 0..times {
        for step in STEPS {
            field.pass(turn).await;
            set(&offset, step);
            field.hit();
        }
    }
    field.ends(&mut nodes).await;
}

/// A single node on SQLite, whose database uses the node's own clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_only_node_goes_on_when_its_clock_is_right_again() {
    let library = library();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("carillon.db").display());
    let mut field = Field::new("clock of one", &url, LEASE, 20, 14).await;
    let offset = field.folder().join("clock");
    set(&offset, "+0");
    let clock = faked(&library, &offset);
    let mut nodes = [field.node_by("only", &url, &clock)];
    nodes[0].is_ready().await;
    field.begins().await;
    field.pass(Duration::from_secs(3)).await;
    let real = field.clock.clone();
    let fault = async {
        let stepped = real.instant();
        set(&offset, "-3600");
        nodes[0].says("the wall clock was stepped", 1).await;
        let noticed = stepped.elapsed();
        let (is_well, health) = nodes[0].health().await;
        assert!(!is_well && health.to_string().contains("was set back"), "{health}");
        real.sleep(Duration::from_secs(4)).await;
        set(&offset, "+0");
        noticed
    };
    let noticed = field.while_hit(fault).await;
    assert!(noticed < Duration::from_millis(1_500), "{noticed:?}");
    let right = field.clock.instant();
    nodes[0].says("the wall clock was stepped", 2).await;
    let executed = field.sink.executions().len();
    while field.sink.executions().len() == executed {
        field.pass(Duration::from_millis(20)).await;
    }
    assert!(right.elapsed() < Duration::from_secs(3), "{:?}", right.elapsed());
    field.ends(&mut nodes).await;
}

/// The environment that makes a process see a clock set by the test.
fn faked<'a>(library: &'a Path, offset: &'a Path) -> [(&'a str, &'a str); 6] {
    [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", offset.to_str().unwrap()),
        // The library reads the offset from the file at each call.
        ("FAKETIME_NO_CACHE", "1"),
        // Durations are measured on another clock, which cannot be stepped.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_DISABLE_SHM", "1"),
    ]
}

/// Replaces the file atomically: the node may read it at any time.
fn set(file: &Path, offset: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{offset}\n")).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// The library (libfaketime) that replaces the clock of a process.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().map_while(Result::ok);
    let mut files = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    files.find(|file| file.exists()).expect("libfaketime is missing: scripts/packages faketime")
}
