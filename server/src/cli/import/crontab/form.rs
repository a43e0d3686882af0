//! Distinguishes the two forms of a crontab: with a user before each command, or without.
//!
//! If a crontab is read in the wrong form, every entry runs something else: `root` as a program, or
//! a program as a user. So a file that looks like the other form is refused as a whole, with the
//! evidence.

use std::{collections::BTreeMap, path::Path};

use super::known::{self, UserCertainty};

/// Minimum number of entries with the same sixth word that indicates a form.
const MIN_COMMON: usize = 3;
/// Minimum number of entries with the same word before the path of a program that indicates a form.
const MIN_BEFORE_PATHS: usize = 2;

/// The largest number of characters of a word that a message repeats.
const MAX_SHOWN: usize = 64;

/// Folders that contain data, not programs.
const DATA: [&str; 11] = [
    "/mnt/",
    "/media/",
    "/data/",
    "/tmp/",
    "/dev/",
    "/proc/",
    "/var/log/",
    "/var/backups/",
    "/var/cache/",
    "/var/tmp/",
    "/backup/",
];

/// The extensions of scripts. A path with another extension is a file that a program reads.
const SCRIPTS: [&str; 13] =
    ["sh", "bash", "zsh", "py", "pl", "php", "rb", "js", "mjs", "lua", "jar", "cgi", "bin"];

/// An entry without its time.
pub(super) struct Rest<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
}

impl<'a> Rest<'a> {
    /// The sixth word, and the text after it.
    fn split(&self) -> Option<(&'a str, &'a str)> {
        first(self.text)
    }

    /// Whether the entry begins with a program rather than with a user, because the text after its
    /// first word is not a program that a user could run.
    fn begins_with_program(&self) -> bool {
        let Some((word, behind)) = self.split() else { return true };
        let has_arguments = behind.is_empty()
            || behind.starts_with(['-', '>', '<', '|', '&', ';', '2'])
            || is_data(behind);
        match known::account(word) {
            Some(UserCertainty::Always) => behind.is_empty(),
            Some(UserCertainty::UnlessOption) => has_arguments,
            Some(UserCertainty::BeforeProgram { counts_when_common }) => {
                let next = first(behind).map_or("", |(next, _)| next);
                let is_program = is_program(behind) && !known::is_argument(word, next);
                has_arguments || !counts_when_common && !is_program
            }
            None => {
                !is_user(word)
                    || is_script(word)
                    || has_arguments
                    || known::is_program(word) && !is_program(behind)
            }
        }
    }

    /// Whether the entry cannot begin with a user.
    fn has_no_user(&self) -> bool {
        self.split().is_none_or(|(word, behind)| {
            !is_account_name(word)
                || known::is_program(word)
                || behind.is_empty()
                || behind.starts_with(['-', '>', '<', '|', '&', ';', '2'])
        })
    }
}

/// The evidence that a file names users, although it is read as one without users.
pub(super) fn names_users(file: &Path, entries: &[Rest<'_>]) -> Option<String> {
    let folder = file.parent().and_then(Path::file_name);
    let in_folder = |name: &str| folder.is_some_and(|folder| folder == name);
    let is_crontab = file.file_name().is_some_and(|name| name == "crontab");
    if in_folder("cron.d") || in_folder("etc") && is_crontab {
        return Some("it is in the folder of these".to_owned());
    }
    let known = entries.iter().find_map(|entry| {
        let (word, behind) = entry.split()?;
        let is_user = match known::account(word)? {
            UserCertainty::Always => !behind.is_empty(),
            UserCertainty::UnlessOption => is_word(behind) || is_program(behind),
            UserCertainty::BeforeProgram { .. } => {
                let next = first(behind)?.0;
                let is_data = next.starts_with('/') && !is_program_path(next);
                is_program(behind) && !is_data && !known::is_argument(word, next)
            }
        };
        is_user.then(|| format!("'{word}' in line {} is a user", entry.line))
    });
    known.or_else(|| before_paths(entries)).or_else(|| common(entries))
}

/// The evidence that a file names no users, although it is read as one with users: most of its
/// entries begin with a program, and nothing suggests users.
pub(super) fn names_programs(file: &Path, entries: &[Rest<'_>]) -> Option<String> {
    if names_users(file, entries).is_some() {
        return None;
    }
    let mut of_programs = entries.iter().filter(|entry| entry.begins_with_program());
    let first = of_programs.next()?;
    let count = 1 + of_programs.count();
    let (word, line) = (first.split().map_or("", |(word, _)| word), first.line);
    (count * 2 > entries.len()).then(|| {
        let of_all = proportion(count, entries.len());
        let shown: String = word.chars().take(MAX_SHOWN).collect();
        format!("{of_all} entries begin with a program, such as '{shown}' in line {line}")
    })
}

/// A bare word before the path of a program, which may be a user with an unknown name. A single
/// such entry is no evidence if others certainly have no user.
fn before_paths(entries: &[Rest<'_>]) -> Option<String> {
    let mut words: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for entry in entries {
        if let Some((word, behind)) = entry.split()
            && is_account_name(word)
            && !known::is_program(word)
            && is_command(behind)
        {
            words.entry(word).or_insert((0, entry.line)).0 += 1;
        }
    }
    let (word, (count, line)) = words.into_iter().max_by_key(|(_, (count, _))| *count)?;
    if count >= MIN_BEFORE_PATHS {
        let shown = proportion(count, entries.len());
        return Some(format!("{shown} entries have '{word}' before the path of a program"));
    }
    let is_refuted = entries.iter().any(Rest::has_no_user);
    (!is_refuted).then(|| format!("'{word}' in line {line} stands before the path of a program"))
}

/// A sixth word that most entries share and that is a user, because programs follow it. After some
/// common accounts, any word may follow.
fn common(entries: &[Rest<'_>]) -> Option<String> {
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for (word, behind) in entries.iter().filter_map(Rest::split) {
        let is_user = match known::account(word) {
            Some(UserCertainty::BeforeProgram { counts_when_common }) => {
                counts_when_common && is_word(behind)
            }
            Some(UserCertainty::Always | UserCertainty::UnlessOption) => false,
            None => is_account_name(word) && !known::is_program(word) && is_program(behind),
        };
        if is_user {
            *words.entry(word).or_default() += 1;
        }
    }
    let (word, count) = words.into_iter().max_by_key(|(_, count)| *count)?;
    let is_form = count >= MIN_COMMON && count * 2 > entries.len();
    is_form.then(|| {
        format!("{} entries have '{word}' before a program", proportion(count, entries.len()))
    })
}

fn proportion(count: usize, all: usize) -> String {
    if count == all { format!("all {all}") } else { format!("{count} of {all}") }
}

/// Whether a word may be a user name, and is not obviously a program.
pub(super) fn is_user(word: &str) -> bool {
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    is_name && !known::is_only_program(word)
}

/// Whether a word looks like an account name: dots and capital letters occur in programs instead.
fn is_account_name(word: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
    is_user(word) && word.bytes().all(is_part)
}

/// Whether a text begins like a command: with a path, or with a word that shells know.
fn is_program(text: &str) -> bool {
    let word = first(text).map_or("", |(word, _)| word);
    word.starts_with(['/', '~', '.', '$', '[', '(']) || known::is_program(word)
}

/// Whether a text begins with a bare word, neither an option nor an operator of the shell.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether a text is certainly a command: it begins with the absolute path of a possible program,
/// or changes to a folder, or tests for a file.
fn is_command(text: &str) -> bool {
    let Some((word, behind)) = first(text) else { return false };
    match word {
        "[" | "[[" => true,
        "cd" => behind.starts_with(['/', '~', '$']),
        path => is_program_path(path),
    }
}

/// Whether a text begins with the path of something that is not a program: a folder or a data file.
fn is_data(text: &str) -> bool {
    let path = first(text).map_or("", |(path, _)| path);
    path.starts_with('/') && !is_program_path(path) && !is_script(path)
}

/// Whether a path or a word ends as scripts do.
fn is_script(path: &str) -> bool {
    extension(path).is_some_and(|extension| SCRIPTS.contains(&extension))
}

fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map(|(_, extension)| extension)
}

fn is_program_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = extension(path);
    path.starts_with('/')
        && !name.is_empty()
        && !DATA.iter().any(|folder| path.starts_with(folder))
        && extension.is_none_or(|extension| SCRIPTS.contains(&extension))
        && !path.contains(['*', '?'])
}

fn first(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(file: &str, lines: &[&str]) -> Option<String> {
        let entries: Vec<_> =
            lines.iter().enumerate().map(|(line, text)| Rest { line, text }).collect();
        names_users(Path::new(file), &entries)
    }

    #[test]
    fn users_in_the_sixth_field_are_seen() {
        for (file, lines) in [
            ("/etc/crontab", &["x"][..]),
            ("/srv/backup/etc/cron.d/php", &["x"]),
            ("tab", &["/bin/true", "root /usr/bin/x"]),
            ("tab", &["www-data php x.php"]),
            ("tab", &["mysql /usr/bin/mysqlcheck"]),
            ("tab", &["mysql mysqldump --all-databases"]),
            ("tab", &["shop /srv/a", "shop cd /srv && b", "shop [ -x c ] && c"]),
            ("tab", &["postgres psql -c 'vacuum'"]),
            ("tab", &["postgres pg_dump shop", "postgres vacuumdb -a", "postgres reindexdb -a"]),
            ("tab", &["postgres pgtune-report daily"]),
            ("tab", &["sys /usr/lib/sa/sa1"]),
            ("tab", &["mrtg /usr/bin/mrtg /etc/mrtg.cfg"]),
            ("tab", &["nagios test -x /a && /a"]),
            ("tab", &["shop /srv/a", "shop /srv/b"]),
            ("tab", &["shop /srv/a --x", "shop cd /srv && ./b"]),
            ("tab", &["gitlab-www /opt/a", "gitlab-www rake b", "/bin/true"]),
            ("tab", &["puppet-run /opt/a", "puppet-run /opt/b", "/bin/true"]),
            ("tab", &["backup daily", "backup weekly", "backup monthly", "/bin/true"]),
            ("tab", &["shop php a", "shop php b", "shop ./c", "/bin/true"]),
        ] {
            assert!(shown(file, lines).is_some(), "{file} {lines:?}");
        }
    }

    fn shown_as_system(file: &str, lines: &[&str]) -> Option<String> {
        let entries: Vec<_> =
            lines.iter().enumerate().map(|(line, text)| Rest { line, text }).collect();
        names_programs(Path::new(file), &entries)
    }

    #[test]
    fn programs_in_place_of_users_are_seen() {
        for lines in [
            &["backup /mnt/disk"][..],
            &["backup /mnt/disk", "backup /home/ana/"],
            &["/usr/bin/a b", "backup.sh /srv/a"],
            &["git pull", "php /srv/a.php", "cd /srv && make"],
            &["mysql shop < /srv/a.sql"],
            &["nginx -s reload"],
            &["restic backup /home"],
            &["sync-photos"],
            &["shop run", "tidy /home/ana/list.txt", "./run x"],
        ] {
            let told = shown_as_system("tab", lines);
            assert!(told.is_some_and(|told| told.contains("begin with a program")), "{lines:?}");
        }
    }

    #[test]
    fn users_before_commands_are_left_alone() {
        for (file, lines) in [
            ("/etc/crontab", &["backup /mnt/disk"][..]),
            ("/srv/etc/cron.d/x", &["backup /mnt/disk"]),
            ("tab", &["root cd / && run-parts /etc/cron.hourly", "backup /mnt/disk"]),
            ("tab", &["www-data php x.php"]),
            ("tab", &["backup daily"]),
            ("tab", &["shop /data/scripts/sync.sh"]),
            ("tab", &["Debian-exim exim_tidydb /usr/x"]),
            ("tab", &["first.last backup-all"]),
            ("tab", &["puppet /usr/bin/puppet agent"]),
            ("tab", &["nagios test -x /a && /a"]),
            ("tab", &["shop run-a", "shop run-b", "backup /mnt/disk"]),
            ("tab", &[]),
        ] {
            assert_eq!(shown_as_system(file, lines), None, "{file} {lines:?}");
        }
    }

    #[test]
    fn programs_in_the_sixth_field_are_no_users() {
        for lines in [
            &["/bin/true"][..],
            &["backup --all"],
            &["backup /mnt/disk", "backup /home/ana/"],
            &["mysql -e 'select 1'", "git pull", "root"],
            &["php /srv/a.php", "php /srv/b.php", "php /srv/c.php"],
            &["cd /srv && a", "cd /srv && b", "cd /srv && c"],
            &["backup.sh /srv/a", "backup.sh /srv/b", "backup.sh /srv/c"],
            &[],
            &["logrotate /home/ana/logrotate.conf", "logrotate -s /a /home/ana/b"],
            &["python3.11 /home/ana/a.py", "php8.2 /srv/a.php", "Rscript /home/ana/a.R"],
            &["git pull", "git fetch --all", "git gc", "git bundle create /srv/a", "git mv a b"],
            &["mysql test < /srv/a.sql", "mysql test < /srv/b.sql", "mysql test < /srv/c.sql"],
            &["mysql shop < /srv/a.sql", "mysql blog < /srv/b.sql", "mysql wiki < /srv/c.sql"],
            &["nginx -s reload", "postgres -D /srv/db", "redis --version"],
            &["rclone sync /home/ana remote:", "restic -r /mnt/x backup /home", "du /home"],
            &["chown -R ana /srv/a", "chmod /srv/a", "mkdir /srv/b", "ls /srv"],
            &["certbot renew", "duplicity /home/ana file:///mnt/x", "updatedb"],
            &["xvfb-run /home/ana/bin/shoot", "setsid /home/ana/bin/x", "chronic /home/ana/y"],
            &["sync-photos /mnt/photos", "sync-photos /mnt/films"],
            &["sync-photos /home/ana/photos/", "tidy /home/ana/list.txt"],
            &["sync-photos /home/ana/photos", "/home/ana/bin/other"],
            &["sync-photos /home/ana/photos", "cd /srv && make"],
            &["FOO=1 tidy /home/ana", "tidy ~/x"],
            &["mail -s hi ana@example.org", "man -k x", "http GET example.org"],
            &["npm run build", "npm test", "npm run lint"],
            &["make -C /srv a", "make -C /srv b", "make -C /srv c"],
            &["tidy run", "tidy check", "tidy all"],
        ] {
            assert_eq!(shown("tab", lines), None, "{lines:?}");
        }
    }
}
