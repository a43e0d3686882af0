//! The groups of the help, with an example for each command.

/// Commands with a common purpose.
pub(super) struct CommandGroup {
    pub(super) title: &'static str,
    /// Name and example of each command, in the order of the help.
    pub(super) commands: &'static [(&'static str, &'static str)],
}

/// All groups; a test compares them with the definition.
pub(super) const GUIDE: &[CommandGroup] = &[
    CommandGroup {
        title: "See what is and what was",
        commands: &[
            ("schedules", "carillon schedules --search 'state:paused tag:billing'"),
            ("show", "carillon show nightly"),
            ("upcoming", "carillon upcoming --for 8h"),
            ("fires", "carillon fires --verdict missed --since 'yesterday 00:00'"),
            ("explain", "carillon explain nightly --at 'yesterday 02:00'"),
            ("runs", "carillon runs --state failed --limit 50"),
            ("run", "carillon run show 01997e4c-1111-7000-8000-000000000001"),
            ("logs", "carillon logs 01997e4c-1111-7000-8000-000000000001 --follow"),
            ("versions", "carillon versions nightly"),
            ("list", "carillon list workflows"),
            ("nodes", "carillon nodes"),
            ("workers", "carillon workers limit emails --max 10"),
            ("alerts", "carillon alerts list"),
            ("healthcheck", "carillon healthcheck --tag billing"),
        ],
    },
    CommandGroup {
        title: "Operate schedules",
        commands: &[
            ("trigger", "carillon trigger nightly --wait --reason 'the file came late'"),
            ("pause", "carillon pause nightly --until 'tomorrow 06:00' --reason stock-taking"),
            ("resume", "carillon resume nightly --catch-up latest"),
            ("skip-next", "carillon skip-next nightly --reason 'a holiday'"),
            ("buffer", "carillon buffer list nightly"),
            (
                "backfill",
                "carillon backfill create nightly --from '7d ago' --to today --reason 'lost reports'",
            ),
            ("bulk", "carillon bulk pause tag:billing --dry-run --reason 'a migration'"),
            ("note", "carillon note nightly 'ask Ada before you trigger it'"),
        ],
    },
    CommandGroup {
        title: "Change schedules",
        commands: &[
            (
                "create",
                "carillon create '{\"name\": \"hourly\", \"timing\": {\"expressions\": [\"@hourly\"]}, \"workflow\": \"report\"}'",
            ),
            ("change", "carillon change nightly '{\"overlap\": \"BUFFER_ONE\"}'"),
            ("rollback", "carillon rollback nightly --to 3 --reason 'a mistake'"),
            ("delete", "carillon delete schedule nightly"),
            ("deleted", "carillon deleted"),
            ("undelete", "carillon undelete nightly"),
            ("apply", "carillon apply billing.yaml --dry-run"),
            ("export", "carillon export --module billing"),
            ("import", "carillon import crontab /etc/crontab"),
        ],
    },
    CommandGroup {
        title: "Try timings, without a server",
        commands: &[
            ("preview", "carillon preview '30 2 * * *' --tz Europe/Berlin --count 3"),
            ("lint", "carillon lint '*/7 * * * *'"),
        ],
    },
    CommandGroup {
        title: "Sign in",
        commands: &[
            ("login", "carillon login https://carillon.example --user ada"),
            ("logout", "carillon logout"),
            ("profiles", "carillon profiles use staging"),
            ("feeds", "carillon feeds create work --user ada --search tag:billing"),
        ],
    },
    CommandGroup {
        title: "Run a server, and look after its database",
        commands: &[
            ("serve", "carillon serve --init-admin"),
            ("doctor", "carillon doctor --config /etc/carillon/carillon.toml"),
            ("upgrade", "carillon upgrade --check"),
            ("migrate", "carillon migrate --status"),
            ("backup", "carillon backup --to /var/backups"),
            ("restore", "carillon restore /var/backups/carillon-20261126T020000Z.db"),
            ("retention", "carillon retention --dry-run"),
        ],
    },
    CommandGroup {
        title: "Say who may do what, beside the database",
        commands: &[
            ("user", "carillon user add ada --role operator"),
            ("member", "carillon member add ada --namespace billing --role editor"),
            ("namespace", "carillon namespace create billing"),
            ("token", "carillon token create ci --role editor --expires-in 90d"),
            ("secret", "carillon secret list"),
            ("audit", "carillon audit --actor ada --after 7d"),
        ],
    },
    CommandGroup {
        title: "For other tools",
        commands: &[
            ("schema", "carillon schema --module"),
            ("completions", "carillon completions bash"),
            ("man", "carillon man /usr/local/share/man/man1"),
        ],
    },
];
