use sea_orm::{FromJsonQueryResult, prelude::Uuid};
use serde::{Deserialize, Serialize};

/// A short list of texts in one JSON column, such as expressions or tags.
/// The derive macro converts it with `serde_json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJsonQueryResult)]
#[serde(transparent)]
pub struct Strings(pub Vec<String>);

/// A short list of keys in one JSON column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJsonQueryResult)]
#[serde(transparent)]
pub struct Keys(pub Vec<Uuid>);
