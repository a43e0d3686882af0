//! systemd timers and their services.
//!
//! - `enabled`: which timers of a machine are enabled
//! - `unit`: unit files: sections, keys, drop-ins
//! - `timer`: when a timer elapses; `on_calendar`: its expressions; `span`: its durations
//! - `service`: the commands of a service; `words`: command lines

mod enabled;
mod on_calendar;
mod service;
mod span;
mod timer;
mod unit;
mod words;

use std::path::{Path, PathBuf};

use self::{
    enabled::{Timer, is_masked, is_unit},
    unit::Unit,
};
use super::gathered::{ForeignEntry, Gathered};
use crate::cli::CliError;

/// Imports the timers of folders, and single ones. If the folders show which timers are enabled,
/// only these are imported, unless `all` is set.
pub(super) fn gather(
    gathered: &mut Gathered,
    paths: &[PathBuf],
    zone: &str,
    all: bool,
) -> Result<(), CliError> {
    let (timers, folders) = enabled::timers(paths)?;
    for timer in &timers {
        if timer.is_masked {
            let place = format!("{}:1", timer.file.display());
            let origin = ForeignEntry { place, entry: &timer.name };
            gathered.skip(
                &origin,
                "it is masked, so it never starts; 'systemctl unmask' it first if it should",
            );
            continue;
        }
        let unit = Unit::read(&timer.name, &timer.file, &folders)?;
        let entry = unit.values("Timer", "OnCalendar").join("; ");
        let shown = format!("{} {entry}", unit.name);
        let place = format!("{}:{}", timer.file.display(), unit.line("Timer"));
        let origin = ForeignEntry { place, entry: shown.trim() };
        if !timer.enabled && !all {
            gathered.skip(
                &origin,
                "it is not enabled: no link in timers.target.wants of these folders leads to it; \
                 name the folder with the links, too, or give --all",
            );
            continue;
        }
        match one(timer, &unit, &folders, zone) {
            Ok((schedule, workflow, changes)) => {
                let name = unit.name.trim_end_matches(".timer");
                gathered.add(&origin, &[name], schedule, workflow, changes);
            }
            Err(Trouble::Unsupported(why)) => gathered.refuse(&origin, why),
            Err(Trouble::Masked(why)) => gathered.skip(&origin, why),
            Err(Trouble::Unreadable(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Why a timer is not imported.
enum Trouble {
    Unsupported(String),
    /// The timer's unit is masked, so it starts nothing.
    Masked(String),
    Unreadable(CliError),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Unsupported(why)
    }
}

type TimerEntries =
    (crate::commands::modules::file::ScheduleEntry, super::gathered::ImportedWorkflow, Vec<String>);

fn one(
    file: &Timer,
    timer: &Unit,
    folders: &[PathBuf],
    zone: &str,
) -> Result<TimerEntries, Trouble> {
    if timer.name.ends_with("@.timer") {
        return Err("it is a template: only its instances run, and none is enabled in these \
                    folders; link one, as in 'systemctl enable NAME@INSTANCE.timer', and name the \
                    folder of the links"
            .to_owned()
            .into());
    }
    let mut changes = Vec::new();
    let mut schedule = timer::schedule(timer, zone, &mut changes)?;
    let name = match timer.value("Timer", "Unit") {
        Some(unit) => service::specified(timer, unit, &mut changes),
        None => format!("{}.service", timer.name.trim_end_matches(".timer")),
    };
    if !name.ends_with(".service") {
        return Err(format!("it starts {name}, and only services are imported").into());
    }
    if name.ends_with("@.service") {
        return Err(format!("it starts {name}, a template without an instance").into());
    }
    let Some(path) = found(&file.file, &name, folders) else {
        return Err(format!(
            "its service {name} is not there: looked beside {}, and in the folders that were named",
            file.file.display()
        )
        .into());
    };
    if is_masked(&path) {
        return Err(Trouble::Masked(format!(
            "its service {name} is masked ({}), so it starts nothing",
            path.display()
        )));
    }
    let service = Unit::read(&name, &path, folders).map_err(Trouble::Unreadable)?;
    let descriptions = [&timer, &&service].map(|unit| unit.value("Unit", "Description"));
    let note = descriptions.into_iter().flatten().next().unwrap_or_default();
    schedule.note = service::specified(&service, note, &mut vec![]);
    let workflow = service::work(&service, &mut schedule, &mut changes)?;
    Ok((schedule, workflow, changes))
}

/// Finds the file of a unit or of its template: first in the folders, in order, and then beside the
/// timer.
fn found(timer: &Path, name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    // A name with a slash could lead out of the folder.
    let is_name = !name.contains('/') && !name.contains('\0');
    let beside = timer.parent().map(Path::to_owned);
    let folders = || folders.iter().chain(&beside);
    let mut paths =
        unit::forms(name).flat_map(|name| folders().map(move |folder| folder.join(&name)));
    is_name.then(|| paths.find(|path| is_unit(path))).flatten()
}
