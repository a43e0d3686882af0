//! One workflow as text: a single entry of `workflows:` in a module's file.
//!
//! The console's editor shows and accepts such a text. The line `workflows:` and the head of a file
//! may precede the entry, so that a part of a file can be pasted unchanged.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use super::{
    MAX_BYTES, WorkflowEntry, error_text,
    place::{self, Part, TextPlace},
};
use crate::model::{Definition, naming};

const HELP: &str = "see docs/modules.md for the keys of a workflow";

/// The only workflow of a text.
#[derive(Debug)]
pub(crate) struct WorkflowText<'a> {
    pub(crate) name: String,
    pub(crate) definition: Definition,
    text: &'a str,
    above: Above,
}

/// The lines above the workflow's name.
#[derive(Clone, Copy, Debug)]
enum Above {
    Nothing,
    /// The key `workflows`.
    File,
}

/// Why a text cannot be read, and the position of the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextError {
    pub(crate) place: Option<TextPlace>,
    pub(crate) problem: String,
    pub(crate) help: &'static str,
}

type Named = BTreeMap<String, WorkflowEntry>;

/// The keys of a module's file that may surround a workflow.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Around {
    #[serde(rename = "module", default)]
    _module: Option<IgnoredAny>,
    #[serde(rename = "namespace", default)]
    _namespace: Option<IgnoredAny>,
    workflows: Named,
}

impl<'a> WorkflowText<'a> {
    /// Reads a text within the limits of a module's file.
    pub(crate) fn read(text: &'a str) -> Result<Self, TextError> {
        if text.len() > MAX_BYTES {
            let problem = format!("has {} bytes; the limit is {MAX_BYTES}", text.len());
            return Err(TextError { place: None, problem, help: "shorten it" });
        }
        let error = match serde_saphyr::from_str::<Named>(text) {
            Ok(named) => return Self::only(text, Above::Nothing, named),
            Err(error) => error,
        };
        // The keys at the top show how much of a file was pasted.
        let keys: BTreeMap<String, IgnoredAny> = serde_saphyr::from_str(text).unwrap_or_default();
        if keys.contains_key("workflows") {
            let around = serde_saphyr::from_str::<Around>(text);
            let around = around.map_err(|error| misread(text, &error))?;
            return Self::only(text, Above::File, around.workflows);
        }
        if keys.contains_key("tasks") {
            return Err(TextError {
                place: place::find(text, &[Part::Key("tasks")]),
                problem: "`tasks` is where the workflow's name belongs".to_owned(),
                help: "write the name and a colon in a line above all keys, and indent them",
            });
        }
        Err(misread(text, &error))
    }

    fn only(text: &'a str, above: Above, named: Named) -> Result<Self, TextError> {
        let count = named.len();
        let two: Vec<String> = named.keys().take(2).cloned().collect();
        let mut named = named.into_iter();
        match (named.next(), named.next()) {
            (Some((name, entry)), None) => {
                Ok(Self { name, definition: entry.definition(), text, above })
            }
            (None, _) => Err(TextError {
                place: None,
                problem: "there is no workflow".to_owned(),
                help: "write its name and a colon, and its keys below, indented",
            }),
            (Some(_), Some(_)) => Err(TextError {
                // Finds the positions of two names only, because each requires a walk through the
                // text.
                place: two.iter().filter_map(|name| place_in(text, above, name, "name")).max(),
                problem: format!("there are {count} workflows; only one fits here"),
                help: "leave the others out, or deploy them together as a module",
            }),
        }
    }

    /// The position of a field of the workflow, or of the nearest existing object around it. Fields
    /// have the names that they have in the API; `name` is the workflow's own.
    pub(crate) fn place_of(&self, field: &str) -> Option<TextPlace> {
        place_in(self.text, self.above, &self.name, &naming::in_module(field))
    }
}

fn place_in(text: &str, above: Above, name: &str, path: &str) -> Option<TextPlace> {
    let mut parts = match above {
        Above::Nothing => vec![],
        Above::File => vec![Part::Key("workflows")],
    };
    parts.push(Part::Key(name));
    if path != "name" {
        parts.extend(place::parts(path));
    }
    place::find(text, &parts)
}

fn misread(text: &str, error: &serde_saphyr::Error) -> TextError {
    let place = error.location();
    let place = place.map(|at| TextPlace { line: at.line(), column: at.column() });
    TextError { place, problem: error_text::of_yaml(text, error), help: HELP }
}

/// The workflow as a text of this form, with its secrets masked. `None` if the text is larger than
/// a module's file may be.
pub(crate) fn write_workflow(name: &str, definition: &Definition) -> Option<String> {
    let named = Named::from([(name.to_owned(), WorkflowEntry::of(definition).masked())]);
    // Writing YAML and reading it back takes long for a large definition. Escapes make JSON longer
    // than YAML, but hardly twice as long.
    if serde_json::to_string(&named).ok()?.len() > 2 * MAX_BYTES {
        return None;
    }
    let fits = |text: &String| text.len() <= MAX_BYTES;
    let yaml = serde_saphyr::to_string(&named).ok().filter(fits);
    // JSON is also YAML, and every text can be written in it.
    yaml.filter(|text| reads_back(text, &named))
        .or_else(|| serde_json::to_string_pretty(&named).ok().filter(fits))
}

fn reads_back(text: &str, named: &Named) -> bool {
    let read = serde_saphyr::from_str::<Named>(text).ok();
    let json = |named: &Named| serde_json::to_value(named).ok();
    read.is_some_and(|read| json(&read) == json(named))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        commands::secrets,
        model::definition::arbitrary::any_definition,
        target::{Noop, Target},
    };

    const NIGHTLY: &str = "nightly:\n  tasks:\n  - target: {noop: {}}\n";

    fn masked(mut definition: Definition) -> Definition {
        for task in &mut definition.tasks {
            task.target = secrets::masked(&task.target);
        }
        definition
    }

    fn refused(text: &str) -> (Option<u64>, String) {
        let misread = WorkflowText::read(text).unwrap_err();
        assert!(!misread.help.is_empty());
        (misread.place.map(|place| place.line), misread.problem)
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(definition in any_definition()) {
            let text = write_workflow("some", &definition).unwrap();
            let read = WorkflowText::read(&text).unwrap();
            prop_assert_eq!(read.name, "some");
            prop_assert_eq!(read.definition, masked(definition), "{}", text);
        }
    }

    #[test]
    fn what_is_larger_than_a_file_is_not_written() {
        let WorkflowText { mut definition, .. } = WorkflowText::read(NIGHTLY).unwrap();
        for (size, fits) in [(MAX_BYTES / 2, true), (MAX_BYTES, false), (3 * MAX_BYTES, false)] {
            definition.tasks[0].target = Target::Noop(Noop { note: "x".repeat(size) });
            assert_eq!(write_workflow("nightly", &definition).is_some(), fits, "{size} bytes");
        }
    }

    #[test]
    fn a_workflow_is_read_wherever_it_was_copied_from() {
        let indented = NIGHTLY.replace('\n', "\n  ");
        for text in [
            NIGHTLY.to_owned(),
            format!("---\n# A comment.\n{NIGHTLY}"),
            format!("  {indented}"),
            format!("workflows:\n  {indented}"),
            format!("module: m\nnamespace: n\nworkflows:\n  {indented}"),
            r#"{"nightly": {"tasks": [{"target": {"noop": {}}}]}}"#.to_owned(),
        ] {
            let read = WorkflowText::read(&text).unwrap();
            assert_eq!((read.name.as_str(), read.definition.tasks.len()), ("nightly", 1));
            let lines: Vec<&str> = text.lines().collect();
            for (field, part) in [("name", "nightly"), ("tasks[0].target", "target")] {
                let place = read.place_of(field).unwrap();
                let line = lines[usize::try_from(place.line).unwrap() - 1];
                assert!(line.contains(part), "{field} of {text}: {place:?}");
            }
        }
        // The workflow itself may be named like the key.
        let read = WorkflowText::read("workflows: {tasks: [{target: {noop: {}}}]}").unwrap();
        assert_eq!(read.name, "workflows");
    }

    #[test]
    fn what_is_no_workflow_is_refused_with_its_line() {
        for (text, line, said) in [
            ("a:\n  tasks: []\n  taks: []\n".to_owned(), Some(3), "unknown field `taks`"),
            ("a:\n  tasks: [\n".to_owned(), None, ""),
            ("a:\n\ttasks: []\n".to_owned(), None, ""),
            ("a:\n  tasks:\n  - name: [x]\n".to_owned(), Some(3), "string"),
            ("a:\n  timeout: soon\n  tasks: []\n".to_owned(), Some(2), "is not a duration"),
            ("a:\n  max_parallel: many\n  tasks: []\n".to_owned(), Some(2), ""),
            ("name: a\ntasks:\n- target: {noop: {}}\n".to_owned(), Some(2), "name belongs"),
            (format!("{NIGHTLY}weekly: {{tasks: []}}\n"), Some(4), "2 workflows"),
            ("module: m\nschedules: {}\nworkflows: {}\n".to_owned(), Some(2), "`schedules`"),
            ("workflows: {}\n".to_owned(), None, "no workflow"),
            ("# nothing\n".to_owned(), None, ""),
            ("x1".to_owned(), Some(1), ""),
            ("[1, 2]".to_owned(), Some(1), ""),
            (format!("a: &a {NIGHTLY}"), None, ""),
        ] {
            let (found, problem) = refused(&text);
            assert!(line.is_none() || found == line, "{text}: {found:?} {problem}");
            assert!(problem.contains(said), "{text}: {problem}");
        }
    }

    #[test]
    fn what_is_too_large_or_too_deep_is_refused() {
        let large = format!("a: # {}", "x".repeat(MAX_BYTES));
        assert!(refused(&large).1.contains("the limit is 1048576"));
        let deep = |times: usize| {
            let (open, close) = ("[".repeat(times), "]".repeat(times));
            format!(
                "a: {{tasks: [{{target: {{worker: {{queue: q, task: t, input: {open}{close}}}}}}}]}}"
            )
        };
        WorkflowText::read(&deep(20)).unwrap();
        for text in [deep(100), deep(100_000), "a: [".repeat(100_000), "a:\n ".repeat(10_000)] {
            refused(&text);
        }
        // This small text expands to a billion values.
        let mut bomb = "a:\n  tasks: [x]\nb: &b [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (new, old) in ('c'..='l').zip('b'..) {
            bomb += &format!("{new}: &{new} [*{old},*{old},*{old},*{old},*{old},*{old},*{old}]\n");
        }
        refused(&bomb);
        let loops = "a: &a\n  tasks: [*a]\n";
        refused(loops);
    }

    #[test]
    fn no_value_is_repeated() {
        const SECRET: &str = "hush-4711";
        for text in [
            format!("a: {SECRET}"),
            format!("a: {{tasks: {SECRET}}}"),
            format!("a: {{tasks: [{{timeout: {SECRET}, target: {{noop: {{}}}}}}]}}"),
            format!("a: {{tasks: [{{target: {{http: {{url: [{SECRET}]}}}}}}]}}"),
            format!("a: \"{SECRET}"),
        ] {
            assert!(!refused(&text).1.contains("4711"), "{text}");
        }
    }
}
