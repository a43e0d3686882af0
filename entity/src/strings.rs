use sea_orm::FromJsonQueryResult;
use serde::{Deserialize, Serialize};

/// A short list of texts in one JSON column: expressions, tags. (The derive reads and writes it by
/// `serde_json`.)
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJsonQueryResult)]
#[serde(transparent)]
pub struct Strings(pub Vec<String>);
