use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{field::Field, postgres::Postgres, short_or_long};

const LEASE: Duration = Duration::from_secs(3);

/// How far the clock of one node is off, turn by turn.
const STEPS: [&str; 4] = ["+3600", "+0", "-3600", "+0"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_one_node_is_stepped_by_an_hour_each_way() {
    let (schedules, times, turn) =
        short_or_long((50, 1, Duration::from_secs(4)), (300, 8, Duration::from_secs(10)));
    let library = library();
    let postgres = Postgres::start(&[]).await;
    let length = (turn * 4 * times + LEASE * 2).as_secs().cast_signed();
    let url = postgres.url();
    let mut field = Field::new("clock", &url, LEASE, (schedules, length)).await;
    let offset = field.folder().join("clock");
    set(&offset, "+0");
    let clock = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", offset.to_str().unwrap()),
        // It looks at the file each time.
        ("FAKETIME_NO_CACHE", "1"),
        // Durations are measured on another clock, which nobody can step.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_DISABLE_SHM", "1"),
    ];
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

/// Never half written: the node may look at any time.
fn set(file: &Path, offset: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{offset}\n")).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// What stands between a process and the clock of its machine.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().map_while(Result::ok);
    let mut files = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    files.find(|file| file.exists()).expect("libfaketime is missing: scripts/packages faketime")
}
