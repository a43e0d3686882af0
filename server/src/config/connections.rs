use serde::Deserialize;

/// Limits on connections and WebSockets to the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Connections {
    /// Maximum number of connections; if absent, it follows from the number of files that the
    /// process may open.
    pub max: Option<u32>,
    /// Maximum number of connections per address; a quarter of all connections if absent. A trusted
    /// proxy has no such limit.
    pub per_address: Option<u32>,
    /// Maximum number of WebSockets per address.
    pub sockets_per_address: u32,
    /// Maximum number of WebSockets per user, service account or token.
    pub sockets_per_person: u32,
}

impl Default for Connections {
    fn default() -> Self {
        Self { max: None, per_address: None, sockets_per_address: 100, sockets_per_person: 50 }
    }
}
