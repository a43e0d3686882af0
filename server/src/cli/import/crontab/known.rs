//! Words whose meaning is known: accounts of machines, and programs.

/// Names of accounts that are not also names of programs.
const ACCOUNTS: [&str; 34] = [
    "root",
    "www-data",
    "nobody",
    "daemon",
    "apache",
    "wwwrun",
    "_apt",
    "ubuntu",
    "debian",
    "ec2-user",
    "centos",
    "pi",
    "vagrant",
    "admin",
    "jenkins",
    "tomcat",
    "zabbix",
    "asterisk",
    "smmsp",
    "logcheck",
    "munin",
    "amavis",
    "clamav",
    "list",
    "sys",
    "gitlab-www",
    "gitlab-psql",
    "vmail",
    "librenms",
    "moodle",
    "nextcloud",
    "mediawiki",
    "nfsnobody",
    "_www",
];

/// Accounts whose names are also programs that only take options.
const DAEMONS: [&str; 9] =
    ["postgres", "nginx", "redis", "mongodb", "prometheus", "oracle", "nagios", "icinga", "httpd"];

/// Accounts whose names are also programs that take words, so that the next word proves nothing.
const EITHER: [&str; 11] = [
    "mail", "mysql", "git", "backup", "news", "man", "deploy", "proxy", "games", "http", "postfix",
];

/// Programs of `EITHER` that usually take a word, which differs between entries.
const TAKE_WORDS: [&str; 5] = ["mail", "mysql", "git", "man", "http"];

/// Programs whose first argument is another program or a file, so that many entries may begin with
/// the same program. None of them is a user.
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

/// More programs that may precede a path or follow a user, by purpose. Some are also names of
/// accounts, so only `PROGRAMS` can rule out a user.
const MORE_PROGRAMS: [&str; 8] = [
    // Shells, their words, and interpreters.
    "ash awk busybox bun csh deno dotnet elixir erl expect fish gawk go groovy guile if jq julia \
     kotlin ksh lua luajit mono nodejs octave osascript pwsh racket rscript runhaskell sbcl scala \
     sed swift tclsh tcsh true ts-node tsx uv wine export set umask until while for wait sleep \
     printf eval trap ulimit pypy",
    // Wrappers of other programs.
    "batch caffeinate chpst choom chronic chrt cpulimit cronic cronlock dbus-run-session doas \
     eatmydata envdir lckdo lockf lockrun numactl parallel proxychains renice run-one runuser \
     screen script setlock setsid setuidgid softlimit solo stdbuf strace su systemd-cat \
     systemd-inhibit systemd-run taskset tmux trickle ts unbuffer watch with-lock-ex xargs \
     xvfb-run healthchecks runitor cronitor sentry-cli",
    // Files.
    "bunzip2 bzip2 chgrp chmod chown cpio dd df diff du fstrim fuser gunzip gzip head inotifywait \
     install less ln ls lz4 md5sum mkdir mkfifo mount mountpoint pigz readlink realpath rmdir \
     scp sftp sha1sum sha256sum shred sort split stat sync tail tee tmpreaper tmpwatch tree \
     truncate umount unlink unzip updatedb wc xz zcat zip zstd 7z grep zgrep",
    // Backups and copies.
    "attic autopostgresqlbackup aws az azcopy b2 bacula borg borgmatic bup duplicati duplicity \
     duply gcloud gsutil hbackup kopia lftp mc ncftpput proxmox-backup-client rclone \
     rdiff-backup restic rsnapshot s3cmd s5cmd syncoid sanoid tarsnap unison zfs btrfs snapper",
    // Databases.
    "mariadb mariadb-dump mongo mongodump mongoexport mongoimport mongosh mysqladmin mysqlcheck \
     mysqldump mysqlimport mysqlshow pg_basebackup pg_dump pg_dumpall pg_repack pg_restore \
     pgbackrest psql redis-cli reindexdb repmgr sqlcmd sqlite sqlite3 sqlplus vacuumdb \
     clickhouse-client cqlsh influx rman expdp barman wal-g",
    // System administration.
    "anacron apt apt-get apt-mirror at certbot chef-client crontab dnf fail2ban-client ip iptables \
     kill killall kubectl logger logrotate logwatch lsof modprobe nmap pkill ping \
     podman puppet reboot salt-call service shutdown ss ssh sysctl systemctl snap flatpak \
     ansible-playbook ansible terraform helm docker-compose nerdctl lxc virsh acme.sh dehydrated \
     hdparm smartctl tripwire aide rkhunter freshclam clamscan clamdscan sa-learn sa-update yum",
    // Development.
    "artisan bazel bundle cargo composer drush gem gradle magento make mix mvn npm npx \
     pip pipenv pnpm poetry pm2 rails rake sbt stack symfony terminus tox wp yarn conda mamba \
     jupyter papermill nix-shell ghc dbt",
    // Documents, pictures, sound and mail.
    "aplay convert cvlc emacs exiftool feh ffmpeg fetchmail getmail gnuplot gpg hledger identify \
     latexmk ledger mailx mbsync mogrify mpg123 mplayer mpv msmtp mutt newsboat notify-send \
     offlineimap openssl pandoc paplay pdflatex sendmail streamlink tesseract vim webalizer \
     goaccess awstats wkhtmltopdf xdg-open yt-dlp youtube-dl gallery-dl gsettings imapsync notmuch",
];

/// The meaning of a name as the sixth word of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserCertainty {
    /// The word is a user, whatever word follows.
    Always,
    /// The word is a user, unless an option follows.
    UnlessOption,
    /// The word is a user if a program follows.
    BeforeProgram {
        /// Whether the name is also a user if it occurs in several entries with different words
        /// after it.
        counts_when_common: bool,
    },
}

/// The account with this name, if it is a common one.
pub(super) fn account(name: &str) -> Option<UserCertainty> {
    if ACCOUNTS.contains(&name) {
        Some(UserCertainty::Always)
    } else if DAEMONS.contains(&name) {
        Some(UserCertainty::UnlessOption)
    } else if EITHER.contains(&name) {
        let counts_when_common = !TAKE_WORDS.contains(&name);
        Some(UserCertainty::BeforeProgram { counts_when_common })
    } else {
        None
    }
}

/// Whether `word`, although it is a program's name, is an argument of the program `account`.
pub(super) fn is_argument(account: &str, word: &str) -> bool {
    match account {
        "git" => ["bundle", "diff", "grep", "mv", "rm"].contains(&word),
        // A common name of a database.
        "mysql" => word == "test",
        _ => false,
    }
}

/// Whether a word is a program and not a user.
pub(super) fn is_only_program(word: &str) -> bool {
    PROGRAMS.contains(&word)
}

/// Whether a word is a common program, possibly followed by a version: `python3.11`.
pub(super) fn is_program(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let bare = bare.strip_suffix('-').unwrap_or(bare);
    let mut more = MORE_PROGRAMS.iter().flat_map(|words| words.split(' '));
    PROGRAMS.contains(&&*word)
        || PROGRAMS.contains(&bare)
        || more.any(|known| known == word || known == bare)
}
