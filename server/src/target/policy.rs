/// What targets may do on this node, and how much they may say. Comes from the configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether `command` targets may run.
    pub commands: bool,
    /// Whether `http` targets may reach loopback and private addresses.
    ///
    /// Link-local, cloud metadata, multicast and unspecified addresses are refused regardless.
    pub private_addresses: bool,
    /// How many bytes of output are kept of one attempt: a program's lines, a response's body.
    pub output_limit_bytes: usize,
    /// Certificate authorities in PEM to trust beside the system's.
    pub ca_pem: Option<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            commands: false,
            private_addresses: false,
            output_limit_bytes: 1024 * 1024,
            ca_pem: None,
        }
    }
}
