use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::{field::Field, short_or_long};

const LEASE: Duration = Duration::from_secs(3);

/// SQLite resolves links itself and would end up in the file system of this process. So only
/// processes inside the mount namespace open the database on the disk; other processes get copies.
const FILE: &str = "carillon.db";

/// The text of the health check while the disk is full.
const NAMED: &str = "nothing fires: the disk of the database is full; free some space";

/// The text of the log while the disk is full.
const FULL: &str = "the disk of the database is full; free some space";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disk_of_a_sqlite_database_is_full() {
    let (schedules, times, megabytes) = short_or_long((60, 1, 64), (100, 10, 512));
    let volume = Volume::mount(megabytes);
    let outside = tempfile::tempdir().unwrap();
    let url = |folder: &Path| format!("sqlite:{}", folder.join(FILE).display());
    let length = 20 * times;
    let mut field = Field::new("disk full", &url(outside.path()), LEASE, schedules, length).await;
    std::fs::copy(outside.path().join(FILE), volume.path().join(FILE)).unwrap();
    let inside = url(volume.mounted_on.path());
    let mut nodes = [field.node_within(&volume.starter(), "one", &inside)];
    nodes[0].is_ready().await;
    field.begins().await;
    for _ in 0..times {
        field.pass(Duration::from_secs(4)).await;
        let clock = field.clock.clone();
        let fault = async {
            // The database's own files may have free pages, so the test fills the disk until the
            // server notices.
            let said = nodes[0].said(FULL);
            let mut noticed = 0;
            for turn in 0.. {
                volume.fill();
                noticed += usize::from(nodes[0].said(FULL) > said);
                // The disk stays full for three more seconds, during which nothing can be written.
                if noticed > 15 {
                    break;
                }
                assert!(turn < 150, "the node has not noticed: {}", nodes[0].log());
                clock.sleep(Duration::from_millis(200)).await;
            }
            let (is_well, health) = nodes[0].health().await;
            assert!(!is_well && health.to_string().contains(NAMED), "{health}");
            volume.empty();
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(2)).await;
    }
    field.is_executed(&mut nodes).await;
    // The health check recovers after a write has succeeded.
    for turn in 0.. {
        let (_, health) = nodes[0].health().await;
        if health["checks"]["writes"]["healthy"] == true {
            assert!(!health.to_string().contains(NAMED), "{health}");
            break;
        }
        assert!(turn < 150, "it still says that nothing can be written: {health}");
        field.pass(Duration::from_millis(200)).await;
    }
    nodes[0].stop();
    std::fs::copy(volume.path().join(FILE), outside.path().join(FILE)).unwrap();
    field.ends(&mut []).await;
}

/// A small disk for the test, which exists as long as a process in its own mount namespace, and is
/// reached through that process.
struct Volume {
    keeper: Child,
    /// The flags with which `nsenter` enters the namespaces.
    kind: &'static [&'static str],
    mounted_on: TempDir,
}

/// The flags of `unshare`, and those with which `nsenter` enters the result. An unprivileged user
/// may mount only inside a user namespace.
const KINDS: [(&str, &[&str]); 2] =
    [("-Urm", &["--user", "--preserve-credentials", "--mount"]), ("-m", &["--mount"])];

const KEEPER: &str =
    r#"mount -t tmpfs -o "size=$1m" tmpfs "$2" && echo mounted && exec cat >/dev/null"#;

impl Volume {
    /// Mounts the disk, as root, or without privileges where the machine permits that.
    fn mount(megabytes: u32) -> Self {
        let mounted_on = tempfile::tempdir().unwrap();
        let mut errors = String::new();
        for (made, kind) in KINDS {
            let mut command = Command::new("unshare");
            command.args([made, "sh", "-c", KEEPER, "keeper", &megabytes.to_string()]);
            command.arg(mounted_on.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut keeper = command.stderr(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
            if line == "mounted\n" {
                return Self { keeper, kind, mounted_on };
            }
            let output = keeper.wait_with_output().unwrap();
            errors.push_str(&String::from_utf8_lossy(&output.stderr));
        }
        panic!(
            "THIS TEST DID NOT RUN: this machine lets it mount no disk, neither as it is nor in a \
             user namespace; run it as root: {errors}"
        );
    }

    /// The command that starts a program inside the namespaces.
    fn starter(&self) -> Vec<String> {
        let target = ["nsenter".to_owned(), "--target".to_owned(), self.keeper.id().to_string()];
        let kind = self.kind.iter().map(|word| (*word).to_owned());
        target.into_iter().chain(kind).chain(["--".to_owned()]).collect()
    }

    /// The path of the disk for plain reads and writes.
    fn path(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(self.mounted_on.path().strip_prefix("/").unwrap())
    }

    /// Fills the disk completely.
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
