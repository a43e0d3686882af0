//! The settings of all sources as one tree, with the source of each setting.

use std::{collections::BTreeMap, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The settings of several sources, where later sources override earlier ones.
#[derive(Debug)]
pub(super) struct Layers {
    tree: Value,
    /// The source of each setting, by its dotted name.
    origins: BTreeMap<String, Arc<str>>,
}

/// Why the tree is not a valid configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The dotted name of the setting; empty for the whole tree.
    pub(super) name: String,
    /// What is wrong with the setting.
    pub(super) problem: String,
    /// The source of the setting, if it has one.
    pub(super) origin: Option<Arc<str>>,
}

impl Default for Layers {
    fn default() -> Self {
        Self { tree: Value::Object(serde_json::Map::new()), origins: BTreeMap::new() }
    }
}

impl Layers {
    /// Overrides earlier settings with those of a source.
    pub(super) fn merge(&mut self, settings: Value, origin: &str) {
        let origin = Arc::from(origin);
        self.note("", &settings, &origin);
        lay_over(&mut self.tree, settings);
    }

    /// Overrides the setting with this dotted name.
    pub(super) fn set(&mut self, name: &str, value: Value, origin: &str) {
        self.merge(nested(name, value), origin);
    }

    /// Reads the tree.
    pub(super) fn extract<T: DeserializeOwned>(self) -> Result<T, Misfit> {
        let Self { tree, origins } = self;
        serde_path_to_error::deserialize(tree).map_err(|error| {
            let path = error.path().to_string();
            let name = if path == "." { String::new() } else { path };
            let origin = origin_of(&origins, &name);
            Misfit { name, problem: error.into_inner().to_string(), origin }
        })
    }

    fn note(&mut self, name: &str, value: &Value, origin: &Arc<str>) {
        match value {
            Value::Object(table) if !table.is_empty() => {
                for (key, value) in table {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    self.note(&name, value, origin);
                }
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::String(_)
            | Value::Number(_)
            | Value::Bool(_)
            | Value::Null => {
                self.origins.insert(name.to_owned(), origin.clone());
            }
        }
    }
}

/// A tree that contains the value under this dotted name.
pub(super) fn nested(name: &str, value: Value) -> Value {
    name.rsplit('.')
        .fold(value, |inner, part| Value::Object([(part.to_owned(), inner)].into_iter().collect()))
}

/// Merges tables key by key; anything else is replaced.
fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                match below.get_mut(&key) {
                    Some(inner) => lay_over(inner, value),
                    None => {
                        below.insert(key, value);
                    }
                }
            }
        }
        (below, above) => *below = above,
    }
}

/// The source of a setting, or of one inside it, or of the one that contains it.
fn origin_of(origins: &BTreeMap<String, Arc<str>>, name: &str) -> Option<Arc<str>> {
    let is_within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let found = origins.iter().find(|(known, _)| is_within(name, known) || is_within(known, name));
    found.map(|(_, origin)| origin.clone())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Settings {
        name: String,
        inner: Inner,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        count: u32,
        words: Vec<String>,
    }

    #[test]
    fn a_later_source_overrides_single_settings() {
        let mut layers = Layers::default();
        layers.merge(json!({ "name": "a", "inner": { "count": 1, "words": ["x", "y"] } }), "file");
        layers.merge(json!({ "inner": { "words": ["z"] } }), "environment");
        layers.set("inner.count", json!(2), "flags");
        let inner = Inner { count: 2, words: vec!["z".to_owned()] };
        let expected = Settings { name: "a".to_owned(), inner };
        assert_eq!(layers.extract::<Settings>(), Ok(expected));
    }

    #[test]
    fn an_invalid_value_is_named_with_its_source() {
        let misfit = |name: &str, value| {
            let mut layers = Layers::default();
            layers.merge(json!({ "name": "a", "inner": { "count": 1 } }), "file");
            layers.set(name, value, "flags");
            let Misfit { name, problem, origin } = layers.extract::<Settings>().unwrap_err();
            (name, problem, origin.unwrap().to_string())
        };
        let (name, problem, origin) = misfit("inner.count", json!("many"));
        assert_eq!((&*name, &*origin), ("inner.count", "flags"));
        assert!(problem.contains("many"), "{problem}");
        let (name, problem, origin) = misfit("inner.cuont", json!(1));
        assert_eq!((&*name, &*origin), ("inner.cuont", "flags"));
        assert!(problem.starts_with("unknown field `cuont`, expected"), "{problem}");
        let (name, _, origin) = misfit("inner.words", json!(["a", 1]));
        assert_eq!((&*name, &*origin), ("inner.words[1]", "flags"));
        let (name, _, origin) = misfit("inner", json!(7));
        assert_eq!((&*name, &*origin), ("inner", "flags"));
    }
}
