use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use carillon::{
    access::{Grants, Viewer, ViewerKind},
    app::App,
    clock::Clock,
    commands::{Call, DeploymentSource},
    config::Config,
    telemetry::Telemetry,
};
use entity::user::Role;
use uuid::Uuid;

use crate::support::{TestDatabase, on_both};

on_both!(probes_and_fires_go_on_while_the_api_is_stuck);

const MODULE: &str = "module: often\nschedules:\n  second:\n    when: '* * * * * *'\n    task:\n      target:\n        noop: {}\n";

/// Sends a request without yielding the thread, so everything else on its runtime stands still.
fn ask(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The number of successful runs, according to the metrics.
fn succeeded(address: SocketAddr) -> u64 {
    let metrics = ask(address, "/metrics");
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("carillon_executions_total{state=\"succeeded\"} "));
    line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}

async fn probes_and_fires_go_on_while_the_api_is_stuck(database: TestDatabase) {
    let mut config = Config { listen: "127.0.0.1:0".parse().unwrap(), ..Config::default() };
    config.database.url = database.url.as_str().into();
    let telemetry = Arc::new(Telemetry::unexported(Clock::system()).unwrap());
    // The runtime of this test has one thread, which serves the API.
    let app = App::start(config, telemetry, Clock::system()).await.unwrap();
    let grants = Grants::everywhere(Role::Admin);
    let editor = Viewer::new(Uuid::nil(), "test", ViewerKind::User, grants, "test").editor();
    let call = Call::new("deployModule", MODULE, None).unwrap();
    app.commands().deploy(&editor.unwrap(), DeploymentSource::yaml(MODULE), &call).await.unwrap();
    let (address, clock) = (app.address(), Clock::system());
    let (start, before) = (clock.instant(), succeeded(address));
    // From here on, this loop occupies the API's only thread.
    while succeeded(address) < before + 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "no fires");
        for probe in ["/livez", "/readyz", "/healthz"] {
            let answer = ask(address, probe);
            assert!(answer.starts_with("HTTP/1.1 200"), "{probe}: {answer}");
        }
    }
    app.run_until(std::future::ready(())).await.unwrap();
}
