//! Tells the two forms of a crontab apart: with a user before each command, or without.
//!
//! In the wrong form, every entry would run something else: `root` as a program, or a program as a
//! user. So a file that looks like the other form is refused as a whole, with the evidence.

use std::path::Path;

/// Accounts whose names are not programs.
const ACCOUNTS: [&str; 24] = [
    "root", "www-data", "nobody", "daemon", "apache", "wwwrun", "_apt", "ubuntu", "debian",
    "ec2-user", "centos", "pi", "vagrant", "admin", "jenkins", "tomcat", "zabbix", "asterisk",
    "smmsp", "logcheck", "munin", "amavis", "clamav", "list",
];

/// Accounts whose names are also programs: they count only if a program follows.
const EITHER: [&str; 16] = [
    "mail",
    "mysql",
    "postgres",
    "git",
    "backup",
    "news",
    "man",
    "nginx",
    "redis",
    "mongodb",
    "prometheus",
    "deploy",
    "oracle",
    "proxy",
    "games",
    "http",
];

/// Programs that take another program or a file as their first argument, so that many entries may
/// begin with the same one.
const PROGRAMS: [&str; 38] = [
    "cd",
    "bash",
    "sh",
    "zsh",
    "dash",
    "php",
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "java",
    "curl",
    "wget",
    "env",
    "nice",
    "ionice",
    "nohup",
    "exec",
    "sudo",
    "time",
    "timeout",
    "flock",
    "test",
    "echo",
    "find",
    "rm",
    "cp",
    "mv",
    "rsync",
    "tar",
    "docker",
    "cat",
    "touch",
    "source",
    "run-parts",
    "command",
];

/// At least this many entries with the same sixth word indicate a form.
const MIN_COMMON: usize = 3;

/// An entry without its time.
pub(super) struct Rest<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// The evidence that a file names users, if it is read as one that does not.
pub(super) fn names_users(file: &Path, entries: &[Rest<'_>]) -> Option<String> {
    let folder = file.parent().and_then(Path::file_name);
    let in_folder = |name: &str| folder.is_some_and(|folder| folder == name);
    let is_crontab = file.file_name().is_some_and(|name| name == "crontab");
    if in_folder("cron.d") || in_folder("etc") && is_crontab {
        return Some("it lies where these lie".to_owned());
    }
    let known = entries.iter().find_map(|entry| {
        let (first, behind) = first(entry.text)?;
        let is_account = ACCOUNTS.contains(&first) && !behind.is_empty();
        let is_either = EITHER.contains(&first) && is_program(behind);
        (is_account || is_either).then(|| format!("'{first}' in line {} is a user", entry.line))
    });
    known.or_else(|| common(entries))
}

/// A sixth word that all entries share, followed by programs: a user with an unknown name.
fn common(entries: &[Rest<'_>]) -> Option<String> {
    let (word, _) = first(entries.first()?.text)?;
    let is_common = entries.iter().all(|entry| {
        first(entry.text).is_some_and(|(first, behind)| first == word && is_program(behind))
    });
    let is_user = is_user(word) && !PROGRAMS.contains(&word) && !word.contains('.');
    (entries.len() >= MIN_COMMON && is_common && is_user)
        .then(|| format!("all {} entries have '{word}' before a program", entries.len()))
}

/// Whether a word may be a user name, and is not obviously a program.
pub(super) fn is_user(word: &str) -> bool {
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    is_name && !PROGRAMS.contains(&word)
}

/// Whether a text begins like a command: with a path, or with a word that shells know.
fn is_program(text: &str) -> bool {
    let word = first(text).map_or("", |(word, _)| word);
    word.starts_with(['/', '~', '.', '$', '[', '(']) || PROGRAMS.contains(&word)
}

fn first(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_in_the_sixth_field_are_seen() {
        let asks = |file: &str, lines: &[&str]| {
            let entries: Vec<_> =
                lines.iter().enumerate().map(|(line, text)| Rest { line, text }).collect();
            names_users(Path::new(file), &entries).is_some()
        };
        for (file, lines) in [
            ("/etc/crontab", &["x"][..]),
            ("/srv/backup/etc/cron.d/php", &["x"]),
            ("tab", &["/bin/true", "root /usr/bin/x"]),
            ("tab", &["www-data php x.php"]),
            ("tab", &["mysql /usr/bin/mysqlcheck"]),
            ("tab", &["shop /srv/a", "shop cd /srv && b", "shop [ -x c ] && c"]),
        ] {
            assert!(asks(file, lines), "{file} {lines:?}");
        }
        for (file, lines) in [
            ("tab", &["/bin/true"][..]),
            ("crontab", &["backup --all"]),
            ("tab", &["mysql -e 'select 1'", "git pull", "root"]),
            ("tab", &["php /srv/a.php", "php /srv/b.php", "php /srv/c.php"]),
            ("tab", &["cd /srv && a", "cd /srv && b", "cd /srv && c"]),
            ("tab", &["backup.sh /srv/a", "backup.sh /srv/b", "backup.sh /srv/c"]),
            ("tab", &[]),
        ] {
            assert!(!asks(file, lines), "{file} {lines:?}");
        }
    }
}
