//! Finds timers, and which of them are enabled.
//!
//! systemd enables a timer by a link in `timers.target.wants`, or in a similar folder. The link of
//! a template's instance has the instance's name and points to the template's file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::unit::forms;
use crate::cli::CliError;

/// The largest number of entries examined in one folder.
const MAX_ENTRIES: usize = 10_000;

/// A timer to import.
pub(super) struct Timer {
    /// The unit's name; for an instance of a template, including the instance.
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) enabled: bool,
    /// Whether the timer can never start, because its file masks it.
    pub(super) is_masked: bool,
}

/// Whether a unit file masks its unit, because the file is empty or a link to `/dev/null`. Such a
/// file still hides units of the same name in later folders.
pub(super) fn is_masked(file: &Path) -> bool {
    let null = Path::new("/dev/null");
    let leads_to_null = file.read_link().is_ok_and(|target| target == null)
        || file.canonicalize().is_ok_and(|target| target == null);
    leads_to_null || file.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Whether a file is a unit or masks one.
pub(super) fn is_unit(file: &Path) -> bool {
    file.is_file() || is_masked(file)
}

/// Returns the timers in these folders and the single ones, by name, and all folders that may
/// contain units. A unit in an earlier folder hides those of the same name in later ones. If no
/// folder shows which timers are enabled, all of them count as enabled.
pub(super) fn timers(paths: &[PathBuf]) -> Result<(Vec<Timer>, Vec<PathBuf>), CliError> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut found: BTreeMap<String, (PathBuf, bool)> = BTreeMap::new();
    let mut linked: Vec<(String, PathBuf)> = Vec::new();
    let mut says_enabled = false;
    for path in paths {
        if !path.is_dir() {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new(".")).to_owned();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            found.insert(name.to_owned(), (path.clone(), true));
            if !folders.contains(&parent) {
                folders.push(parent);
            }
            continue;
        }
        folders.push(path.clone());
        for (name, entry) in entries(path)? {
            if is_timer(&name) && is_unit(&entry) {
                found.entry(name).or_insert((entry, false));
            } else if entry.is_dir() && (name.ends_with(".wants") || name.ends_with(".requires")) {
                says_enabled |= name == "timers.target.wants";
                linked.extend(entries(&entry)?.into_iter().filter(|(name, _)| is_timer(name)));
            }
        }
    }
    for (name, link) in linked {
        let known = forms(&name).find_map(|form| found.get(&form).map(|(file, _)| file.clone()));
        // A link to a unit outside the given folders may still lead to a file.
        let file = known.or_else(|| link.is_file().then_some(link));
        if let Some(file) = file {
            found.entry(name).or_insert((file, true)).1 = true;
        }
    }
    let instances: Vec<String> = found.keys().cloned().collect();
    let is_used = |template: &str| {
        let base = template.strip_suffix("@.timer");
        base.is_some_and(|base| {
            let begins = format!("{base}@");
            instances.iter().any(|name| name != template && name.starts_with(&begins))
        })
    };
    let timers = found.into_iter().filter(|(name, _)| !is_used(name)).map(|(name, place)| {
        let (file, enabled) = place;
        let is_masked = is_masked(&file);
        // A template is included, although it cannot be enabled itself, so that it is reported.
        let enabled = enabled || !says_enabled || name.ends_with("@.timer");
        Timer { name, file, enabled, is_masked }
    });
    Ok((timers.collect(), folders))
}

fn is_timer(name: &str) -> bool {
    name.ends_with(".timer")
}

fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::Usage(format!("the folder '{}' cannot be read: {error}", folder.display()))
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(unreadable)?;
        if let Ok(name) = entry.file_name().into_string() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
