//! What an import has found, each entry checked as a server would check it.

use chrono::DateTime;
use serde::Serialize;
use timetable::{Definition, DstPolicy, Timetable};

use super::names::Names;
use crate::{
    cli::CliError,
    engine::commands::{
        Format,
        modules::file::{File, ScheduleEntry, WorkflowEntry},
    },
};

/// What was found, and the module that is made of it.
pub(super) struct Gathered {
    file: File,
    names: Names,
    found: Vec<Found>,
}

/// One entry.
#[derive(Debug, Serialize)]
pub(super) struct Found {
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
}

/// An entry of another scheduler.
pub(super) struct Origin<'a> {
    pub(super) place: String,
    pub(super) entry: &'a str,
}

/// What runs, if it is more than one task.
pub(super) type Workflow = Option<WorkflowEntry>;

/// So much of an entry is repeated in the report.
const SHOWN: usize = 100;
/// So many schedules and workflows a module has at the most.
const MOST: usize = 1_000;
/// The longest note.
const NOTE: usize = 1_000;

impl Gathered {
    pub(super) fn new(module: &str, namespace: &str) -> Self {
        let (file, found) = (File::new(module, namespace), vec![]);
        Self { file, names: Names::default(), found }
    }

    /// Takes an entry in, under a name like `wanted`; `changes` say what is otherwise.
    pub(super) fn add(
        &mut self,
        origin: &Origin<'_>,
        wanted: &str,
        (mut schedule, workflow): (ScheduleEntry, Workflow),
        changes: Vec<String>,
    ) {
        if let Err(why) = check_timing(&schedule) {
            return self.refuse(origin, why);
        }
        let name = self.names.take(wanted);
        schedule.note = schedule.note.replace('\0', "").chars().take(NOTE).collect();
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

    fn put(
        &mut self,
        origin: &Origin<'_>,
        outcome: Outcome,
        schedule: Option<String>,
        notes: Vec<String>,
    ) {
        let (place, entry) = (origin.place.clone(), cut(origin.entry));
        self.found.push(Found { place, entry, outcome, schedule, notes });
    }

    pub(super) fn all_keep_their_meaning(&self) -> bool {
        self.found.iter().all(|found| found.outcome == Outcome::Imported)
    }

    /// The module's file.
    pub(super) fn source(&self, format: Format) -> Result<String, CliError> {
        let entries = self.file.entries();
        if entries > MOST {
            return Err(CliError::Usage(format!(
                "{entries} schedules and workflows are too many for one module; import fewer \
                 files at a time, at most {MOST}"
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
            "{} imported, {} with another meaning, {} unsupported\n",
            count(Outcome::Imported),
            count(Outcome::MeaningChanged),
            count(Outcome::Unsupported),
        );
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

fn cut(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN - 1).chain(['…']).collect()
}
