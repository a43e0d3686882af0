//! A client of a server's GraphQL API for the commands.

use std::{net::IpAddr, time::Duration};

use clap::{Args, builder::RangedI64ValueParser};
use reqwest::{RequestBuilder, Response, StatusCode, header::HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{CliError, output, profiles::Profiles, progress::ProgressLine, why::Why};
use crate::config::{Config, Sources};

/// The header with the reason for a change.
const REASON: &str = "carillon-reason";

/// Timeout of a request. The server takes less time than this for any response.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a request to a server failed. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// No server answers at the address, or its answer is not Carillon's.
    #[error("reach the server at {server}: {problem}; check --server and that it is running")]
    Unreachable {
        /// The address as given.
        server: String,
        /// What went wrong in the transport.
        problem: String,
    },
    /// The server does not accept the credentials.
    #[error(
        "ask the server at {server}: {problem}; sign in with 'carillon login', or give --token or \
         CARILLON_TOKEN with a token from 'carillon token create'"
    )]
    Unauthenticated {
        /// The address as given.
        server: String,
        /// The server's message.
        problem: String,
    },
    /// The server refused the request.
    #[error("{action}: {problem}")]
    Refused {
        /// The action that was requested.
        action: &'static str,
        /// The server's message.
        problem: String,
    },
    /// The server failed, and does not say what it has done.
    #[error("{action}: {problem}")]
    Failed {
        /// The action that was requested.
        action: &'static str,
        /// The server's message.
        problem: String,
    },
}

/// A running server, and the credentials for it.
#[derive(Debug, Args)]
pub(super) struct Server {
    /// URL of the server [default: that of the profile, or http:// and the configured 'listen']
    #[arg(long, value_name = "URL", env = "CARILLON_SERVER", global = true)]
    server: Option<String>,
    /// Token to sign in with; on a command line, other users of the machine can read it [default:
    /// that of the profile]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "CARILLON_TOKEN",
        hide_env_values = true,
        global = true
    )]
    token: Option<SecretString>,
    /// Profile of a server that 'carillon login' has signed in to [default: the current one]
    #[arg(long, value_name = "NAME", env = "CARILLON_PROFILE", global = true)]
    profile: Option<String>,
}

/// The server's address and the token for it.
pub(super) struct ServerConnection {
    /// The server's URL, without a trailing slash.
    pub(super) server: String,
    token: Option<SecretString>,
}

impl ServerConnection {
    /// The token, if there is one.
    pub(super) fn token(&self) -> Option<&SecretString> {
        self.token.as_ref()
    }

    /// The request with the token, if there is one.
    pub(super) fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }
}

impl Server {
    /// A server with a known token.
    pub(super) fn of(server: &str, token: &SecretString) -> Self {
        Self { server: Some(server.to_owned()), token: Some(token.clone()), profile: None }
    }

    /// The connection: from flags and variables, from the profile, or this machine's configuration.
    pub(super) fn connection(&self) -> Result<ServerConnection, CliError> {
        if let (Some(server), Some(token), None) = (&self.server, &self.token, &self.profile) {
            return Ok(ServerConnection { server: address(server)?, token: Some(token.clone()) });
        }
        let profiles = Profiles::read()?;
        // Without a named profile, the current one is read only if no server is given.
        let profile = match &self.server {
            Some(_) if self.profile.is_none() => None,
            _ => profiles.chosen(self.profile.as_deref())?,
        };
        let server = match (&self.server, profile) {
            (Some(server), _) => address(server)?,
            (None, Some(profile)) => address(&profile.server)?,
            (None, None) => configured()?,
        };
        // A profile's token is sent only to the profile's own server.
        let own = profile.filter(|profile| profile.server == server);
        let own = own.map(|profile| profile.token.clone());
        Ok(ServerConnection { server, token: self.token.clone().or(own) })
    }

    /// Sends a GraphQL request; returns the response's data.
    pub(super) async fn ask(
        &self,
        action: &'static str,
        query: &str,
        variables: Value,
    ) -> Result<Value, CliError> {
        self.order(action, query, variables, &Why { reason: None }).await
    }

    /// Sends a mutation that has no argument for the reason.
    pub(super) async fn order(
        &self,
        action: &'static str,
        query: &str,
        variables: Value,
        why: &Why,
    ) -> Result<Value, CliError> {
        let connection = self.connection()?;
        let request = http(&connection.server)?.post(format!("{}/graphql", connection.server));
        let mut request = connection.signed(request);
        let server = connection.server;
        if let Some(reason) = &why.reason {
            // The reason was read as a single line, as a header requires. The server accepts UTF-8
            // bytes.
            let reason = HeaderValue::from_bytes(reason.as_bytes());
            let reason = reason.map_err(|error| CliError::Usage(format!("--reason: {error}")))?;
            request = request.header(REASON, reason);
        }
        let body = json!({ "query": query, "variables": variables });
        let answer = request.json(&body).send().await.map_err(unreachable(&server))?;
        let (status, answer) = read(&server, answer).await?;
        Ok(data(&server, action, status, answer)?)
    }
}

/// The status and the body of a response. A proxy in front of the server answers without JSON.
pub(super) async fn read(
    server: &str,
    answer: Response,
) -> Result<(StatusCode, Value), ClientError> {
    let status = answer.status();
    let body = answer.bytes().await.map_err(unreachable(server))?;
    let answer = serde_json::from_slice(&body).map_err(|_| ClientError::Unreachable {
        server: server.to_owned(),
        problem: format!("the answer ({status}) is not JSON"),
    })?;
    Ok((status, answer))
}

/// The data of a response to a GraphQL request, or why there is none.
pub(super) fn data(
    server: &str,
    action: &'static str,
    status: StatusCode,
    mut answer: Value,
) -> Result<Value, ClientError> {
    let server = server.to_owned();
    if status == StatusCode::UNAUTHORIZED {
        let problem = problem(&answer).unwrap_or("it requires a sign-in").to_owned();
        return Err(ClientError::Unauthenticated { server, problem });
    }
    if let Some(error) = answer["errors"].get(0) {
        let problem = error["message"].as_str().unwrap_or("it does not say why").to_owned();
        return Err(match error["extensions"]["code"].as_str() {
            Some("UNAUTHENTICATED") => ClientError::Unauthenticated { server, problem },
            Some("INTERNAL" | "UNAVAILABLE") => ClientError::Failed { action, problem },
            _ => ClientError::Refused { action, problem },
        });
    }
    if !status.is_success() {
        let problem = problem(&answer).unwrap_or(status.as_str()).to_owned();
        return Err(if status.is_server_error() {
            ClientError::Failed { action, problem }
        } else {
            ClientError::Refused { action, problem }
        });
    }
    match answer.get_mut("data") {
        Some(data) => Ok(data.take()),
        None => {
            let problem = "the answer does not come from Carillon".to_owned();
            Err(ClientError::Unreachable { server, problem })
        }
    }
}

/// A URL without a trailing slash.
fn address(server: &str) -> Result<String, CliError> {
    if !server.starts_with("http://") && !server.starts_with("https://") {
        let text = format!("--server '{server}' must begin with http:// or https://");
        return Err(CliError::Usage(text));
    }
    Ok(server.trim_end_matches('/').to_owned())
}

/// The server that this machine's configuration would start.
fn configured() -> Result<String, CliError> {
    let mut listen = Config::load(&Sources::default())?.listen;
    // A server that listens on all addresses also listens on the loopback address.
    if listen.ip().is_unspecified() {
        listen.set_ip(match listen.ip() {
            IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(format!("http://{listen}"))
}

/// The page size of a list.
const PAGE: usize = 200;

/// Maximum number of entries that a list may print.
pub(super) const MAX_LISTED: u32 = 100_000;

/// Parses how many entries a list prints: 1 to [`MAX_LISTED`].
pub(super) fn entry_count() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MAX_LISTED))
}

impl Server {
    /// The first `limit` entries of a list, and how many more there are. The query takes `$first`,
    /// `$after` and `$count` in addition to the variables, and returns the list as `all`.
    pub(super) async fn pages(
        &self,
        action: &'static str,
        query: &str,
        variables: Value,
        limit: u32,
    ) -> Result<(Vec<Value>, MoreEntries), CliError> {
        let list = |mut answer: Value| Ok(answer["all"].take());
        self.pages_of(action, query, variables, limit, list).await
    }

    /// Reads a list like [`Self::pages`]; `list` takes the list out of the answer.
    pub(super) async fn pages_of(
        &self,
        action: &'static str,
        query: &str,
        mut variables: Value,
        limit: u32,
        list: impl Fn(Value) -> Result<Value, CliError>,
    ) -> Result<(Vec<Value>, MoreEntries), CliError> {
        let (mut all, limit) = (Vec::new(), limit as usize);
        let progress = ProgressLine::begin(action);
        loop {
            let first = PAGE.min(limit - all.len());
            variables["first"] = json!(first);
            // The total is counted only once, together with the page that may be the last one
            // shown.
            variables["count"] = json!(first == limit - all.len());
            let mut page = list(self.ask(action, query, variables.clone()).await?)?;
            if let Value::Array(nodes) = page["nodes"].take() {
                all.extend(nodes);
            }
            progress.tell(format_args!("{} read", all.len()));
            if page["pageInfo"]["hasNextPage"] != true {
                return Ok((all, MoreEntries::Nothing));
            }
            if all.len() >= limit {
                return Ok((all, MoreEntries::Some { total: page["totalCount"].as_u64() }));
            }
            variables["after"] = page["pageInfo"]["endCursor"].take();
        }
    }
}

/// The entries of a list beyond those shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoreEntries {
    Nothing,
    /// There are more entries; the total number if it is known.
    Some {
        total: Option<u64>,
    },
}

/// The server counts a list up to this number.
const MAX_COUNTED: u64 = 10_000;

impl MoreEntries {
    /// Reports on standard error that a list was cut, or is empty. Standard output must stay
    /// machine-readable.
    pub(super) fn tell(self, shown: usize) {
        self.tell_up_to(shown, MAX_LISTED);
    }

    /// Reports that a list was cut which prints at most `most` entries, or is empty.
    pub(super) fn tell_up_to(self, shown: usize, most: u32) {
        if let Some(text) = self.text(shown, most) {
            output::aside(text);
        }
    }

    /// What to report about a list of which `shown` entries were printed.
    fn text(self, shown: usize, most: u32) -> Option<String> {
        let Self::Some { total } = self else {
            return (shown == 0).then(|| "nothing was found".to_owned());
        };
        let shown = u64::try_from(shown).unwrap_or(u64::MAX);
        let left = match total.map(|total| (total.saturating_sub(shown), total)) {
            // The number is unknown, or more were printed than the server counts.
            None | Some((0, _)) => "there are more".to_owned(),
            Some((left, MAX_COUNTED)) => format!("at least {left} are left"),
            Some((1, _)) => "1 is left".to_owned(),
            Some((left, _)) => format!("{left} are left"),
        };
        Some(format!("{shown} shown, {left}: give --limit, up to {most}"))
    }
}

/// The error message in a response: GraphQL's in `errors`, others in `error`.
fn problem(answer: &Value) -> Option<&str> {
    answer["errors"][0]["message"].as_str().or_else(|| answer["error"].as_str())
}

/// A client for `server`.
pub(super) fn http(server: &str) -> Result<reqwest::Client, CliError> {
    // Only the first call installs the provider; later calls fail, because it is already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(PATIENCE).build();
    Ok(client.map_err(unreachable(server))?)
}

/// The transport's error, including its cause.
pub(super) fn unreachable(server: &str) -> impl FnOnce(reqwest::Error) -> ClientError {
    let server = server.to_owned();
    move |error| {
        let error = error.without_url();
        let mut problem = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(deeper) = cause {
            problem = deeper.to_string();
            cause = deeper.source();
        }
        ClientError::Unreachable { server, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_was_cut_says_how_much_is_left() {
        let text = |total, shown| MoreEntries::Some { total }.text(shown, 100).unwrap();
        assert_eq!(text(Some(21), 20), "20 shown, 1 is left: give --limit, up to 100");
        assert_eq!(text(Some(25), 20), "20 shown, 5 are left: give --limit, up to 100");
        assert!(text(Some(MAX_COUNTED), 20).contains(" at least 9980 are left: "));
        // The server counts no further, so it is unknown how many are left.
        for shown in [10_000, 20_000] {
            assert!(text(Some(MAX_COUNTED), shown).contains(" shown, there are more: "));
        }
        assert!(text(None, 20).contains(" shown, there are more: "));
        assert_eq!(MoreEntries::Nothing.text(0, 100).as_deref(), Some("nothing was found"));
        assert_eq!(MoreEntries::Nothing.text(3, 100), None);
    }

    #[test]
    fn an_answer_without_data_is_an_error_whoever_gave_it() {
        let told = |status: StatusCode, answer: Value| {
            data("http://a", "make the feed", status, answer).map_err(|error| error.to_string())
        };
        let found = told(StatusCode::OK, json!({ "data": { "made": 1 } }));
        assert_eq!(found, Ok(json!({ "made": 1 })));
        // The web server refuses a request before GraphQL reads it.
        for status in [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS] {
            let refused = told(status, json!({ "error": "try again later" }));
            assert_eq!(refused, Err("make the feed: try again later".to_owned()), "{status}");
        }
        let unnamed = told(StatusCode::BAD_GATEWAY, json!({}));
        assert_eq!(unnamed, Err("make the feed: 502".to_owned()));
        let nobody = told(StatusCode::UNAUTHORIZED, json!({ "error": "who are you?" }));
        assert!(nobody.unwrap_err().starts_with("ask the server at http://a: who are you?; "));
        let wrong = json!({ "data": null, "errors": [{ "message": "it is taken",
            "extensions": { "code": "CONFLICT" } }] });
        assert_eq!(told(StatusCode::OK, wrong), Err("make the feed: it is taken".to_owned()));
        for strange in [json!([]), json!("ok"), json!({ "status": "up" })] {
            let refused = told(StatusCode::OK, strange).unwrap_err();
            assert!(refused.contains("does not come from Carillon; check --server"), "{refused}");
        }
    }
}
