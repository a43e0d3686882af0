//! systemd timers and their services.
//!
//! - `unit`: the files: sections, keys, drop-ins
//! - `timer`: when; `on_calendar`: its expressions; `span`: its durations
//! - `service`: what; `words`: command lines

mod on_calendar;
mod service;
mod span;
mod timer;
mod unit;
mod words;

use std::path::{Path, PathBuf};

use self::unit::Unit;
use super::gathered::{Gathered, Origin};
use crate::cli::CliError;

/// So many units of one folder are looked at.
const MOST: usize = 10_000;

/// Takes in the timers of a folder, or one.
pub(super) fn gather(gathered: &mut Gathered, path: &Path, zone: &str) -> Result<(), CliError> {
    let timers = if path.is_dir() { timers_in(path)? } else { vec![path.to_owned()] };
    for file in timers {
        let place = file.display().to_string();
        let unit = Unit::read(&file)?;
        let entry = unit.values("Timer", "OnCalendar").join("; ");
        let shown = format!("{} {entry}", unit.name);
        let origin =
            Origin { place: format!("{place}:{}", unit.line("Timer")), entry: shown.trim() };
        match one(&file, &unit, zone) {
            Ok((schedule, workflow, changes)) => {
                let name = unit.name.trim_end_matches(".timer");
                gathered.add(&origin, name, (schedule, workflow), changes);
            }
            Err(Trouble::Unsupported(why)) => gathered.refuse(&origin, why),
            Err(Trouble::Unreadable(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Why a timer is not imported.
enum Trouble {
    Unsupported(String),
    Unreadable(CliError),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Unsupported(why)
    }
}

type Made =
    (crate::engine::commands::modules::file::ScheduleEntry, super::gathered::Workflow, Vec<String>);

fn one(file: &Path, timer: &Unit, zone: &str) -> Result<Made, Trouble> {
    let mut changes = Vec::new();
    let mut schedule = timer::schedule(timer, zone, &mut changes)?;
    let name = match timer.value("Timer", "Unit") {
        Some(unit) => unit.to_owned(),
        None => format!("{}.service", timer.name.trim_end_matches(".timer")),
    };
    if !name.ends_with(".service") {
        return Err(format!("it starts {name}, and only services are imported").into());
    }
    let Some(path) = beside(file, &name) else {
        return Err(
            format!("its service {name} is not there: looked beside {}", file.display()).into()
        );
    };
    let mut service = Unit::read(&path).map_err(Trouble::Unreadable)?;
    // One of a template has the name of the instance.
    service.name = name;
    let descriptions = [&timer, &&service].map(|unit| unit.value("Unit", "Description"));
    schedule.note = descriptions.into_iter().flatten().next().unwrap_or_default().to_owned();
    let workflow = service::work(&service, &mut schedule, &mut changes)?;
    Ok((schedule, workflow, changes))
}

/// The unit's file, or that of its template.
fn beside(timer: &Path, name: &str) -> Option<PathBuf> {
    let folder = timer.parent().unwrap_or(Path::new("."));
    // A name leads nowhere else.
    let is_name = !name.contains('/') && !name.contains('\0');
    let template = name.split_once('@').map(|(base, _)| format!("{base}@.service"));
    let candidates = [Some(name.to_owned()), template];
    let paths = candidates.into_iter().flatten().map(|name| folder.join(name));
    is_name.then(|| paths.into_iter().find(|path| path.is_file())).flatten()
}

fn timers_in(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::Usage(format!("the folder '{}' cannot be read: {error}", folder.display()))
    };
    let mut timers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)?.take(MOST) {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "timer") && path.is_file() {
            timers.push(path);
        }
    }
    timers.sort();
    Ok(timers)
}
