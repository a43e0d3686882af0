//! Environment variables that determine which code a program runs: where it finds its libraries,
//! what else it loads or starts, and the options of its interpreter.

/// The names of such variables.
const NAMES: &str = "\
    PATH HOME SHELL ENV IFS PS4 SHELLOPTS FPATH ZDOTDIR CDPATH PROMPT_COMMAND \
    EDITOR VISUAL PAGER BROWSER MANPAGER LESSOPEN LESSCLOSE VIMINIT EXINIT SCREENRC \
    GCONV_PATH GLIBC_TUNABLES OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES \
    NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE \
    _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS GRADLE_USER_HOME \
    DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE DOTNET_ROOT \
    PHPRC PHP_INI_SCAN_DIR TCLLIBPATH TCL_LIBRARY EMACSLOADPATH AWKPATH AWKLIBPATH \
    R_HOME R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER R_LIBS R_LIBS_SITE R_LIBS_USER \
    GOFLAGS GODEBUG GOROOT GOPATH ELIXIR_ERL_OPTIONS \
    MAKEFLAGS MAKEFILES GNUMAKEFLAGS TAR_OPTIONS CVS_RSH HGRCPATH SSH_ASKPASS SUDO_ASKPASS \
    BORG_RSH BORG_PASSCOMMAND BORG_REMOTE_PATH RESTIC_PASSWORD_COMMAND RCLONE_PASSWORD_COMMAND \
    KUBECONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE CURL_HOME WGETRC SYSTEM_WGETRC \
    PSQLRC PSQL_EDITOR PSQL_PAGER PSQL_WATCH_PAGER MYSQL_HOME GTK_MODULES QT_PLUGIN_PATH \
    SASL_PATH SASL_CONF_PATH LIBMYSQL_PLUGINS LIBMYSQL_PLUGIN_DIR KRB5_CONFIG ODBCSYSINI \
    ODBCINSTINI";

/// Prefixes of further such variables.
const PREFIXES: [&str; 24] = [
    "LD_",
    "DYLD_",
    "BASH",
    "XDG_",
    "PERL",
    "PYTHON",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "JAVA_",
    "CORECLR_",
    "COR_",
    "LUA_",
    "ERL_",
    "GUILE_",
    "JULIA_",
    "npm_config_",
    "NPM_CONFIG_",
    "GIT_",
    "RSYNC_",
    "ANSIBLE_",
    "HELM_",
    "DOCKER_",
    "CARGO_",
];

/// Whether a task that sets this variable could make a program run other code.
pub(crate) fn leads_elsewhere(name: &str) -> bool {
    NAMES.split_ascii_whitespace().any(|known| known == name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether one of the patterns matches the variable. A pattern is a full name, or a prefix followed
/// by `*`.
pub(super) fn is_allowed(name: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_interpreters_lead_elsewhere_and_those_of_programs_do_not() {
        for name in [
            "PATH",
            "HOME",
            "LD_PRELOAD",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "PERL5OPT",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_KEY_0",
            "GCONV_PATH",
            "npm_config_node_options",
        ] {
            assert!(leads_elsewhere(name), "{name}");
        }
        for name in
            ["TZ", "LANG", "LC_ALL", "NODE_ENV", "PGHOST", "TARGET", "MODE", "PATHS", "path"]
        {
            assert!(!leads_elsewhere(name), "{name}");
        }
    }

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        let patterns = ["HOME".to_owned(), "GIT_AUTHOR_*".to_owned()];
        assert!(is_allowed("HOME", &patterns) && is_allowed("GIT_AUTHOR_NAME", &patterns));
        assert!(!is_allowed("HOMES", &patterns) && !is_allowed("GIT_SSH", &patterns));
        assert!(is_allowed("LD_PRELOAD", &["*".to_owned()]) && !is_allowed("TZ", &[]));
    }
}
