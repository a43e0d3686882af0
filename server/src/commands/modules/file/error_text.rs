//! Error messages for a file: they name the key and the expected type, but never the value.
//!
//! A value in the wrong place may be a secret, and more people see errors than files: in the logs
//! of a pipeline, a terminal, a ticket. So a message is taken apart, and only the parts that come
//! from the format itself are kept. A message of unknown form is not repeated at all.

use serde::de::IgnoredAny;
use serde_saphyr::Error as Yaml;

/// The message for anything of unknown form.
const WRONG: &str = "this is not a value that this key accepts";

/// Messages of chrono about an invalid instant.
const NO_INSTANT: [&str; 6] = [
    "input is out of range",
    "no possible date and time matching input",
    "input is not enough for unique date and time",
    "input contains invalid characters",
    "premature end of input",
    "trailing input",
];

/// Maximum length of a key that is repeated.
const LONGEST_KEY: usize = 48;

/// The message for a YAML error, without its position.
#[expect(clippy::wildcard_enum_match_arm, reason = "what is not known is not repeated")]
pub(super) fn of_yaml(source: &str, error: &Yaml) -> String {
    match error {
        Yaml::WithSnippet { error, .. } | Yaml::AliasError { error, .. } => of_yaml(source, error),
        Yaml::SerdeUnknownField { field, expected, .. } => {
            format!("unknown field{}, expected one of {}", named(field), expected.join(", "))
        }
        Yaml::SerdeUnknownVariant { expected, .. } => {
            format!("unknown word, expected one of {}", expected.join(", "))
        }
        Yaml::SerdeInvalidType { unexpected, expected, .. }
        | Yaml::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("invalid {}, expected {expected}", kind(unexpected))
        }
        Yaml::DuplicateMappingKey { key, .. } => {
            format!("duplicate mapping key{}", key.as_deref().map(named).unwrap_or_default())
        }
        // The scanner's own messages contain nothing of the file. Those of a value's deserializer
        // contain the value.
        Yaml::Message { msg, .. } if is_of_scanner(source, msg) => msg.clone(),
        Yaml::Message { msg, .. } => of_serde(msg),
        error if is_static(error) => bare(error),
        _ => WRONG.to_owned(),
    }
}

/// The message for a value in a valid TOML file, without its position.
pub(super) fn of_serde(said: &str) -> String {
    let said = said.lines().next().unwrap_or_default();
    let expected = || said.rsplit_once(", expected ").map(|(_, expected)| expected);
    let starts = |with: &str| said.strip_prefix(with);
    if let Some(rest) = starts("unknown field `") {
        // Split at the last occurrence, because a key may contain anything.
        return match rest.rsplit_once("`, ") {
            Some((field, "there are no fields")) => format!("unknown field{}", named(field)),
            Some(_) => {
                let (field, expected) = rest.rsplit_once("`, expected ").unwrap_or_default();
                format!("unknown field{}, expected {expected}", named(field))
            }
            None => "unknown field".to_owned(),
        };
    }
    if starts("unknown variant `").is_some() {
        return match expected() {
            Some(expected) => format!("unknown word, expected {expected}"),
            None => "unknown word".to_owned(),
        };
    }
    if let Some(rest) = starts("invalid type: ").or_else(|| starts("invalid value: ")) {
        return match expected() {
            Some(expected) => format!("invalid {}, expected {expected}", kind(rest)),
            None => WRONG.to_owned(),
        };
    }
    // The keys in these messages belong to the format.
    if starts("missing field `").is_some() || starts("duplicate field `").is_some() {
        return said.to_owned();
    }
    if starts("invalid length ").is_some() || starts("wanted ").is_some() {
        return said.to_owned();
    }
    if NO_INSTANT.contains(&said) {
        return "no instant, expected one such as 2026-01-31T08:00:00Z".to_owned();
    }
    // Messages of our own deserializers, such as: '1500ms' has a part of a second; "exit" is no
    // condition.
    if let Some((_, why)) = starts("'").and_then(|rest| rest.rsplit_once("' ")) {
        return format!("this {why}");
    }
    match starts("\"").and_then(|rest| rest.rsplit_once("\" is not a ")) {
        Some((_, what)) => format!("this is not a {what}"),
        None => WRONG.to_owned(),
    }
}

/// A key as it may be shown, if it looks like a name.
fn named(key: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let is_short = !key.is_empty() && key.len() <= LONGEST_KEY;
    if is_short && key.chars().all(is_name) { format!(" `{key}`") } else { String::new() }
}

/// The type of a value, in serde's words. In serde's message the value follows them.
fn kind(unexpected: &str) -> &'static str {
    const KINDS: [&str; 12] = [
        "boolean",
        "integer",
        "floating point",
        "character",
        "string",
        "byte array",
        "unit",
        "null",
        "Option",
        "map",
        "sequence",
        "newtype",
    ];
    KINDS.into_iter().find(|kind| unexpected.starts_with(kind)).unwrap_or("value")
}

/// Whether the message comes from the scanner, which reads the file without interpreting it.
fn is_of_scanner(source: &str, said: &str) -> bool {
    let read: Result<IgnoredAny, Yaml> = serde_saphyr::from_str(source);
    read.is_err_and(
        |error| matches!(error.without_snippet(), Yaml::Message { msg, .. } if msg == said),
    )
}

/// Whether the error's message contains nothing of the file.
fn is_static(error: &Yaml) -> bool {
    matches!(
        error,
        Yaml::Eof { .. }
            | Yaml::MultipleDocuments { .. }
            | Yaml::Unexpected { .. }
            | Yaml::MergeValueNotMapOrSeqOfMaps { .. }
            | Yaml::MergeKeyNotAllowed { .. }
            | Yaml::TaggedScalarCannotDeserializeIntoString { .. }
            | Yaml::UnexpectedSequenceEnd { .. }
            | Yaml::UnexpectedMappingEnd { .. }
            | Yaml::InvalidBooleanStrict { .. }
            | Yaml::NullIntoString { .. }
            | Yaml::UnexpectedValueForUnit { .. }
            | Yaml::ExpectedEmptyMappingForUnitStruct { .. }
            | Yaml::ExpectedStringKeyForExternallyTaggedEnum { .. }
            | Yaml::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
            | Yaml::UnexpectedValueForUnitEnumVariant { .. }
            | Yaml::ExpectedMappingEndAfterEnumVariantValue { .. }
            | Yaml::AliasReplayCounterOverflow { .. }
            | Yaml::AliasReplayLimitExceeded { .. }
            | Yaml::AliasExpansionLimitExceeded { .. }
            | Yaml::AliasReplayStackDepthExceeded { .. }
            | Yaml::FoldedBlockScalarMustIndentContent { .. }
            | Yaml::RecursiveReferencesRequireWeakTypes { .. }
            | Yaml::InvalidScalar { .. }
            | Yaml::SerdeInvalidLength { .. }
            | Yaml::SerdeMissingField { .. }
            | Yaml::ContainerEndMismatch { .. }
            | Yaml::UnknownAnchor { .. }
            | Yaml::Budget { .. }
            | Yaml::IndentationError { .. }
    )
}

/// The error's message without the position at its start.
fn bare(error: &Yaml) -> String {
    let said = error.to_string();
    let said = said.lines().next().unwrap_or_default();
    said.rsplit_once(" at line ").map_or(said, |(said, _)| said).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{File, FileFormat};

    /// A value that must not appear in a message.
    const SECRET: &str = "hush-4711-swordfish";

    fn said(source: &str, format: FileFormat) -> String {
        let error = File::read(source, format).unwrap_err();
        let whole = format!("{error} {error:?}");
        for part in ["hush", "4711", "swordfish"] {
            assert!(!whole.contains(part), "{source}\n{whole}");
        }
        assert!(error.problem.contains("line "), "{source}\n{whole}");
        error.problem
    }

    #[test]
    fn errors_repeat_no_value_of_a_yaml_file() {
        let schedule =
            |rest: &str| format!("module: m\nschedules: {{a: {{when: '@daily', {rest}}}}}");
        let task = |rest: &str| schedule(&format!("task: {{target: {{noop: {{}}}}, {rest}}}"));
        let http = |rest: &str| schedule(&format!("task: {{target: {{http: {{{rest}}}}}}}"));
        let channel = |rest: &str| format!("module: m\nalert_channels: {{a: {{{rest}}}}}");
        let budget = |rest: &str| format!("module: m\nhealth_budgets: {{a: {{{rest}}}}}");
        let window = |rest: &str| format!("module: m\nmaintenance_windows: {{a: {{{rest}}}}}");
        for (source, expected) in [
            (format!("module: m\nschedules: {SECRET}"), ""),
            (format!("module: [{SECRET}]"), "string"),
            (format!("module: m\ngroups: {{a: {SECRET}}}"), ""),
            ("module: m\ngroups: {a: 4711.5}".to_owned(), ""),
            (format!("module: m\ncalendars: {{a: {{mode: {SECRET}}}}}"), "exclude"),
            (schedule(&format!("workflow: [{SECRET}]")), "string"),
            (schedule(&format!("workflow: w, jitter: {SECRET}")), "is not a duration"),
            (schedule("workflow: w, jitter: 4711ms"), "whole seconds"),
            (schedule(&format!("workflow: w, start: {SECRET}")), "2026-01-31T08:00:00Z"),
            (schedule(&format!("workflow: w, dst: {{gap: {SECRET}}}")), "shift"),
            (schedule(&format!("workflow: w, tags: {SECRET}")), ""),
            (task(&format!("timeout: {SECRET}")), "is not a duration"),
            (task(&format!("allow_failure: {SECRET}")), ""),
            (task(&format!("retry_on: [{SECRET}]")), "is not a condition"),
            (task(&format!("retry: {{max_attempts: {SECRET}}}")), ""),
            (task(&format!("retry: {{jitter: {SECRET}}}")), ""),
            (schedule(&format!("task: {{target: {SECRET}}}")), ""),
            (http(&format!("url: [{SECRET}]")), "string"),
            (http(&format!("url: x, headers: {SECRET}")), ""),
            (http(&format!("url: x, expected_status: {SECRET}")), "a status such as 200"),
            (http("url: x, expected_status: 4711"), "a status such as 200"),
            (http(&format!("url: x, 'token={SECRET}': 1")), "expected one of"),
            (http(&format!("url: x, url: {SECRET}")), "url"),
            (channel(&format!("kind: {SECRET}")), "webhook"),
            (channel(&format!("kind: email, to: {SECRET}")), ""),
            (budget(&format!("missed: {SECRET}")), ""),
            (budget(&format!("late: {SECRET}")), "is not a duration"),
            (budget("span: 4711s"), "whole minutes"),
            (window(&format!("start: {SECRET}")), "2026-01-31T08:00:00Z"),
            (window(&format!("missed: {SECRET}")), "latest"),
            (format!("module: m\nschedules: \"{SECRET}"), ""),
            (format!("module: m\nschedules: *{SECRET}"), ""),
            (format!("module: m\na: {SECRET}: {SECRET}: x"), ""),
            (format!("module: m\nb: {{x: {SECRET}"), ""),
            (format!("module: m\n\tx: {SECRET}"), ""),
            (format!("module: m\nschedules:\n  a:\n    jitter: {SECRET}\n  b: \"x"), ""),
            (format!("a: &a {SECRET}\nmodule: m\nschedules: *a"), ""),
            (format!("module: m\nalert_rules: &x {{a: {SECRET}}}"), ""),
        ] {
            let said = said(&source, FileFormat::Yaml);
            assert!(said.contains(expected), "{source}\n{said}");
        }
    }

    #[test]
    fn errors_repeat_no_value_of_a_toml_file() {
        let schedule = |rest: &str| format!("module = 'm'\n[schedules.a]\nwhen = '@daily'\n{rest}");
        for (source, expected) in [
            (format!("module = 'm'\nschedules = '{SECRET}'"), "map"),
            ("module = 4711".to_owned(), "invalid integer, expected a string"),
            (format!("module = 'm'\ngroups.a = '{SECRET}'"), "invalid string, expected i64"),
            (schedule(&format!("jitter = '{SECRET}'")), "is not a duration"),
            (schedule("jitter = '4711ms'"), "whole seconds"),
            (schedule(&format!("start = '{SECRET}'")), "2026-01-31T08:00:00Z"),
            (schedule(&format!("dst = {{ gap = '{SECRET}' }}")), "unknown word, expected `shift`"),
            (schedule(&format!("task.retry_on = ['{SECRET}']")), "is not a condition"),
            (schedule(&format!("task.target = '{SECRET}'")), ""),
            (schedule(&format!("'token={SECRET}' = 1")), "unknown field, expected one of"),
            (schedule(&format!("task.target.http.url = ['{SECRET}']")), "string"),
            (format!("module = '{SECRET}"), ""),
            (format!("module = {SECRET}"), ""),
            (format!("module = 'm'\nmodule = '{SECRET}'"), ""),
            (format!("module = 'm' {SECRET}"), ""),
        ] {
            let said = said(&source, FileFormat::Toml);
            assert!(said.contains(expected), "{source}\n{said}");
        }
    }

    #[test]
    fn errors_name_the_keys_and_the_expected_types() {
        let source = "module: m\nschedules: {a: {zoen: UTC}}";
        let said = said(source, FileFormat::Yaml);
        assert!(said.contains("unknown field `zoen`, expected one of"), "{said}");
        let said = super::of_serde("unknown field `zoen`, expected `a` or `b`");
        assert_eq!(said, "unknown field `zoen`, expected `a` or `b`");
        let said = super::of_serde("unknown field `x`, expected `y`, expected `a` or `b`");
        assert_eq!(said, "unknown field, expected `a` or `b`");
        assert_eq!(super::of_serde("missing field `when`"), "missing field `when`");
        assert_eq!(super::of_serde("hush"), super::WRONG);
    }
}
