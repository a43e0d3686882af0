use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use serde_json::{Value, json};

use super::daemon::Daemon;

const FOLDER: &str = "/usr/lib/rabbitmq/lib";

/// Starts epmd, the daemon by which Erlang finds nodes, and then the server. Otherwise the server
/// would start an epmd that outlives it.
const START: &str = "epmd -port $ERL_EPMD_PORT -address 127.0.0.1 & \
                     exec \"$(ls -d /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin)/rabbitmq-server\"";
const COUNT: &str = "exec \"$(ls -d /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin)/rabbitmqctl\" \
                     --quiet --no-table-headers list_queues messages";

/// The objects that exist from the start: the queue `orders`, and an exchange that routes to the
/// queue.
const DEFINITIONS: &str = r#"{
    "vhosts": [{ "name": "/" }],
    "users": [{ "name": "guest", "password": "guest", "tags": "administrator" }],
    "permissions": [
        { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" }
    ],
    "exchanges": [{
        "name": "shop", "vhost": "/", "type": "topic", "durable": true, "auto_delete": false,
        "arguments": {}
    }],
    "queues": [{
        "name": "orders", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}
    }],
    "bindings": [{
        "source": "shop", "vhost": "/", "destination": "orders", "destination_type": "queue",
        "routing_key": "order.*", "arguments": {}
    }]
}"#;

pub(super) fn is_installed() -> bool {
    Path::new(FOLDER).is_dir()
}

/// Starts a broker with a durable queue.
pub(super) async fn start(clock: &Clock) -> Result<(Daemon, Value)> {
    let mut daemon = Daemon::start(clock, 3, |folder, ports| {
        fs::write(folder.join("definitions.json"), DEFINITIONS)?;
        let config = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\nload_definitions = {}\n",
            ports[0],
            folder.join("definitions.json").display()
        );
        fs::write(folder.join("rabbitmq.conf"), config)?;
        fs::write(folder.join("plugins"), "[].\n")?;
        Ok(shell(START, folder, ports))
    })
    .await?;
    daemon
        .until(clock, async |daemon| Ok(daemon.printed().contains("Server startup complete")))
        .await?;
    let to = json!({ "rabbitmq": {
        "connection": { "servers": [daemon.server()] },
        "exchange": "shop",
        "routing_key": "order.new",
    } });
    Ok((daemon, to))
}

pub(super) async fn count(daemon: &Daemon) -> Result<u64> {
    let command = shell(COUNT, daemon.folder(), &daemon.ports);
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "rabbitmqctl: {}", errors.trim());
    let text = String::from_utf8(output.stdout)?;
    text.trim().parse().with_context(|| format!("rabbitmqctl prints {text:?}"))
}

/// A shell command for the server whose files are in `folder`.
fn shell(script: &str, folder: &Path, ports: &[u16]) -> Command {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command.envs([
        ("ERL_EPMD_PORT", ports[1].to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODENAME", format!("carillon-{}@localhost", ports[0])),
        ("RABBITMQ_DIST_PORT", ports[2].to_string()),
        ("RABBITMQ_CONFIG_FILE", path("rabbitmq")),
        ("RABBITMQ_MNESIA_BASE", path("data")),
        ("RABBITMQ_LOG_BASE", path("log")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", path("plugins")),
        ("RABBITMQ_PID_FILE", path("pid")),
        ("RABBITMQ_LOGS", "-".to_owned()),
        ("HOME", folder.display().to_string()),
    ]);
    command
}
