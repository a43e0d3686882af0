use std::{
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{OnceLock, mpsc},
};

/// A server that lives as long as this process. Its supervisor reads from a pipe that this process
/// holds open. When the pipe closes - by a normal end, a panic or a kill - the supervisor stops the
/// server and removes its files.
struct Server {
    url: String,
    /// The supervisor, with the pipe as its standard input.
    _supervisor: Child,
}

/// The script of the supervisor: `$1` is the folder of PostgreSQL's programs, `$2` is the server's
/// own folder.
const SUPERVISOR: &str = r#"
trap '' INT TERM
"$1/initdb" -D "$2/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >&2 || exit 1
"$1/postgres" -D "$2/data" -c listen_addresses= -c "unix_socket_directories=$2" \
  -c max_connections=200 -c fsync=off -c synchronous_commit=off -c full_page_writes=off >&2 &
server=$!
cat >/dev/null
kill -QUIT "$server"
wait "$server"
rm -rf "$2"
"#;

/// The URL of a connection that may create databases.
pub(super) fn admin_url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    static SERVER: OnceLock<Server> = OnceLock::new();
    URL.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
        let given = std::env::var("CARILLON_TEST_POSTGRES");
        match given {
            Ok(url) if !url.is_empty() => url,
            _ => SERVER.get_or_init(start).url.clone(),
        }
    })
}

/// The URL of another database on the same server.
pub(super) fn with_database(url: &str, name: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, ""), |(a, q)| (a, q));
    let (server, _) = address.rsplit_once('/').unwrap();
    if query.is_empty() { format!("{server}/{name}") } else { format!("{server}/{name}?{query}") }
}

/// Starts a server that listens on a socket in its own folder, so that no ports collide.
fn start() -> Server {
    let programs = programs();
    let folder = tempfile::Builder::new().prefix("carillon-postgres-").tempdir().unwrap().keep();
    let mut command = as_ordinary_user(&folder);
    command.args(["sh", "-c", SUPERVISOR, "supervisor"]).arg(&programs).arg(&folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).current_dir("/");
    let mut supervisor = command.spawn().expect("start PostgreSQL");
    let log = BufReader::new(supervisor.stderr.take().unwrap());
    let (ready, is_ready) = mpsc::channel();
    // The log is read to its end: if the pipe were full, the server would stop.
    std::thread::spawn(move || {
        let mut lines = Vec::new();
        for line in log.lines().map_while(Result::ok) {
            if line.contains("ready to accept connections") {
                let _ = ready.send(Ok(()));
            }
            if lines.len() < 100 {
                lines.push(line);
            }
        }
        let _ = ready.send(Err(lines.join("\n")));
    });
    is_ready.recv().unwrap().unwrap_or_else(|log| panic!("PostgreSQL did not start:\n{log}"));
    let url = format!("postgres://postgres@localhost/postgres?host={}", folder.display());
    Server { url, _supervisor: supervisor }
}

/// A command that runs as an ordinary user: PostgreSQL refuses to run as root, so root switches to
/// the user that PostgreSQL's package created.
pub(crate) fn as_ordinary_user(folder: &Path) -> Command {
    if Path::new("/proc/self").metadata().unwrap().uid() != 0 {
        return Command::new("env");
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let postgres = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let ours = fields.next() == Some("postgres");
        let ids = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        ours.then_some(ids)
    });
    let (user, group): (u32, u32) = postgres.expect("a user 'postgres'");
    chown(folder, Some(user), Some(group)).unwrap();
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups"]);
    command
}

/// The folder with `initdb` and `postgres`: that of the newest Debian package, or the one that
/// `pg_config` names.
pub(crate) fn programs() -> PathBuf {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .filter(|(_, folder)| folder.join("initdb").exists())
        .collect();
    versions.sort();
    if let Some((_, folder)) = versions.pop() {
        return folder;
    }
    let output = Command::new("pg_config").arg("--bindir").output().expect(
        "PostgreSQL is not installed: apt-get install postgresql, or set CARILLON_TEST_POSTGRES",
    );
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}
