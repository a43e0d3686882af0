use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::Secret;

/// A program to start on the node: either `program` with `args`, or a `script`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program: a path, or a name to look up in `PATH`. No shell is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its arguments, passed as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// A text for `/bin/sh -c`, instead of `program`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Environment variables beside `PATH`, `HOME` and the `CARILLON_` ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Secret>,
    /// Working directory; the user's home unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// User to run as, by name: one that the server's configuration allows (`commands.users`). Without
    /// it, the user for programs (`commands.user`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}
