//! The result of an import, with each entry checked as a server would check it.

use serde::Serialize;
use timetable::{Definition, Timetable};

use super::names::Names;
use crate::{
    cli::CliError,
    commands::{
        FileFormat,
        modules::file::{File, ScheduleEntry, TaskEntry, WorkflowEntry},
    },
};

/// The imported entries, and the module that they form.
pub(super) struct Gathered {
    file: File,
    names: Names,
    found: Vec<ImportedEntry>,
    /// Notes on the next entry that do not change its meaning.
    remarks: Vec<String>,
}

/// One entry.
#[derive(Debug, Serialize)]
pub(super) struct ImportedEntry {
    /// The file and the line number.
    place: String,
    /// The original text of the entry.
    entry: String,
    outcome: EntryOutcome,
    /// The schedule that was created from the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// The differences from the original, or why it cannot be imported.
    notes: Vec<String>,
    /// The first fields that contain a credential in plain text. Servers refuse the schedule
    /// because of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    credentials: Vec<String>,
}

/// The outcome of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryOutcome {
    /// The imported schedule means the same as the entry.
    Imported,
    /// The entry was imported, but the schedule's meaning differs.
    MeaningChanged,
    /// The entry was imported, but no server accepts it before a person changes it.
    NeedsChange,
    /// The entry was not imported.
    Unsupported,
    /// The entry was not requested, but found together with the imported ones.
    Skipped,
}

/// An entry of another scheduler.
pub(super) struct ForeignEntry<'a> {
    pub(super) place: String,
    pub(super) entry: &'a str,
}

/// The imported workflow, if it has more than one task.
pub(super) type ImportedWorkflow = Option<WorkflowEntry>;

/// Maximum number of characters of an entry that the report repeats.
const MAX_SHOWN: usize = 100;
/// Maximum number of schedules and workflows in a module.
const MAX_ENTRIES: usize = 1_000;
/// Maximum number of characters in a schedule's note.
const MAX_NOTE: usize = 1_000;
/// Maximum number of characters in one note of the report.
const MAX_SAID: usize = 600;
/// Maximum number of fields with credentials that the report names for one entry.
const MAX_CREDENTIALS: usize = 5;
/// What to do about an entry that runs as root.
const ROOT: &str = "it runs as root, which servers refuse: in the module, name another user that \
                    commands.users allows, or remove 'user' to run it as the user for programs; \
                    leave what needs root where it is";
/// The largest number of entries in one import.
const MAX_FOUND: usize = 20_000;

impl Gathered {
    pub(super) fn new(module: &str, namespace: &str) -> Self {
        let (file, found) = (File::new(module, namespace), vec![]);
        Self { file, names: Names::default(), found, remarks: vec![] }
    }

    /// Adds a note to the next entry; the note does not change the entry's meaning.
    pub(super) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Adds an entry under the first free name among `wanted`; `changes` lists the differences.
    pub(super) fn add(
        &mut self,
        origin: &ForeignEntry<'_>,
        wanted: &[&str],
        mut schedule: ScheduleEntry,
        workflow: ImportedWorkflow,
        changes: Vec<String>,
    ) {
        if let Err(why) = check_timing(&schedule) {
            return self.refuse(origin, why);
        }
        schedule.note = schedule.note.replace('\0', "");
        let written = serde_json::to_string(&(&schedule, &workflow)).unwrap_or_default();
        // Two backslashes are one in the text, after which `u0000` is no escape.
        if written.replace(r"\\", "").contains(r"\u0000") {
            let why = "it has a NUL character, which no program and no address may have";
            return self.refuse(origin, why);
        }
        let needs_root = schedule.task.as_ref().is_some_and(TaskEntry::needs_root)
            || workflow.as_ref().is_some_and(WorkflowEntry::needs_root);
        if needs_root {
            self.remark(ROOT);
        }
        let credentials = self.note_credentials(&schedule, workflow.as_ref());
        let name = self.names.take(wanted);
        schedule.note = schedule.note.chars().take(MAX_NOTE).collect();
        if let Some(workflow) = workflow {
            schedule.workflow = Some(name.clone());
            self.file.workflows.insert(name.clone(), workflow);
        }
        self.file.schedules.insert(name.clone(), schedule);
        let outcome = match (needs_root, changes.is_empty()) {
            (true, _) => EntryOutcome::NeedsChange,
            (false, true) => EntryOutcome::Imported,
            (false, false) => EntryOutcome::MeaningChanged,
        };
        self.put(origin, outcome, Some(name), changes);
        if let Some(entry) = self.found.last_mut() {
            entry.credentials = credentials;
        }
    }

    /// Notes the fields that servers refuse because of credentials in plain text; returns the first
    /// of them.
    fn note_credentials(
        &mut self,
        schedule: &ScheduleEntry,
        workflow: Option<&WorkflowEntry>,
    ) -> Vec<String> {
        let own = schedule.task.iter().flat_map(TaskEntry::literal_credentials);
        let of_tasks = workflow.into_iter().flat_map(WorkflowEntry::literal_credentials);
        let mut fields: Vec<String> = own.chain(of_tasks).collect();
        fields.dedup();
        let more = fields.len().saturating_sub(MAX_CREDENTIALS);
        fields.truncate(MAX_CREDENTIALS);
        let holds = match (&*fields, more) {
            ([], _) => return fields,
            ([only], _) => format!("{only} holds a credential"),
            (first, 0) => format!("{} hold credentials", first.join(", ")),
            (first, more) => format!("{} and {more} more hold credentials", first.join(", ")),
        };
        self.remark(format!(
            "{holds} in plain text, which servers refuse: keep it as a secret (carillon secret set \
             NAME), and write {{{{ secrets.NAME }}}} in its place before you apply the module"
        ));
        fields
    }

    /// Refuses an entry.
    pub(super) fn refuse(&mut self, origin: &ForeignEntry<'_>, why: impl Into<String>) {
        self.put(origin, EntryOutcome::Unsupported, None, vec![why.into()]);
    }

    /// Counts an entry that was found but not requested.
    pub(super) fn skip(&mut self, origin: &ForeignEntry<'_>, why: impl Into<String>) {
        self.put(origin, EntryOutcome::Skipped, None, vec![why.into()]);
    }

    fn put(
        &mut self,
        origin: &ForeignEntry<'_>,
        outcome: EntryOutcome,
        schedule: Option<String>,
        mut notes: Vec<String>,
    ) {
        notes.append(&mut self.remarks);
        // A variable that occurs in a hundred arguments is reported once.
        let mut said = std::collections::HashSet::new();
        notes.retain(|note| said.insert(note.clone()));
        let notes = notes.iter().map(|note| cut(note, MAX_SAID)).collect();
        let (place, entry) = (origin.place.clone(), cut(origin.entry, MAX_SHOWN));
        let credentials = vec![];
        self.found.push(ImportedEntry { place, entry, outcome, schedule, notes, credentials });
    }

    pub(super) fn all_keep_their_meaning(&self) -> bool {
        let keeps = |found: &ImportedEntry| {
            matches!(found.outcome, EntryOutcome::Imported | EntryOutcome::Skipped)
        };
        self.found.iter().all(keeps)
    }

    /// The module's file.
    pub(super) fn source(&self, format: FileFormat) -> Result<String, CliError> {
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

    /// The report for people: one line per entry, with its notes below.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        for found in &self.found {
            let outcome = match found.outcome {
                EntryOutcome::Imported => "imported",
                EntryOutcome::MeaningChanged => "meaning changed",
                EntryOutcome::NeedsChange => "needs a change",
                EntryOutcome::Unsupported => "unsupported",
                EntryOutcome::Skipped => "skipped",
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
            count(EntryOutcome::Imported),
            count(EntryOutcome::MeaningChanged),
            count(EntryOutcome::Unsupported),
        );
        match count(EntryOutcome::NeedsChange) {
            0 => {}
            1 => words += ", 1 needs a change",
            more => words += &format!(", {more} need a change"),
        }
        match count(EntryOutcome::Skipped) {
            0 => words += "\n",
            skipped => words += &format!(", {skipped} skipped\n"),
        }
        match self.found.iter().filter(|found| !found.credentials.is_empty()).count() {
            0 => {}
            1 => words += "1 entry contains a credential in plain text, which servers refuse\n",
            more => {
                words += &format!(
                    "{more} entries contain credentials in plain text, which servers refuse\n"
                );
            }
        }
        words
    }

    /// The report for programs.
    pub(super) fn json(&self) -> String {
        let report = serde_json::json!({ "module": self.file.module, "entries": self.found });
        format!("{report}\n")
    }
}

/// Validates the timing with the calculator, as the server will.
fn check_timing(schedule: &ScheduleEntry) -> Result<(), String> {
    let definition = Definition::new(schedule.when.0.clone(), &schedule.zone);
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
