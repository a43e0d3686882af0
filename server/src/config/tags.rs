use serde::{Deserialize, Deserializer};

use super::listed;

/// Tags of a node that runs can require, such as `gpu` or `region=eu`: sorted and unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub Vec<String>);

/// The largest number of tags of a node or a workflow.
pub const MAX_TAGS: usize = 32;

impl Tags {
    /// Sorts them and removes duplicates.
    pub fn new(mut words: Vec<String>) -> Self {
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    /// Whether a text may be a tag.
    pub fn is_tag(text: &str) -> bool {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-=:/".contains(&byte))
    }

    /// The requirements for a tag.
    pub const HELP: &'static str = "use 1 to 64 letters, digits or . _ - = : /";
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(listed(deserializer)?))
    }
}
