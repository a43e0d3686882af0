//! What an import has found, each entry checked as a server would check it.

use chrono::DateTime;
use serde::Serialize;
use timetable::{Definition, DstPolicy, Timetable};

use super::names::Names;
use crate::{
    cli::CliError,
    commands::{
        Format,
        modules::file::{File, ScheduleEntry, WorkflowEntry},
    },
};

/// What was found, and the module that is made of it.
pub(super) struct Gathered {
    file: File,
    names: Names,
    found: Vec<ImportedEntry>,
    /// What is to be known of the next entry without being a change of it.
    remarks: Vec<String>,
}

/// One entry.
#[derive(Debug, Serialize)]
pub(super) struct ImportedEntry {
    /// The file and the line.
    place: String,
    /// What stands there.
    entry: String,
    outcome: Outcome,
    /// The schedule that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// What is otherwise than it was, or why it cannot be.
    notes: Vec<String>,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It means the same.
    Imported,
    /// It is there, and means something else.
    MeaningChanged,
    /// It is not there.
    Unsupported,
    /// It was never asked for: it stands beside what is imported.
    Skipped,
}

/// An entry of another scheduler.
pub(super) struct Origin<'a> {
    pub(super) place: String,
    pub(super) entry: &'a str,
}

/// What runs, if it is more than one task.
pub(super) type Workflow = Option<WorkflowEntry>;

/// The characters of an entry that the report repeats.
const MAX_SHOWN: usize = 100;
/// The schedules and workflows that a module may have.
const MAX_ENTRIES: usize = 1_000;
/// The characters of a schedule's note.
const MAX_NOTE: usize = 1_000;
/// The characters of one note in the report.
const MAX_SAID: usize = 600;
/// The entries of one import.
const MAX_FOUND: usize = 20_000;

impl Gathered {
    pub(super) fn new(module: &str, namespace: &str) -> Self {
        let (file, found) = (File::new(module, namespace), vec![]);
        Self { file, names: Names::default(), found, remarks: vec![] }
    }

    /// Says something of the next entry that does not change its meaning.
    pub(super) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Takes an entry in, under the first of the `wanted` names that is free; `changes` say what is
    /// otherwise.
    pub(super) fn add(
        &mut self,
        origin: &Origin<'_>,
        wanted: &[&str],
        mut schedule: ScheduleEntry,
        workflow: Workflow,
        changes: Vec<String>,
    ) {
        if let Err(why) = check_timing(&schedule) {
            return self.refuse(origin, why);
        }
        schedule.note = schedule.note.replace('\0', "");
        let written = serde_json::to_string(&(&schedule, &workflow)).unwrap_or_default();
        if written.contains("\\u0000") {
            let why = "it has a NUL character, which no program and no address may have";
            return self.refuse(origin, why);
        }
        let name = self.names.take(wanted);
        schedule.note = schedule.note.chars().take(MAX_NOTE).collect();
        if let Some(workflow) = workflow {
            schedule.workflow = Some(name.clone());
            self.file.workflows.insert(name.clone(), workflow);
        }
        self.file.schedules.insert(name.clone(), schedule);
        let outcome = if changes.is_empty() { Outcome::Imported } else { Outcome::MeaningChanged };
        self.put(origin, outcome, Some(name), changes);
    }

    /// Leaves an entry out.
    pub(super) fn refuse(&mut self, origin: &Origin<'_>, why: impl Into<String>) {
        self.put(origin, Outcome::Unsupported, None, vec![why.into()]);
    }

    /// Counts what stands beside the entries that are asked for.
    pub(super) fn skip(&mut self, origin: &Origin<'_>, why: impl Into<String>) {
        self.put(origin, Outcome::Skipped, None, vec![why.into()]);
    }

    fn put(
        &mut self,
        origin: &Origin<'_>,
        outcome: Outcome,
        schedule: Option<String>,
        mut notes: Vec<String>,
    ) {
        notes.append(&mut self.remarks);
        // One variable in each of a hundred arguments is one note.
        let mut said = std::collections::HashSet::new();
        notes.retain(|note| said.insert(note.clone()));
        let notes = notes.iter().map(|note| cut(note, MAX_SAID)).collect();
        let (place, entry) = (origin.place.clone(), cut(origin.entry, MAX_SHOWN));
        self.found.push(ImportedEntry { place, entry, outcome, schedule, notes });
    }

    pub(super) fn all_keep_their_meaning(&self) -> bool {
        let keeps =
            |found: &ImportedEntry| matches!(found.outcome, Outcome::Imported | Outcome::Skipped);
        self.found.iter().all(keeps)
    }

    /// The module's file.
    pub(super) fn source(&self, format: Format) -> Result<String, CliError> {
        let entries = self.file.entries();
        if self.found.len() > MAX_FOUND {
            return Err(CliError::Usage(format!(
                "{} entries are too many for one import; import fewer files at a time, at most \
                 {MAX_FOUND} entries",
                self.found.len()
            )));
        }
        if entries > MAX_ENTRIES {
            return Err(CliError::Usage(format!(
                "{entries} schedules and workflows are too many for one module; import fewer \
                 files at a time, at most {MAX_ENTRIES}"
            )));
        }
        Ok(self.file.write(format)?)
    }

    /// The report for people: a line for each entry, and what is to be known of it beneath.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        for found in &self.found {
            let outcome = match found.outcome {
                Outcome::Imported => "imported",
                Outcome::MeaningChanged => "meaning changed",
                Outcome::Unsupported => "unsupported",
                Outcome::Skipped => "skipped",
            };
            let became = found.schedule.as_ref().map(|name| format!(" as {name}"));
            let became = became.unwrap_or_default();
            words += &format!("{}: {outcome}{became}: {}\n", found.place, found.entry);
            for note in &found.notes {
                words += &format!("    {note}\n");
            }
        }
        let count = |outcome| self.found.iter().filter(|found| found.outcome == outcome).count();
        words += &format!(
            "{} imported, {} with another meaning, {} unsupported",
            count(Outcome::Imported),
            count(Outcome::MeaningChanged),
            count(Outcome::Unsupported),
        );
        match count(Outcome::Skipped) {
            0 => words += "\n",
            skipped => words += &format!(", {skipped} skipped\n"),
        }
        words
    }

    /// The report for programs.
    pub(super) fn json(&self) -> String {
        let report = serde_json::json!({ "module": self.file.module, "entries": self.found });
        format!("{report}\n")
    }
}

/// Asks the calculator, as the server will.
fn check_timing(schedule: &ScheduleEntry) -> Result<(), String> {
    let definition = Definition {
        expressions: schedule.when.0.clone(),
        zone: schedule.zone.clone(),
        dst: DstPolicy::default(),
        anchor: DateTime::UNIX_EPOCH,
        start: None,
        end: None,
        jitter: std::time::Duration::ZERO,
        seed: [0; 16],
    };
    match Timetable::new(&definition) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{:?}: {}; {}", error.value, error.problem, error.help)),
    }
}

/// Whether the calculator knows a zone.
pub(super) fn check_zone(zone: &str) -> Result<(), String> {
    let mut probe = ScheduleEntry::new(vec!["@daily".to_owned()]);
    zone.clone_into(&mut probe.zone);
    check_timing(&probe)
}

fn cut(text: &str, most: usize) -> String {
    let text: String =
        text.chars().take(most + 1).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
