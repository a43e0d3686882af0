use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::cli::{CliError, modules};

/// Maximum number of drop-ins of one unit.
const MAX_DROP_INS: usize = 100;

/// The file names that a unit may have: its own, and its template's.
pub(super) fn forms(name: &str) -> impl Iterator<Item = String> {
    let template = name.split_once('@').and_then(|(base, rest)| {
        let (instance, suffix) = rest.rsplit_once('.')?;
        (!instance.is_empty()).then(|| format!("{base}@.{suffix}"))
    });
    [Some(name.to_owned()), template].into_iter().flatten()
}

/// A unit's file, followed by its drop-ins.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// The name of the file.
    pub(super) name: String,
    settings: Vec<Setting>,
}

#[derive(Debug)]
struct Setting {
    section: String,
    key: String,
    value: String,
    line: usize,
}

impl Unit {
    /// Reads the unit of this name from its file, which may be that of its template, and its
    /// drop-ins from these folders. A drop-in in an earlier folder hides one of the same name in a
    /// later one.
    pub(super) fn read(name: &str, file: &Path, folders: &[PathBuf]) -> Result<Self, CliError> {
        let mut unit = Self { name: name.to_owned(), settings: vec![] };
        unit.add(&modules::text(file, "unit")?);
        let mut drop_ins: BTreeMap<OsString, PathBuf> = BTreeMap::new();
        for (folder, name) in
            folders.iter().flat_map(|folder| forms(name).map(move |name| (folder, name)))
        {
            let entries = std::fs::read_dir(folder.join(format!("{name}.d")));
            for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()) {
                let is_drop_in = path.extension().is_some_and(|extension| extension == "conf");
                if let Some(key) = path.file_name().filter(|_| is_drop_in) {
                    drop_ins.entry(key.to_owned()).or_insert(path);
                }
            }
        }
        for path in drop_ins.values().take(MAX_DROP_INS) {
            unit.add(&modules::text(path, "unit")?);
        }
        Ok(unit)
    }

    fn add(&mut self, text: &str) {
        let mut section = String::new();
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                name.clone_into(&mut section);
                continue;
            }
            let is_comment = |line: &str| line.starts_with(['#', ';']);
            let Some((key, value)) = line.split_once('=').filter(|_| !is_comment(line)) else {
                continue;
            };
            // A trailing backslash joins the next line; comments in between are skipped.
            let mut value = value.trim().to_owned();
            while value.ends_with('\\') {
                value.pop();
                match lines.next() {
                    Some((_, next)) if is_comment(next.trim_start()) => value.push('\\'),
                    Some((_, next)) => {
                        value.push(' ');
                        value.push_str(next.trim());
                    }
                    None => break,
                }
            }
            let key = key.trim().to_owned();
            self.settings.push(Setting { section: section.clone(), key, value, line: index + 1 });
        }
    }

    /// The values of a key that may occur several times. An empty value clears the previous ones.
    pub(super) fn values<'a>(&'a self, section: &str, key: &str) -> Vec<&'a str> {
        let mut values = Vec::new();
        for setting in self.of(section).filter(|setting| setting.key == key) {
            if setting.value.is_empty() {
                values.clear();
            } else {
                values.push(&*setting.value);
            }
        }
        values
    }

    /// The value of a key. If the key occurs several times, the last value counts.
    pub(super) fn value<'a>(&'a self, section: &str, key: &str) -> Option<&'a str> {
        let last = self.of(section).filter(|setting| setting.key == key).last();
        last.map(|setting| &*setting.value).filter(|value| !value.is_empty())
    }

    /// The keys of a section, without duplicates.
    pub(super) fn keys<'a>(&'a self, section: &str) -> Vec<&'a str> {
        let mut keys: Vec<&'a str> = Vec::new();
        for setting in self.of(section) {
            if !keys.contains(&&*setting.key) && self.value(section, &setting.key).is_some() {
                keys.push(&setting.key);
            }
        }
        keys
    }

    /// The line of a section's first key.
    pub(super) fn line(&self, section: &str) -> usize {
        self.of(section).next().map_or(1, |setting| setting.line)
    }

    fn of<'a, 's>(&'a self, section: &'s str) -> impl Iterator<Item = &'a Setting> + use<'a, 's> {
        self.settings.iter().filter(move |setting| setting.section == section)
    }
}

/// Whether a value is true.
pub(super) fn is_true(value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        ["1", "yes", "y", "true", "t", "on"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_be_repeated_continued_and_reset() {
        let mut unit = Unit::default();
        unit.add(
            "[Timer]\n# no\nOnCalendar=daily\nOnCalendar=\nOnCalendar=a \\\n; between\n  b\n\
             [Service]\nExecStart = x=y\n",
        );
        assert_eq!(unit.values("Timer", "OnCalendar"), ["a  b"]);
        assert_eq!(unit.value("Service", "ExecStart"), Some("x=y"));
        assert_eq!((unit.line("Timer"), unit.line("Service")), (3, 9));
    }
}
