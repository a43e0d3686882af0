use chrono::{DateTime, Datelike, Utc};
use nix::{
    sys::resource::{Resource, getrlimit},
    unistd::Uid,
};
use timetable::ZoneData;

use super::Finding;
use crate::{
    config::{self, Config},
    target::programs_user,
};

/// Zone data this many years old is outdated for some zone, because zone rules change several times
/// a year.
const OLD_YEARS: i32 = 2;
/// The default number of runs that a node works on.
const CAPACITY: u64 = 512;
/// Files of one command: three pipes and two files. A request has only a socket.
const FILES_OF_COMMAND: u64 = 5;
/// Files for everything except runs and database connections, such as browsers and tools.
const FILES_BESIDE: u64 = 256;

/// Reports which zone data is in use, and whether it is plausible for the current time.
pub(super) fn zone_data(data: &ZoneData, now: DateTime<Utc>) -> Finding {
    const CHECK: &str = "zone data";
    let ZoneData { version, source } = data;
    let found = format!("{version}, {source}: the newest on this machine");
    let digits = version.trim_end_matches(|c: char| !c.is_ascii_digit());
    let Ok(year) = digits.parse::<i32>() else {
        let help = "bring the tzdata package up to date";
        return Finding::warning(CHECK, format!("its version '{version}' is not valid"), help);
    };
    if now.year() < year {
        let found = format!("it is of {year}, but this machine's clock shows {}", now.year());
        return Finding::error(CHECK, found, "set the clock: let it follow a time server");
    }
    if now.year() - year >= OLD_YEARS {
        let help = "bring the tzdata package up to date; the rules of some zones have changed \
                    since";
        return Finding::warning(CHECK, found, help);
    }
    Finding::ok(CHECK, found)
}

/// The privileges with which schedules run programs.
pub(super) fn commands(config: &Config) -> Finding {
    const CHECK: &str = "commands";
    if !config.allow_commands {
        return Finding::ok(CHECK, "schedules may not run programs here (allow_commands)");
    }
    let commands = &config.commands;
    let mut of_namespaces = commands.user_of.iter();
    let wrong = of_namespaces.find_map(|(namespace, name)| {
        programs_user(Some(name)).err().map(|error| error.of_namespace(namespace))
    });
    let user = wrong.map_or_else(|| programs_user(commands.user.as_deref()), Err);
    let user = match user {
        Ok(user) => user,
        Err(error) => {
            let found = format!("failed to {error}");
            return Finding::error(CHECK, found, "the server does not start with this setting");
        }
    };
    let finding = judge_user(user.as_deref(), Uid::effective(), &allowed(commands));
    match judge_variables(commands) {
        Some(told) if finding.level == super::Level::Ok => told,
        Some(_) | None => finding,
    }
}

/// Finds problems in the list of variables that tasks may set for listed programs.
fn judge_variables(commands: &config::Commands) -> Option<Finding> {
    if commands.programs.is_empty() || !commands.variables.iter().any(|name| name == "*") {
        return None;
    }
    let found = "tasks may start listed programs only, but set any variable, and many lead a \
                 program to other code (commands.variables)";
    Some(Finding::warning("commands", found, "list the variables that tasks need"))
}

/// Describes whose tasks may run programs, and which programs.
fn allowed(commands: &config::Commands) -> String {
    let mut said = commands.namespaces.join(", ");
    match commands.programs.len() {
        0 => {}
        1 => said += ", only the one that commands.programs lists",
        more => said += &format!(", only the {more} that commands.programs lists"),
    }
    if !commands.user_of.is_empty() {
        let users = commands.user_of.iter().map(|(namespace, user)| format!("{namespace}: {user}"));
        said += &format!(" (as users of their own: {})", users.collect::<Vec<_>>().join(", "));
    }
    said
}

fn judge_user(user: Option<&str>, own: Uid, namespaces: &str) -> Finding {
    const CHECK: &str = "commands";
    let allowed = format!("tasks of these namespaces may run programs here: {namespaces}");
    match user {
        Some(user) => Finding::ok(CHECK, format!("{allowed}; they run as the user '{user}'")),
        None => {
            let found = format!("{allowed}; they run as the server's own user, {own}");
            let help = "run the server as root, which starts them as commands.user; as it is, \
                        people who may edit tasks can read the server's files and database";
            Finding::warning(CHECK, found, help)
        }
    }
}

/// Whether the open-file limit is high enough.
pub(super) fn open_files(config: &Config) -> Finding {
    const CHECK: &str = "open files";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) => judge_files(soft, needed_files(config)),
        Err(error) => {
            let found = format!("the limit cannot be read: {error}");
            Finding::warning(CHECK, found, "see 'ulimit -n'")
        }
    }
}

fn needed_files(config: &Config) -> u64 {
    let runs = config.node.capacity.map_or(CAPACITY, u64::from);
    let each = if config.allow_commands { FILES_OF_COMMAND } else { 1 };
    runs * each + u64::from(config.database.connections) + FILES_BESIDE
}

fn judge_files(may: u64, needed: u64) -> Finding {
    const CHECK: &str = "open files";
    if may < needed {
        let found = format!("{may} may be open at once, and {needed} may be needed");
        let help = "raise the limit (LimitNOFILE= of the systemd unit, 'ulimit -n'), or lower \
                    node.capacity";
        return Finding::warning(CHECK, found, help);
    }
    Finding::ok(CHECK, format!("{may} may be open at once, {needed} may be needed"))
}

#[cfg(test)]
mod tests {
    use timetable::ZoneSource;

    use super::{super::Level, *};

    #[test]
    fn zone_data_that_contradicts_the_clock_is_reported() {
        let level = |year: &str| {
            let data = ZoneData { version: year.to_owned(), source: ZoneSource::System };
            zone_data(&data, "2026-11-22T00:00:00Z".parse().unwrap()).level
        };
        assert_eq!(level("2026f"), Level::Ok);
        assert_eq!(level("2025b"), Level::Ok);
        assert_eq!(level("2024a"), Level::Warning);
        assert_eq!(level("2027a"), Level::Error);
        assert_eq!(level("unknown"), Level::Warning);
    }

    #[test]
    fn programs_with_the_servers_rights_are_reported() {
        let own = Uid::from_raw(1_000);
        assert_eq!(judge_user(None, own, "default").level, Level::Warning);
        assert_eq!(judge_user(Some("nobody"), own, "default").level, Level::Ok);
        assert_eq!(commands(&Config::default()).level, Level::Ok);
        let mut config = Config { allow_commands: true, ..Config::default() };
        config.commands.user = Some("root".to_owned());
        assert_eq!(commands(&config).level, Level::Error);
        config.commands.user = None;
        config.commands.user_of.insert("default".to_owned(), "root".to_owned());
        let found = commands(&config);
        assert_eq!(found.level, Level::Error);
        assert!(found.found.contains("commands.user_of.default"), "{found:?}");
    }

    #[test]
    fn a_list_of_programs_that_any_variable_leads_elsewhere_is_told() {
        let mut commands = config::Commands::default();
        assert_eq!(judge_variables(&commands), None);
        commands.programs = vec!["/usr/bin/perl".to_owned()];
        commands.variables = vec!["GIT_AUTHOR_*".to_owned()];
        assert_eq!(judge_variables(&commands), None);
        commands.variables = vec!["*".to_owned()];
        let found = judge_variables(&commands).unwrap();
        assert_eq!(found.level, Level::Warning);
        assert!(found.found.contains("commands.variables"), "{found:?}");
        assert_eq!(allowed(&commands), "default, only the one that commands.programs lists");
    }

    #[test]
    fn files_are_counted_for_runs_and_for_all_else() {
        let mut config = Config::default();
        assert_eq!(needed_files(&config), 512 + 10 + 256);
        config.allow_commands = true;
        assert_eq!(needed_files(&config), 2_560 + 10 + 256);
        assert_eq!(judge_files(1_024, needed_files(&config)).level, Level::Warning);
    }
}
