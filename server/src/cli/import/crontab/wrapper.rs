//! Programs that start another program or read another file, from which a name is then derived.

use std::iter::Peekable;

/// A wrapper's own arguments, which precede the program.
pub(super) struct Wrapper {
    /// The options whose value is the next word.
    values: &'static [&'static str],
    /// The number of words that follow the options: a lock file, a duration.
    operands: usize,
}

/// The wrapper with this name, possibly followed by a version: `python3.11`.
pub(super) fn wrapper(name: &str) -> Option<Wrapper> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (values, operands): (&[&str], usize) = match bare {
        "cd" => (&[], 1),
        "flock" => (&["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"], 1),
        "timeout" => (&["-s", "--signal", "-k", "--kill-after"], 1),
        "lockf" => (&["-t"], 1),
        "setlock" | "lckdo" | "taskset" => (&[], 1),
        "chrt" => (&["-T", "-P", "-D"], 1),
        "nice" => (&["-n", "--adjustment"], 0),
        "ionice" => (&["-c", "--class", "-n", "--classdata"], 0),
        "cpulimit" => (&["-l", "--limit"], 0),
        "env" => (&["-u", "--unset", "-C", "--chdir"], 0),
        "sudo" => (
            &[
                "-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-r",
                "-t", "-T", "-U", "-D", "--chdir", "-R",
            ],
            0,
        ),
        "doas" => (&["-u", "-C"], 0),
        "sshpass" => (&["-p", "-f", "-d", "-P"], 0),
        "su" => (&["-s", "--shell", "-g", "-G", "-w"], 1),
        "runuser" => (&["-u", "--user", "-g", "-G", "-s", "--shell", "-l"], 0),
        "time" => (&["-f", "--format", "-o", "--output"], 0),
        "stdbuf" => (&["-i", "-o", "-e"], 0),
        "systemd-cat" => (&["-t", "--identifier", "-p", "--priority"], 0),
        "systemd-run" => (&["-u", "--unit", "-p", "--property"], 0),
        "xvfb-run" => (&["-s", "--server-args", "-n", "--server-num", "-e", "-f"], 0),
        "chpst" => (&["-u", "-U", "-b", "-e", "-d", "-l", "-L", "-m", "-n"], 0),
        "bash" | "sh" | "zsh" | "dash" | "ash" | "ksh" => (&["-o", "-O", "--rcfile"], 0),
        "php" => (&["-d", "--define", "-c", "--php-ini"], 0),
        "python" | "pypy" => (&["-W", "-X"], 0),
        "ruby" => (&["-I", "-r"], 0),
        "perl" => (&["-I"], 0),
        "node" | "nodejs" => (&["-r", "--require", "--import", "--env-file"], 0),
        "java" => (&["-cp", "-classpath", "--class-path", "-p", "--module-path"], 0),
        "nohup" | "exec" | "test" | "source" | "command" | "chronic" | "cronic" | "setsid"
        | "systemd-inhibit" | "unbuffer" | "eatmydata" | "run-one" | "caffeinate" | "if"
        | "then" | "exit" => (&[], 0),
        _ => return None,
    };
    Some(Wrapper { values, operands })
}

impl Wrapper {
    /// Skips the wrapper's own options and operands, up to the program.
    pub(super) fn skip<'a>(&self, words: &mut Peekable<impl Iterator<Item = &'a str>>) {
        while let Some(option) = words.next_if(|word| word.starts_with('-')) {
            if option == "--" {
                break;
            }
            if self.takes_next(option) {
                words.next();
            }
        }
        for _ in 0..self.operands {
            words.next();
        }
    }

    /// Whether the value of an option is the next word. The option is alone, or the last one of
    /// several letters.
    fn takes_next(&self, option: &str) -> bool {
        let is_long = option.starts_with("--");
        let takes = |letter: char| self.values.contains(&&*format!("-{letter}"));
        let first = option[1..].find(|letter| !is_long && takes(letter));
        self.values.contains(&option) || first.is_some_and(|at| option.len() == at + 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flags_value_is_the_next_word_or_follows_its_letter() {
        let flock = wrapper("flock").unwrap();
        for (option, next) in
            [("-w", true), ("-nw", true), ("-w5", false), ("-n", false), ("--wait=5", false)]
        {
            assert_eq!(flock.takes_next(option), next, "{option}");
        }
    }
}
