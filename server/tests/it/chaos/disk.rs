use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::{field::Field, short_or_long};

const LEASE: Duration = Duration::from_secs(3);

/// What the log says then.
const FULL: &str = "the disk of the database is full; make room";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disk_of_a_sqlite_database_is_full() {
    let (schedules, times, megabytes) = short_or_long((60, 1, 64), (100, 10, 512));
    let volume = Volume::mount(megabytes);
    let url = format!("sqlite:{}", volume.path().join("carillon.db").display());
    let length = 20 * times;
    let mut field = Field::new("disk full", &url, LEASE, (schedules, length)).await;
    let mut nodes = field.nodes(["one"]).await;
    field.begins().await;
    for _ in 0..times {
        field.pass(Duration::from_secs(4)).await;
        let clock = field.clock.clone();
        let fault = async {
            // It has room in its files; what it frees is taken, too.
            let said = nodes[0].said(FULL);
            for turn in 0.. {
                volume.fill();
                if nodes[0].said(FULL) > said + 3 {
                    break;
                }
                assert!(turn < 150, "the node has not noticed: {}", nodes[0].log());
                clock.sleep(Duration::from_millis(200)).await;
            }
            volume.empty();
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(2)).await;
    }
    field.ends(&mut nodes).await;
}

/// A small disk of the test's own, which is there as long as a process in a mount namespace of its
/// own is, and is reached through it.
struct Volume {
    keeper: Child,
    mounted_on: TempDir,
}

const KEEPER: &str =
    r#"mount -t tmpfs -o "size=$1m" tmpfs "$2" && echo mounted && exec cat >/dev/null"#;

impl Volume {
    /// As root, and where the machine allows it as anybody.
    fn mount(megabytes: u32) -> Self {
        let mounted_on = tempfile::tempdir().unwrap();
        let mut errors = String::new();
        for kind in ["-Urm", "-m"] {
            let mut command = Command::new("unshare");
            command.args([kind, "sh", "-c", KEEPER, "keeper", &megabytes.to_string()]);
            command.arg(mounted_on.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut keeper = command.stderr(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
            if line == "mounted\n" {
                return Self { keeper, mounted_on };
            }
            let output = keeper.wait_with_output().unwrap();
            errors.push_str(&String::from_utf8_lossy(&output.stderr));
        }
        panic!(
            "THIS TEST DID NOT RUN: this machine lets it mount no disk, neither as it is nor in a \
             user namespace; run it as root: {errors}"
        );
    }

    fn path(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(self.mounted_on.path().strip_prefix("/").unwrap())
    }

    /// Leaves no byte.
    fn fill(&self) {
        let file = self.path().join("filler");
        let mut file = File::options().create(true).append(true).open(file).unwrap();
        let mut size = 1 << 20;
        while size > 0 {
            match file.write(&vec![0; size]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => size /= 2,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
