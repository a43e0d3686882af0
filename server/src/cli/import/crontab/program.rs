//! Derives names from commands: from their programs, with more words if a name is taken.

use std::iter::from_fn;

use super::wrapper::wrapper;
use crate::commands::secrets::is_secret;

/// Maximum number of words in a name.
const MAX_WORDS: usize = 4;
/// Maximum number of words that are compared to tell two commands apart.
const MAX_ALL_WORDS: usize = 12;

/// Possible names, shortest first: the program, then with its first arguments, then with its
/// options, and finally with the words after the command.
pub(super) fn names(command: &str) -> Vec<String> {
    let behind_cd = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&"));
    let command = behind_cd.map_or(command, |(_, rest)| rest);
    let mut rest = command;
    let mut words = from_fn(|| next(&mut rest).map(|(word, _)| word)).peekable();
    let mut program = "job".to_owned();
    while let Some(word) = words.next() {
        let Some(name) = plain(word) else { continue };
        let found = wrapper(&name);
        program = name;
        match found {
            Some(wrapper) => wrapper.skip(&mut words),
            None => break,
        }
    }
    drop(words);
    let (own, behind) = arguments(rest);
    let mut all = vec![program.clone()];
    longer(&mut all, own.iter().filter_map(|word| plain(word)).take(MAX_WORDS - 1));
    let own: Vec<String> = own.iter().filter_map(|word| full(word)).collect();
    let with_options = [&[program], &own[..own.len().min(MAX_ALL_WORDS)]].concat().join("-");
    if !all.contains(&with_options) {
        all.push(with_options);
    }
    longer(&mut all, behind.iter().filter_map(|word| plain(word)).take(MAX_WORDS - 1));
    all
}

/// Adds the last name with one more word, two more words, and so on.
fn longer(all: &mut Vec<String>, words: impl Iterator<Item = String>) {
    for word in words {
        let longer = all.last().map(|name| format!("{name}-{word}"));
        all.extend(longer);
    }
}

/// The words of a simple command, and those of the redirections and commands after it. A word after
/// an option or header for a credential is left out: `--token hush`, `-u me:hush`.
fn arguments(mut text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut own, mut behind, mut is_own) = (Vec::new(), Vec::new(), true);
    let (mut is_credential, mut is_login) = (false, false);
    loop {
        is_own &= !text.trim_start().starts_with(END);
        let Some((word, end)) = next(&mut text) else { return (own, behind) };
        // The word is the file descriptor of a redirection.
        let is_file = end == Some('>') && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_next = word.starts_with('-') || word.contains("://");
        is_credential &= is_own && !is_next;
        let has_password = is_login && !is_next && word.contains(':');
        if !is_file && !is_credential && !has_password {
            if is_own { own.push(word) } else { behind.push(word) }
        }
        let announces = word.starts_with("--") && !word.contains('=') || word.ends_with(':');
        is_credential |= announces && is_secret(word.trim_matches(['-', ':']));
        is_login = LOGINS.contains(&word.trim_start_matches('-')) && word.starts_with('-');
    }
}

/// The options, without hyphens, that take a name and a password: `me:hush`.
const LOGINS: [&str; 4] = ["u", "U", "user", "proxy-user"];
/// The characters that end a simple command.
const END: [char; 5] = [';', '|', '&', '<', '>'];
/// The characters that end a word.
const BREAKS: [char; 12] = [' ', '\t', ';', '|', '&', '<', '>', '(', ')', '"', '\'', '`'];

/// Takes the next word off a text, with the character that ends it.
fn next<'a>(text: &mut &'a str) -> Option<(&'a str, Option<char>)> {
    let rest = text.trim_start_matches(BREAKS);
    let end = rest.find(BREAKS).unwrap_or(rest.len());
    let (word, behind) = rest.split_at(end);
    *text = behind;
    (!word.is_empty()).then(|| (word, behind.chars().next()))
}

/// A word that describes the command: not an option, assignment, number or symbol.
fn plain(word: &str) -> Option<String> {
    let is_option = word.starts_with(['-', '[', ']', '{', '}', '!', '\\', '$']);
    let is_address = word.contains("://");
    let is_assignment = word.contains('=') && !is_address;
    let path = word.trim_end_matches('/');
    let name = if is_address { place(path) } else { last(path).to_owned() };
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let says = !is_option && !is_assignment && !is_number && name != "null";
    says.then_some(name)
}

/// A word that may be part of a name to distinguish two commands: options and numbers are allowed,
/// but no word that may be a credential.
fn full(word: &str) -> Option<String> {
    if let Some(name) = plain(word) {
        return Some(name);
    }
    if word.contains("://") || word.starts_with(['[', ']', '{', '}', '!', '\\', '$']) {
        return None;
    }
    let option = word.trim_start_matches('-');
    if let Some((name, value)) = option.split_once('=') {
        let has_password = LOGINS.contains(&name) && value.contains(':');
        let shown = if has_password || is_secret(name) {
            name.to_owned()
        } else {
            format!("{name}-{}", last(value))
        };
        return Some(shown);
    }
    // A value directly after a short option may be a password: `-ps3cret`.
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let is_letters = option.len() <= 3 && option.bytes().all(|byte| byte.is_ascii_alphabetic());
    let shown = match option.chars().next() {
        Some(letter) if is_short && !is_letters && !letter.is_ascii_digit() => letter.to_string(),
        _ => option.to_owned(),
    };
    (!shown.is_empty()).then_some(shown)
}

/// The host and the end of the path of a URL. Its query is left out, because it may contain tokens.
fn place(address: &str) -> String {
    let bare = address.split(['?', '#']).next().unwrap_or(address);
    let rest = bare.split_once("://").map_or(bare, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    let end = last(path.trim_end_matches('/'));
    if end.is_empty() { host.to_owned() } else { format!("{host}-{end}") }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_called_as_the_program_that_it_runs() {
        for (command, expected) in [
            ("/usr/local/bin/backup.sh --full", "backup.sh"),
            ("cd / && run-parts --report /etc/cron.hourly", "run-parts"),
            ("nice -n 19 /opt/report", "report"),
            ("FOO=1 ./x", "x"),
            ("[ -x /bin/true ] && true", "true"),
            ("/usr/bin/php /var/www/shop/cron.php", "cron.php"),
            ("php", "php"),
            ("123", "job"),
        ] {
            assert_eq!(names(command)[0], expected, "{command}");
        }
        assert_eq!(
            names("php artisan schedule:run --env=x >> /dev/null 2>&1"),
            ["artisan", "artisan-schedule:run", "artisan-schedule:run-env-x"]
        );
        assert_eq!(
            names("curl -s https://me:pw@example.org/cron/daily?token=s3cret"),
            ["curl", "curl-example.org-daily", "curl-s-example.org-daily"]
        );
    }

    #[test]
    fn the_arguments_of_wrappers_are_no_names() {
        for command in [
            "flock -n /tmp/l /usr/local/bin/sync.sh",
            "/usr/bin/flock -xnw 10 /tmp/l -c '/usr/local/bin/sync.sh --all'",
            "flock --timeout=5 /tmp/l.lock timeout -k 5s 10m nice -n19 ionice -c 3 ./sync.sh",
            "timeout --signal KILL 30m sync.sh",
            "env -i -u HOME LANG=C nice -10 sync.sh",
            "sudo -u shop -H -- /srv/sync.sh",
            "sudo -nu shop env A=b sync.sh",
            "su - shop -c 'cd /srv/shop && ./sync.sh'",
            "chronic bash -o pipefail -lc \"/srv/sync.sh | logger\"",
            "systemd-cat -t sync chrt -i 0 sync.sh",
            "/usr/bin/php8.2 -d memory_limit=1G -c /etc/php.ini sync.sh",
            "cd /srv; ./sync.sh",
            "sshpass -p hush ./sync.sh",
            "java -cp /srv/lib -Xmx1g sync.sh",
            "( flock -n 9 || exit 1; sync.sh ) 9>/tmp/lock",
        ] {
            assert_eq!(names(command)[0], "sync.sh", "{command}");
        }
        assert_eq!(names("flock -n")[0], "flock");
    }

    #[test]
    fn commands_with_other_words_have_other_names() {
        let told_apart = |first: &str, second: &str| {
            let taken = names(first).swap_remove(0);
            names(second).into_iter().find(|name| *name != taken)
        };
        for (first, second, expected) in [
            ("php b.php", "php b.php --x", Some("b.php-x")),
            ("a.sh", "a.sh 2", Some("a.sh-2")),
            ("a.sh", "a.sh -v", Some("a.sh-v")),
            ("a.sh", "a.sh --at=/srv/eu", Some("a.sh-at-eu")),
            ("a.sh", "a.sh --password=hush", Some("a.sh-password")),
            ("a.sh", "a.sh -phush", Some("a.sh-p")),
            ("a.sh", "a.sh --password hush", Some("a.sh-password")),
            ("curl", "curl -H 'Password: Basic hush' https://a", Some("curl-Password:")),
            ("curl", "curl -u me:hush https://a", Some("curl-a")),
            ("curl", "curl --user=me:hush", Some("curl-user")),
            ("a.sh", "a.sh -u me b:c", Some("a.sh-me")),
            ("a.sh", "a.sh > /srv/b.log", Some("a.sh-b.log")),
            ("a.sh", "a.sh 2>&1", None),
            ("a.sh", "a.sh >/dev/null 2>&1", None),
        ] {
            assert_eq!(told_apart(first, second).as_deref(), expected, "{second}");
        }
    }
}
