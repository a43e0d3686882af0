use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    graphql::Caller,
    server::{self, Quotas, Server},
};

/// A server with its default quotas and two namespaces: one with a schedule that fires every second, and one with an
/// editor and a viewer.
#[derive(Debug)]
pub(super) struct Camp {
    server: Server,
    /// The token of an editor in the attackers' namespace.
    pub(super) editor: String,
    pub(super) viewer: String,
}

impl Camp {
    pub(super) async fn pitch(clock: &Clock, url: &str, witness: &str) -> Result<Self> {
        let store = Store::open(&Options::new(url)).await?;
        let token = server::token(&store, clock).await?;
        store.close().await?;
        let flags = ["--allow-private-addresses"];
        let server = Server::start_with(clock, url, "bench", &flags, Quotas::Usual).await?;
        let mut owner = server.caller(&token).await?;
        for name in ["witness", "attackers"] {
            let make = "mutation($name: String!) { createNamespace(name: $name) { __typename } }";
            owner.ask(make, &json!({ "name": name })).await?;
        }
        let input = json!({
            "namespace": "witness",
            "name": "tick",
            "timing": { "expressions": ["* * * * * *"], "zone": "UTC" },
            "overlap": "ALLOW",
            "task": { "target": { "http": { "url": witness } } },
        });
        create(&mut owner, &input).await.context("create the witness's schedule")?;
        let mut tokens = Vec::new();
        for role in ["EDITOR", "VIEWER"] {
            tokens.push(account(&mut owner, role).await?);
        }
        let [editor, viewer] =
            <[String; 2]>::try_from(tokens).map_err(|_| anyhow::anyhow!("two accounts"))?;
        Ok(Self { server, editor, viewer })
    }

    /// A connection as the editor.
    pub(super) async fn editor(&self) -> Result<Caller> {
        self.server.caller(&self.editor).await
    }

    pub(super) fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub(super) fn address(&self) -> &str {
        self.server.address()
    }

    /// Requests `/livez` over a new connection.
    pub(super) async fn livez(&self) -> Result<()> {
        let mut stream = TcpStream::connect(self.address()).await?;
        let head = format!("GET /livez HTTP/1.1\r\nhost: {}\r\n\r\n", self.address());
        stream.write_all(head.as_bytes()).await?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await?;
        ensure!(answer.ends_with(b"200"), "/livez answers {}", String::from_utf8_lossy(&answer));
        Ok(())
    }

    pub(super) async fn kill(self) -> Result<()> {
        self.server.kill().await
    }
}

/// Creates a schedule.
pub(super) async fn create(caller: &mut Caller, input: &Value) -> Result<Value> {
    let create = "mutation($input: CreateScheduleInput!) {
        createSchedule(input: $input) { schedule { id } } }";
    caller.ask(create, &json!({ "input": input })).await
}

/// Creates a service account in the attackers' namespace, and its token.
async fn account(owner: &mut Caller, role: &str) -> Result<String> {
    let name = role.to_lowercase();
    let make = "mutation($name: String!, $role: Role!) {
        createServiceAccount(input: { name: $name }) { __typename }
        setMembership(input: { user: $name, namespace: \"attackers\", role: $role }) { __typename }
        createApiToken(input: { name: \"t\", role: $role, serviceAccount: $name,
                                namespace: \"attackers\" }) { secret } }";
    let made = owner.ask(make, &json!({ "name": name, "role": role })).await?;
    let secret = made["createApiToken"]["secret"].as_str();
    Ok(secret.context("a token")?.to_owned())
}
