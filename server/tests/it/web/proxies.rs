//! The proxies of docs/how-to/proxy-with-tls.md: nginx and Caddy in front of a server, with the
//! configurations that the page shows. Only ports, certificates and addresses are replaced.

use std::{
    fs::{self, File},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    process::{self, Child, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, StatusCode, header, redirect};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    settings::repository,
    support::{Command, Server, Socket, TestDatabase, cookie, free_port, set_cookie},
};

const PAGE: &str = "docs/how-to/proxy-with-tls.md";
const NAME: &str = "cron.example.org";
const PASSWORD: &str = "correct horse battery";

/// The address of the callers: another one than the proxy's.
const CALLER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// An address that callers claim to have.
const FORGED: &str = "203.0.113.9";

/// Headers with which a caller forges its address, name and scheme.
const CLAIMS: [(&str, &str); 5] = [
    ("x-forwarded-for", FORGED),
    ("x-forwarded-host", "evil.example"),
    ("x-forwarded-proto", "http"),
    ("x-real-ip", FORGED),
    ("forwarded", "for=203.0.113.9;host=evil.example;proto=http"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Caddy,
    Nginx,
}

#[tokio::test]
async fn nginx_passes_everything_on_as_documented() {
    passes_everything_on(Kind::Nginx).await;
}

#[tokio::test]
async fn caddy_passes_everything_on_as_documented() {
    passes_everything_on(Kind::Caddy).await;
}

async fn passes_everything_on(kind: Kind) {
    let site = Site::open(kind).await;
    pages_and_assets_arrive(&site).await;
    let session = a_person_signs_in(&site).await;
    requests_are_those_of_the_session(&site, &session).await;
    events_arrive(&site, &session).await;
    the_address_is_the_callers(&site, &session).await;
    a_caller_beside_the_proxy_is_not_believed(&site).await;
    if kind == Kind::Nginx {
        only_https_is_served(&site).await;
    }
}

async fn pages_and_assets_arrive(site: &Site) {
    for path in ["/", "/schedules"] {
        let page = site.get(path).header(header::ACCEPT, "text/html").send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK, "{path}");
        assert!(page.headers().contains_key(header::STRICT_TRANSPORT_SECURITY), "{path}");
        assert!(page.text().await.unwrap().contains("<title>console</title>"), "{path}");
    }
    let script = site.get("/app-0123456789abcdef.js").send().await.unwrap();
    assert_eq!(script.headers()[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
    assert_eq!(script.text().await.unwrap(), "export {}");
    let metrics = site.get("/metrics").send().await.unwrap();
    assert_eq!(metrics.status(), StatusCode::NOT_FOUND);
    let directly = site.server.get("/metrics").send().await.unwrap();
    assert_eq!(directly.status(), StatusCode::OK);
}

/// Signs in, with forged headers, and returns the session's cookie.
async fn a_person_signs_in(site: &Site) -> String {
    let body = json!({ "name": "ada", "password": PASSWORD });
    let login = claiming(site.post("/auth/login")).header(header::ORIGIN, &site.url);
    let answer = login.json(&body).send().await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
    let set = set_cookie(&answer, false);
    assert!(set.starts_with("__Host-"), "{set}");
    assert!(set.split(';').any(|part| part.trim().eq_ignore_ascii_case("secure")), "{set}");
    cookie(&answer)
}

async fn requests_are_those_of_the_session(site: &Site, session: &str) {
    let me = site.ask(session, "{ me { name } }").await;
    assert_eq!(me["me"]["name"], "ada");
    // Claims of a caller change neither the name nor the scheme that the origin is compared with.
    let query = json!({ "query": "{ me { name } }" });
    let plain = site.url.replace("https://", "http://");
    for origin in [&*plain, "https://evil.example", "http://evil.example"] {
        let post = claiming(site.post("/graphql")).header(header::COOKIE, session);
        let answer = post.header(header::ORIGIN, origin).json(&query).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{origin}");
    }
    // A module file may have 1 MiB. A larger request arrives as well, and the server answers it.
    let source = format!("module: m\n# {}", "x".repeat(2 * 1024 * 1024));
    let query = "mutation($source: String!) { deployModule(source: $source) { module } }";
    let body = json!({ "query": query, "variables": { "source": source } });
    let post = site.post("/graphql").header(header::COOKIE, session);
    let answer = post.header(header::ORIGIN, &site.url).json(&body).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let answer: Value = answer.json().await.unwrap();
    let message = answer["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("1048576"), "{message}");
}

/// A subscription gets what a mutation causes, both through the proxy.
async fn events_arrive(site: &Site, session: &str) {
    let open = |origin: &str| {
        let request = site.sockets.get(format!("{}/graphql", site.url));
        let request = Socket::upgrade(claiming(request)).header(header::COOKIE, session);
        request.header(header::ORIGIN, origin)
    };
    let foreign = open("https://evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    let mut socket = Socket::open(open(&site.url)).await;
    assert_eq!(socket.init(json!({})).await.unwrap()["type"], "connection_ack");
    let payload = json!({ "query": "subscription { runEvents { run { state } } }" });
    socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    let made = site.ask(
        session,
        "mutation { createSchedule(input: { name: \"ticks\",
            timing: { expressions: [\"* * * * * *\"] }, task: { target: { noop: {} } } }) {
            schedule { name } } }",
    );
    assert_eq!(made.await["createSchedule"]["schedule"]["name"], "ticks");
    let event = tokio::time::timeout(Duration::from_secs(60), socket.next()).await.unwrap();
    let event = event.unwrap();
    assert!(event["payload"]["data"]["runEvents"]["run"]["state"].is_string(), "{event}");
}

async fn the_address_is_the_callers(site: &Site, session: &str) {
    let seen =
        site.ask(session, "{ sessions { address } auditEvents { nodes { action source } } }");
    let seen = seen.await;
    assert_eq!(seen["sessions"], json!([{ "address": CALLER.to_string() }]));
    let events = seen["auditEvents"]["nodes"].as_array().unwrap();
    let made = events.iter().find(|event| event["action"] == "schedule.create").unwrap();
    assert_eq!(made["source"], CALLER.to_string());
    assert!(!seen.to_string().contains(FORGED), "{seen}");
}

/// A caller who reaches the server's own port is no proxy, whatever it says.
async fn a_caller_beside_the_proxy_is_not_believed(site: &Site) {
    let client = Client::builder().local_address(CALLER).build().unwrap();
    let body = json!({ "name": "ada", "password": PASSWORD });
    let login = claiming(client.post(format!("{}/auth/login", site.server.url)));
    let answer = login.json(&body).send().await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
    let seen = site.ask(&cookie(&answer), "{ sessions { address isCurrent } }").await;
    let sessions = seen["sessions"].as_array().unwrap();
    let own = sessions.iter().find(|session| session["isCurrent"] == true).unwrap();
    assert_eq!(own["address"], CALLER.to_string(), "{seen}");
}

async fn only_https_is_served(site: &Site) {
    let url = format!("http://{NAME}:{}/schedules?q=a", site.plain_port);
    let answer = site.client.get(url).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::MOVED_PERMANENTLY);
    assert_eq!(answer.headers()[header::LOCATION], format!("https://{NAME}/schedules?q=a"));
    // The proxy passes any name on, and the server refuses those that it does not have.
    let request = site.sockets.get(format!("{}/livez", site.url));
    let answer = request.header(header::HOST, "evil.example").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST);
}

#[test]
fn the_configurations_for_several_nodes_are_accepted() {
    let folder = Certified::new();
    let (head, site) = (caddy_head(free_port()), caddy_site(&folder));
    let caddy = format!("{head}{site}{}}}\n", block("Several nodes", 0));
    let file = folder.write("Caddyfile", &caddy);
    let mut check = program("caddy", &folder);
    accepted(check.args(["validate", "--adapter", "caddyfile", "--config", &file]));
    let one = nginx(&folder, "127.0.0.1:1", free_port(), free_port());
    let (before, rest) = one.split_once("upstream carillon {").unwrap();
    let (_, after) = rest.split_once("}\n").unwrap();
    let many = format!("{before}{}{after}", block("Several nodes", 1));
    let file = folder.write("nginx.conf", &many);
    accepted(program("nginx", &folder).args(["-t", "-e", "stderr", "-c", &file]));
}

fn accepted(command: &mut process::Command) {
    let output = command.output().expect("start the proxy (scripts/packages nginx caddy)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn claiming(request: RequestBuilder) -> RequestBuilder {
    CLAIMS.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

/// A server behind a proxy, at a name with TLS.
struct Site {
    server: Server,
    _proxy: Proxy,
    _database: TestDatabase,
    _console: TempDir,
    /// The public address.
    url: String,
    /// The port at which nginx redirects to HTTPS.
    plain_port: u16,
    client: Client,
    /// Speaks HTTP/1.1 alone, as a WebSocket needs it.
    sockets: Client,
}

impl Site {
    async fn open(kind: Kind) -> Self {
        let database = TestDatabase::sqlite().await;
        let add = ["user", "add", "ada", "--role", "admin", "--password-stdin", "--own-password"];
        Command::new(&add).on(&database).input(PASSWORD).run().done();
        let console = console();
        let (port, plain_port) = (free_port(), free_port());
        let url = format!("https://{NAME}:{port}");
        let settings = replaced(&settings(), &format!("https://{NAME}"), &url);
        let dist = console.path().to_str().unwrap();
        let config = format!("{settings}\nconsole.dist = {dist:?}\n");
        let server = Server::start_configured(&database, &config);
        let folder = Certified::new();
        let client = |builder: ClientBuilder| {
            let pem = fs::read(folder.path().join("cert.pem")).unwrap();
            let builder = builder.tls_certs_only([Certificate::from_pem(&pem).unwrap()]);
            let builder = builder.resolve(NAME, SocketAddr::from(([127, 0, 0, 1], 0)));
            let builder = builder.local_address(CALLER).redirect(redirect::Policy::none());
            builder.build().unwrap()
        };
        let (sockets, client) = (client(Client::builder().http1_only()), client(Client::builder()));
        let behind = server.url.strip_prefix("http://").unwrap();
        let mut proxy = match kind {
            Kind::Nginx => {
                let file = folder.write("nginx.conf", &nginx(&folder, behind, port, plain_port));
                let mut command = program("nginx", &folder);
                command.args(["-e", "stderr", "-c", &file]);
                Proxy::start(command, folder)
            }
            Kind::Caddy => {
                let file = folder.write("Caddyfile", &caddy(&folder, behind, port));
                let mut command = program("caddy", &folder);
                command.args(["run", "--adapter", "caddyfile", "--config", &file]);
                Proxy::start(command, folder)
            }
        };
        proxy.answers(&client, &url).await;
        Self {
            server,
            _proxy: proxy,
            _database: database,
            _console: console,
            url,
            plain_port,
            client,
            sockets,
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.url))
    }

    /// The data of an answer that must not be an error, to a caller with forged headers.
    async fn ask(&self, session: &str, query: &str) -> Value {
        let post = claiming(self.post("/graphql")).header(header::COOKIE, session);
        let post = post.header(header::ORIGIN, &self.url).json(&json!({ "query": query }));
        let answer = post.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{query}");
        let mut answer: Value = answer.json().await.unwrap();
        assert!(answer["errors"].is_null(), "{answer}");
        answer["data"].take()
    }
}

/// A folder with a certificate for the name.
struct Certified(TempDir);

impl Certified {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("carillon-proxy-").tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in the folder, as text.
    fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path().join(name), text).unwrap();
        self.file(name)
    }
}

/// A proxy that runs. Dropping it kills it.
struct Proxy {
    process: Child,
    /// Declared after the process, so that the folder is removed after the process has ended.
    folder: Certified,
}

impl Proxy {
    fn start(mut command: process::Command, folder: Certified) -> Self {
        let log = File::create(folder.path().join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = command.spawn().expect("start setpriv");
        Self { process, folder }
    }

    /// Waits until the server answers through the proxy.
    async fn answers(&mut self, client: &Client, url: &str) {
        let clock = Clock::system();
        let log = || fs::read_to_string(self.folder.path().join("log")).unwrap();
        for _ in 0..3_000 {
            if let Some(status) = self.process.try_wait().unwrap() {
                let log = log();
                panic!("the proxy ended, {status} (scripts/packages nginx caddy): {log}");
            }
            if let Ok(answer) = client.get(format!("{url}/livez")).send().await
                && answer.status() == StatusCode::OK
            {
                return;
            }
            clock.sleep(Duration::from_millis(10)).await;
        }
        panic!("the server does not answer through the proxy: {}", log());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program with a home of its own. If the test is killed, the kernel stops the program.
fn program(name: &str, folder: &Certified) -> process::Command {
    // Debian has nginx where only root's shell looks.
    let path = format!("/usr/sbin/{name}");
    let path = if Path::new(&path).exists() { path } else { name.to_owned() };
    let mut command = process::Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", &path]);
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, folder.path());
    }
    command
}

/// A built console in a folder.
fn console() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("index.html", "<!doctype html><title>console</title>");
    write("app-0123456789abcdef.js", "export {}");
    folder
}

/// The page's settings of the server.
fn settings() -> String {
    let page = repository(PAGE);
    let (_, rest) = page.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// A configuration under a heading of the page.
fn block(heading: &str, index: usize) -> String {
    let page = repository(PAGE);
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let block = section.split("```text\n").nth(index + 1).unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// The text with its only occurrence of `from` replaced.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    text.replace(from, to)
}

/// The page's configuration of nginx, in a process without children and with folders of its own.
fn nginx(folder: &Certified, server: &str, port: u16, plain_port: u16) -> String {
    let mut site = block("nginx", 0);
    for (from, to) in [
        ("listen 80;", format!("listen 127.0.0.1:{plain_port};")),
        ("listen 443 ssl;", format!("listen 127.0.0.1:{port} ssl;")),
        ("server 127.0.0.1:8080;", format!("server {server};")),
        ("/etc/ssl/cron.example.org.pem", folder.file("cert.pem")),
        ("/etc/ssl/private/cron.example.org.key", folder.file("key.pem")),
    ] {
        site = replaced(&site, from, &to);
    }
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};\n", folder.file(kind)))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid {};\nevents {{}}\nhttp {{\naccess_log off;\n\
         {temporary}{site}}}\n",
        folder.file("pid")
    )
}

/// The page's configuration of Caddy, with the certificate of the test.
fn caddy(folder: &Certified, server: &str, port: u16) -> String {
    let site = replaced(&block("Caddy", 0), &format!("{NAME} {{\n"), &caddy_site(folder));
    format!("{}{}", caddy_head(port), replaced(&site, "127.0.0.1:8080", server))
}

/// Options that keep Caddy to one port.
fn caddy_head(port: u16) -> String {
    format!("{{\nadmin off\nauto_https disable_redirects\nhttps_port {port}\n}}\n")
}

/// The beginning of the site.
fn caddy_site(folder: &Certified) -> String {
    let (certificate, key) = (folder.file("cert.pem"), folder.file("key.pem"));
    format!("{NAME} {{\nbind 127.0.0.1\ntls {certificate} {key}\n")
}
