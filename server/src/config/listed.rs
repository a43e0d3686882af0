use std::fmt;

use serde::{Deserializer, de};

/// Reads a list of words, as a list or as one comma-separated text, which flags and the environment
/// provide.
pub(super) fn listed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Words;
    impl<'de> de::Visitor<'de> for Words {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of words, or one string with commas between them")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Ok(words.map(str::to_owned).collect())
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut words = Vec::new();
            while let Some(word) = list.next_element::<String>()? {
                words.push(word);
            }
            Ok(words)
        }
    }
    deserializer.deserialize_any(Words)
}
