//! Reads and writes module files.

use std::{
    io::{ErrorKind, Read},
    path::Path,
};

use super::CliError;
use crate::commands::{FileFormat, modules::file::MAX_BYTES};

/// The text and the format of a module's file.
pub(super) struct ModuleFile {
    pub(super) text: String,
    pub(super) format: FileFormat,
}

impl ModuleFile {
    pub(super) fn read(file: &Path) -> Result<Self, CliError> {
        Ok(Self { text: text(file, "module file")?, format: format_of(file) })
    }

    /// The format as the API spells it.
    pub(super) fn spelt(&self) -> &'static str {
        spelt(self.format)
    }
}

pub(super) fn spelt(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Yaml => "YAML",
        FileFormat::Toml => "TOML",
    }
}

/// The format of a file, from its name.
pub(super) fn format_of(file: &Path) -> FileFormat {
    match file.extension() {
        Some(extension) if extension == "toml" => FileFormat::Toml,
        Some(_) | None => FileFormat::Yaml,
    }
}

/// The text of a file, or of standard input for `-`; refused if it is longer than a module may be.
pub(super) fn text(file: &Path, what: &str) -> Result<String, CliError> {
    let refused =
        |problem: String| CliError::Usage(format!("the {what} '{}' {problem}", file.display()));
    let unreadable = |error: std::io::Error| refused(format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    if file.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let opened = std::fs::File::open(file).map_err(unreadable)?;
        if opened.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(ErrorKind::IsADirectory.into()));
        }
        opened.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() > MAX_BYTES {
        return Err(refused(format!("is larger than {MAX_BYTES} bytes; divide it into several")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = read.iter().filter(|byte| **byte == b'\n').count() + 1;
        let begin = read.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&read[begin..]).chars().count() + 1;
        refused(format!("is not UTF-8: line {line}, column {column}; save it as UTF-8"))
    })
}

/// Writes a file. An existing file is replaced only when the new one is complete.
pub(super) fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: std::io::Error| {
        CliError::Usage(format!("the file '{}' cannot be written: {error}", file.display()))
    };
    // A pipe, a terminal or /dev/null must not be replaced by a file.
    if std::fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return std::fs::write(file, text).map_err(failed);
    }
    // A symbolic link stays, and the file that it leads to is replaced.
    let place = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut beside = place.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, text).map_err(failed)?;
    std::fs::rename(&beside, &place).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{FileTypeExt, symlink},
        process::Command,
        thread,
    };

    use super::*;

    #[test]
    fn a_link_and_what_is_no_file_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write(&path("file"), "old").unwrap();
        symlink("file", path("link")).unwrap();
        write(&path("link"), "new").unwrap();
        assert!(path("link").is_symlink());
        assert_eq!(fs::read_to_string(path("file")).unwrap(), "new");

        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let pipe = path("pipe");
        let reader = thread::spawn(move || fs::read_to_string(pipe).unwrap());
        write(&path("pipe"), "through").unwrap();
        assert!(fs::metadata(path("pipe")).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), "through");

        assert!(write(folder.path(), "x").is_err());
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["file", "link", "pipe"]);
    }
}
