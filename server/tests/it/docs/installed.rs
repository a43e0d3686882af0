//! The `.deb` with the built binary, installed by dpkg into a root of its own, served from, installed
//! once more, removed and purged. The package's scripts run inside that root, which has copies of
//! the programs that they call: nothing of the machine is changed.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid},
};
use tempfile::TempDir;

use super::{files, shipped::run};
use crate::{packaging::assert_unit_is_valid, settings::repository};

/// The programs that the package's scripts call.
const PROGRAMS: [&str; 6] = ["chmod", "chown", "getent", "rmdir", "sh", "useradd"];
/// The search path of an administrator, whatever that of the tests is.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

const CONFIGURATION: &str = "/etc/carillon/carillon.toml";
const STATE: &str = "/var/lib/carillon";
const DATABASE: &str = "/var/lib/carillon/data/carillon.db";

/// A user's number and that of its group.
type Owner = (u32, u32);
const ROOT: Owner = (0, 0);

/// A root in which nothing is installed but the given package's dependencies.
struct System {
    folder: TempDir,
}

impl System {
    fn new(depends: &str) -> Self {
        let system = Self { folder: tempfile::tempdir().unwrap() };
        // The server's user has to get in.
        fs::set_permissions(system.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for folder in ["bin", "sbin", "lib", "lib64"] {
            fs::create_dir_all(system.path("usr").join(folder)).unwrap();
            symlink(format!("usr/{folder}"), system.path(folder)).unwrap();
        }
        for folder in ["dev", "etc"] {
            fs::create_dir(system.path(folder)).unwrap();
        }
        for folder in ["info", "triggers", "updates"] {
            fs::create_dir_all(system.path("var/lib/dpkg").join(folder)).unwrap();
        }
        for (file, text) in [
            // A file is enough for what the scripts throw away.
            ("dev/null", ""),
            ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
            ("etc/group", "root:x:0:\n"),
            ("etc/shadow", "root:*:19000:0:99999:7:::\n"),
            ("etc/gshadow", "root:*::\n"),
            ("etc/login.defs", ""),
        ] {
            fs::write(system.path(file), text).unwrap();
        }
        for program in PROGRAMS {
            system.copy(program);
        }
        system.enter(depends);
        system
    }

    /// A path of the system, on this machine.
    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.folder.path().join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Copies a program of the machine, with the libraries that it is linked with.
    fn copy(&self, name: &str) {
        let mut places = PATH.split(':').map(|folder| Path::new(folder).join(name));
        let program = places.find(|path| path.exists()).unwrap_or_else(|| panic!("no {name}"));
        let linked = run("ldd", &[program.to_str().unwrap()]);
        let words = linked.split_whitespace().filter(|word| word.starts_with('/'));
        for file in words.map(PathBuf::from).chain([program]) {
            let copy = self.path(&file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(file, copy).unwrap();
        }
    }

    /// Enters packages as installed: the C library in the version of this machine, so that dpkg
    /// compares it with the one that the package asks for.
    fn enter(&self, depends: &str) {
        let libc = run("getconf", &["GNU_LIBC_VERSION"]);
        let libc = libc.trim().rsplit(' ').next().unwrap();
        let architecture = run("dpkg", &["--print-architecture"]);
        let entry = |dependency: &str| {
            let name = dependency.split(' ').next().unwrap();
            fs::write(self.path(format!("var/lib/dpkg/info/{name}.list")), "/.\n").unwrap();
            let version = if name == "libc6" { libc } else { "1" };
            format!(
                "Package: {name}\nStatus: install ok installed\nMaintainer: the test\n\
                 Architecture: {}\nVersion: {version}\nDescription: is there\n\n",
                architecture.trim()
            )
        };
        let status: String = depends.split(", ").map(entry).collect();
        fs::write(self.path("var/lib/dpkg/status"), status).unwrap();
    }

    /// Has dpkg change the system; returns what it says.
    #[track_caller]
    fn dpkg(&self, args: &[&str]) -> String {
        let (path, root) =
            (format!("PATH={PATH}"), format!("--root={}", self.folder.path().display()));
        // Some machines are set up to leave documents out. Nothing here must outlast a power
        // failure.
        let own = ["--log=/dev/null", "--path-include=/*", "--force-unsafe-io"];
        run("env", &[&[path.as_str(), "dpkg", root.as_str()][..], &own, args].concat())
    }

    /// What dpkg knows of the package.
    fn known(&self, field: &str) -> String {
        let folder = format!("--admindir={}", self.path("var/lib/dpkg").display());
        let format = format!("--showformat=${{{field}}}");
        run("dpkg-query", &[&folder, "--show", &format, "carillon"]).trim().to_owned()
    }

    /// The user id and group id of a user that the package has created.
    fn user(&self, name: &str) -> Owner {
        let users = fs::read_to_string(self.path("etc/passwd")).unwrap();
        let is_it = |line: &&str| line.split(':').next() == Some(name);
        let line = users.lines().find(is_it).unwrap_or_else(|| panic!("no {name}: {users}"));
        assert!(line.ends_with(":/usr/sbin/nologin"), "{line}");
        let fields: Vec<&str> = line.split(':').collect();
        (fields[2].parse().unwrap(), fields[3].parse().unwrap())
    }

    #[track_caller]
    fn assert_is(&self, path: &str, mode: u32, owner: Owner) {
        let found = fs::metadata(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(format!("{:o}", found.mode() & 0o7777), format!("{mode:o}"), "{path}");
        assert_eq!((found.uid(), found.gid()), owner, "{path}");
    }

    /// Starts the server as the unit does, but on a free port; returns its address.
    fn serve(&self, unit: &str, (user, group): Owner) -> (Child, String) {
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let here = |word: &str| match word.starts_with('/') {
            true => self.path(word),
            false => PathBuf::from(word),
        };
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={group}")]);
        // If the test ends early, so does the server.
        command.args(["--clear-groups", "--pdeathsig", "KILL"]);
        command.args(start.split_whitespace().map(here)).args(["--listen", "127.0.0.1:0"]);
        command.env_clear().env("PATH", PATH).current_dir(self.path(STATE));
        // The configuration has the path inside the system's root.
        let database = format!("sqlite:{}", self.path(DATABASE).display());
        command.env("CARILLON_DATABASE__URL", database);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            line.unwrap().strip_prefix("Carillon is ready at ").map(str::to_owned)
        });
        (child, url.expect("the server starts; its log is above"))
    }
}

/// Packs the built binary, without its symbols, which are the most of it.
fn package(folder: &Path) -> String {
    let text = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (binary, out) = (text("carillon"), text("dist"));
    run("strip", &["-o", &binary, env!("CARGO_BIN_EXE_carillon")]);
    run("env", &["QUICK=1", "scripts/dist", &binary, &out]);
    format!("{out}/{}", files(&out, ".deb").remove(0))
}

#[tokio::test]
async fn the_deb_is_installed_serves_is_upgraded_and_leaves_the_database() {
    if Command::new("dpkg").arg("--version").output().is_err() || !Uid::effective().is_root() {
        println!("the .deb is not installed: this takes dpkg, and root, who may change roots");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let deb = package(folder.path());
    let system = System::new(run("dpkg-deb", &["--field", &deb, "Depends"]).trim());
    system.dpkg(&["--install", &deb]);
    assert_eq!(system.known("db:Status-Status"), "installed");
    assert!(system.known("Conffiles").starts_with(&format!("{CONFIGURATION} ")));

    let carillon = system.user("carillon");
    assert_ne!(system.user("carillon-task"), carillon);
    let readable = (0, carillon.1);
    system.assert_is("/etc/carillon", 0o750, readable);
    system.assert_is(CONFIGURATION, 0o640, readable);
    system.assert_is("/usr/bin/carillon", 0o755, ROOT);
    system.assert_is("/usr/lib/systemd/system/carillon.service", 0o644, ROOT);
    system.assert_is("/usr/share/man/man1/carillon.1.gz", 0o644, ROOT);
    system.assert_is("/usr/share/doc/carillon/copyright", 0o644, ROOT);
    // Commands find the database from any folder.
    let configuration = fs::read_to_string(system.path(CONFIGURATION)).unwrap();
    assert!(configuration.contains(&format!("\nurl = \"sqlite:{DATABASE}\"\n")));
    let unit = fs::read_to_string(system.path("/usr/lib/systemd/system/carillon.service")).unwrap();
    assert_unit_is_valid(&unit, system.path("/usr/bin/carillon").to_str().unwrap());

    // systemd makes this folder (StateDirectory).
    fs::create_dir(system.path(STATE)).unwrap();
    fs::set_permissions(system.path(STATE), fs::Permissions::from_mode(0o700)).unwrap();
    chown(system.path(STATE), Some(carillon.0), Some(carillon.1)).unwrap();
    let (mut server, url) = system.serve(&unit, carillon);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer = reqwest::get(format!("{url}/livez")).await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert!(server.wait().unwrap().success());
    assert_eq!(fs::metadata(system.path(DATABASE)).unwrap().uid(), carillon.0);

    // What a person has changed is not replaced, and no question is asked.
    let changed = format!("{}\n# of this machine\n", repository("assets/carillon.toml"));
    fs::write(system.path(CONFIGURATION), &changed).unwrap();
    system.dpkg(&["--install", &deb]);
    assert_eq!(fs::read_to_string(system.path(CONFIGURATION)).unwrap(), changed);
    system.assert_is(CONFIGURATION, 0o640, readable);
    assert_eq!(system.user("carillon"), carillon);
    // A configuration that a person has removed stays so.
    fs::remove_file(system.path(CONFIGURATION)).unwrap();
    system.dpkg(&["--install", &deb]);
    assert_eq!(system.known("db:Status-Status"), "installed");
    assert!(!system.path(CONFIGURATION).exists());
    fs::write(system.path(CONFIGURATION), &changed).unwrap();

    system.dpkg(&["--remove", "carillon"]);
    assert_eq!(system.known("db:Status-Status"), "config-files");
    assert!(!system.path("/usr/bin/carillon").exists() && system.path(CONFIGURATION).exists());
    let said = system.dpkg(&["--purge", "carillon"]);
    assert!(said.contains("the database stays in /var/lib/carillon"), "{said}");
    assert!(!system.path("/etc/carillon").exists() && system.path(DATABASE).exists());
}
