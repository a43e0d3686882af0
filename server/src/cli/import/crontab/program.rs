//! Derives names from commands: from what they do, with more words if a name is taken.

/// Programs that start another program or read another file: the name is derived from that one.
const BEFORE: [&str; 30] = [
    "nice", "ionice", "nohup", "env", "exec", "sudo", "time", "timeout", "flock", "bash", "sh",
    "zsh", "test", "php", "php7.4", "php8", "python", "python2", "python3", "perl", "ruby", "node",
    "java", "source", "command", "chronic", "cronic", "setsid", "if", "then",
];

/// The largest number of words in a name.
const MAX_WORDS: usize = 4;

/// Names, the shortest first: the program, then the program with its first arguments.
pub(super) fn names(command: &str) -> Vec<String> {
    let behind_cd = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&"));
    let command = behind_cd.map_or(command, |(_, rest)| rest);
    let mut all: Vec<String> = Vec::new();
    let mut words = words(command);
    let mut last = "job".to_owned();
    for word in words.by_ref() {
        let is_before = BEFORE.contains(&word.as_str());
        last = word;
        if !is_before {
            break;
        }
    }
    all.push(last);
    for word in words.take(MAX_WORDS - 1) {
        let longer = all.last().map(|name| format!("{name}-{word}"));
        all.extend(longer);
    }
    all
}

/// The words of a command that say what it does: without options, assignments, numbers and symbols.
fn words(command: &str) -> impl Iterator<Item = String> + '_ {
    let words = command.split([' ', '\t', ';', '|', '&', '(', ')', '<', '>', '"', '\'', '`']);
    words.filter_map(|word| {
        let is_option = word.starts_with(['-', '[', ']', '{', '}', '!', '\\', '$']);
        let is_address = word.contains("://");
        let is_assignment = word.contains('=') && !is_address;
        let path = word.trim_end_matches('/');
        let name = if is_address { place(path) } else { last(path).to_owned() };
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let says = !is_option && !is_assignment && !is_number && name != "null" && name != "&1";
        says.then_some(name)
    })
}

/// The host and the end of the path of a URL: queries may contain tokens.
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
            ["artisan", "artisan-schedule:run"]
        );
        assert_eq!(
            names("curl -s https://me:pw@example.org/cron/daily?token=s3cret"),
            ["curl", "curl-example.org-daily"]
        );
    }
}
