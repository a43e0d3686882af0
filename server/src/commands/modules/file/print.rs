//! Writes a module as text, and the schema of module files.

use schemars::generate::SchemaSettings;

use super::{File, FileFormat};
use crate::commands::CommandError;

/// The JSON schema of module files, as in `server/module.schema.json`.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12();
    let schema = settings.into_generator().into_root_schema_for::<File>();
    // Cannot fail: a schema is always valid JSON.
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

impl File {
    /// The module as text that parses to the same module.
    pub(crate) fn write(&self, format: FileFormat) -> Result<String, CommandError> {
        let text = match format {
            FileFormat::Yaml => serde_saphyr::to_string(self).map_err(|error| error.to_string()),
            FileFormat::Toml => toml::to_string_pretty(self).map_err(|error| error.to_string()),
        };
        let text = text.map_err(|problem| unwritable(self, format, &problem))?;
        let again = Self::read(&text, format)
            .map_err(|error| unwritable(self, format, &error.to_string()))?;
        if serde_json::to_value(&again).ok() != serde_json::to_value(self).ok() {
            return Err(unwritable(self, format, "it would not read back as itself"));
        }
        Ok(text)
    }
}

fn unwritable(file: &File, format: FileFormat, problem: &str) -> CommandError {
    let (format, help) = match format {
        FileFormat::Yaml => ("YAML", "export less at a time, or ask for TOML"),
        FileFormat::Toml => ("TOML", "ask for YAML: TOML has no null, for one"),
    };
    let problem = format!("the module {:?} cannot be written as {format}: {problem}", file.module);
    CommandError::conflict(problem, help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        commands::modules::file::{ScheduleEntry, TaskEntry},
        model::Task,
        target::{CommandTarget, SecretText, Target},
    };

    fn with(texts: &[&str]) -> File {
        let mut file = File::new("texts", "default");
        for (index, text) in texts.iter().enumerate() {
            let mut entry = ScheduleEntry::new(vec!["@daily".to_owned()]);
            entry.note = (*text).to_owned();
            let env = [("VALUE".to_owned(), SecretText::new(*text))].into();
            let script = Some((*text).to_owned());
            let command = CommandTarget { script, env, ..CommandTarget::default() };
            entry.task = Some(TaskEntry::of(&Task::new("main", Target::Command(command))));
            entry.context = serde_json::json!({ *text: [text, 1, 1.5, true, { "a": text }] });
            file.schedules.insert(format!("s{index}"), entry);
        }
        file
    }

    #[test]
    fn any_text_survives_writing_and_reading_in_both_formats() {
        let long = "word ".repeat(60);
        let texts = [
            "",
            " ",
            "yes",
            "no",
            "on",
            "null",
            "~",
            "true",
            "1",
            "1.5",
            "1e3",
            "0x1f",
            "0o17",
            "08:00",
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            "@daily",
            "* * * * *",
            "*a",
            "&a",
            "!a",
            "%a",
            "a: b",
            "a #b",
            "#",
            "- a",
            "-",
            "?",
            "'",
            "\"",
            "'a'",
            "\"a\"",
            "{",
            "[",
            "|",
            ">",
            "`",
            "a\nb",
            "a\n",
            "\na",
            "\n",
            " a\n  b\n",
            "a\n\n\n",
            "a\r\nb",
            "\t",
            "a\tb",
            "\ta\n",
            "é",
            "\u{feff}a",
            "\u{2028}",
            "\u{85}",
            "😀",
            "\\",
            "\\n",
            "\u{7}",
            "=",
            "<<",
            "---",
            "...",
            "--- a",
            "a\n---\nb",
            "#!/bin/sh\nset -e\n\techo '%s'\n",
            &long,
        ];
        let file = with(&texts);
        for format in [FileFormat::Yaml, FileFormat::Toml] {
            file.write(format).unwrap();
        }
    }
}
