use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::SecretText;

/// A program to start on the node: either `program` with `args`, or a `script`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Command")]
pub struct CommandTarget {
    /// The program: a path, or a name to look up in `PATH`. No shell is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The program's arguments. They are passed unchanged; no shell expands them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// A shell script that `/bin/sh -c` runs. Give either this or `program`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Environment variables, in addition to `PATH`, `HOME` and those that begin with `CARILLON_`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, SecretText>,
    /// The working directory; the user's home directory if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The name of the user that the program runs as, one that the server's settings allow
    /// (`commands.users`); the user for programs (`commands.user`) if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}
