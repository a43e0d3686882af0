use serde::Deserialize;

/// How many connections and WebSockets the server takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Connections {
    /// Connections at once; by the number of files that the process may open if absent.
    pub max: Option<u32>,
    /// Those of one address; a quarter of all if absent. A trusted proxy has no such limit.
    pub per_address: Option<u32>,
    /// WebSockets of one address.
    pub sockets_per_address: u32,
    /// WebSockets of one user, service account or token.
    pub sockets_per_person: u32,
}

impl Default for Connections {
    fn default() -> Self {
        Self { max: None, per_address: None, sockets_per_address: 100, sockets_per_person: 50 }
    }
}
