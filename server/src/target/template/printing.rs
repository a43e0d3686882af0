//! Writes a value as text: texts unchanged, everything else as JSON.

use std::io;

use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;

use super::{MAX_OUTPUT_BYTES, budget::Budget};

/// The text for a value that is not a text itself.
pub(super) fn written(value: &Value, budget: &Budget) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    // Numbers are not written as JSON, because JSON has no infinity.
    if value.is_number() {
        return Ok(value.to_string());
    }
    json(value, budget)
}

/// The JSON of a value.
pub(super) fn json(value: &Value, budget: &Budget) -> Result<String, Error> {
    let mut bounded = BoundedOutput::default();
    let made = value.serialize(&mut serde_json::Serializer::new(&mut bounded));
    budget.charge(bounded.bytes.len())?;
    if bounded.is_over {
        return Err(Error::new(ErrorKind::InvalidOperation, TOO_LONG));
    }
    let no_json = || Error::new(ErrorKind::InvalidOperation, "it cannot be JSON");
    made.map_err(|_| no_json())?;
    String::from_utf8(bounded.bytes).map_err(|_| no_json())
}

pub(super) const TOO_LONG: &str = "the text is too long";

/// Accepts at most as many bytes as one template may produce.
#[derive(Default)]
pub(super) struct BoundedOutput {
    pub(super) bytes: Vec<u8>,
    pub(super) is_over: bool,
}

impl io::Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_OUTPUT_BYTES {
            self.is_over = true;
            return Err(io::Error::other(TOO_LONG));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use crate::target::{Http, Target, template::filling};

    fn made(template: &str) -> String {
        let mut http = Http::post("https://example.org/");
        http.body = Some(template.into());
        let names = json!({ "context": { "yes": true, "no": false, "none": null, "n": 1.5,
            "list": [true, null, "a"], "map": { "k": [false] }, "text": "a \"b\"\n" } });
        match filling::filled_in(Target::Http(http), names, Arc::default()) {
            Ok(Target::Http(http)) => http.body.unwrap().as_str().unwrap().to_owned(),
            other => panic!("{template}: {other:?}"),
        }
    }

    #[test]
    fn values_other_than_texts_are_written_as_json() {
        for (template, expected) in [
            ("{{ context.yes }} {{ context.no }} {{ context.none }}", "true false null"),
            ("{{ true }} {{ none }} {{ 1 == 2 }} {{ context.n }}", "true null false 1.5"),
            ("{{ context.list }}", r#"[true,null,"a"]"#),
            ("{{ context.map }}", r#"{"k":[false]}"#),
            ("{{ context.list | join(',') }}", "true,null,a"),
            ("{{ context.text }}", "a \"b\"\n"),
            ("{{ context.text | tojson }}", r#""a \"b\"\n""#),
            ("{{ {'a': context.yes, 'b': [context.none]} | tojson }}", r#"{"a":true,"b":[null]}"#),
        ] {
            assert_eq!(made(template), expected, "{template}");
        }
        let body = made(
            "{\"ok\": {{ context.yes }}, \"was\": {{ context.none }}, \"l\": {{ context.list }}}",
        );
        let read: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read, json!({ "ok": true, "was": null, "l": [true, null, "a"] }));
    }
}
