//! Every setting is in the documentation, and in the example file.

use std::{collections::BTreeSet, fs, path::PathBuf};

use carillon::config::Config;
use serde_json::{Value, json};

use crate::support::Command;

pub(crate) fn repository(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A name that no setting has.
const NONE: &str = "?";

/// All settings by their dotted names. The test finds them by an unknown name in each table: the
/// binary refuses it with a list of the existing names. Any other refusal means that the name is
/// not a table.
pub(crate) fn settings() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut tables = vec![Vec::<String>::new()];
    while let Some(table) = tables.pop() {
        let mut asked = json!({ NONE: 0 });
        for name in table.iter().rev() {
            asked = json!({ name: asked });
        }
        let refused = serde_json::from_value::<Config>(asked).unwrap_err().to_string();
        let Some(names) = refused.strip_prefix("unknown field `?`, expected ") else {
            found.insert(table.join("."));
            continue;
        };
        let names = names.split('`').skip(1).step_by(2);
        tables.extend(names.map(|name| [&table[..], &[name.to_owned()]].concat()));
    }
    found
}

#[test]
fn every_setting_is_documented() {
    let settings = settings();
    assert!(settings.contains("listen") && settings.contains("database.url"), "{settings:?}");
    let text = repository("docs/configuration.md");
    // Rows of the table begin with the settings that they describe.
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let named: BTreeSet<&str> =
        cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `")).collect();
    let is_of = |name: &str, setting: &str| {
        name == setting || name.strip_prefix(setting).is_some_and(|rest| rest.starts_with('.'))
    };
    let missing: Vec<_> =
        settings.iter().filter(|setting| !named.iter().any(|name| is_of(name, setting))).collect();
    assert!(missing.is_empty(), "docs/configuration.md has no row for {missing:?}");
    let gone: Vec<_> =
        named.iter().filter(|name| !settings.iter().any(|setting| is_of(name, setting))).collect();
    assert!(gone.is_empty(), "docs/configuration.md has what is not a setting: {gone:?}");
}

#[test]
fn the_example_has_every_setting_with_its_default() {
    let text = repository("assets/carillon.toml");
    // `#` directly before a text marks a setting; `# ` marks prose.
    let uncommented: String = text
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    let values: Value = toml::from_str(&uncommented).unwrap();
    let given: BTreeSet<String> = leaves(&values, "").into_iter().collect();
    assert_eq!(given, settings(), "assets/carillon.toml and the settings differ");
    let mut config: Config = toml::from_str(&uncommented).unwrap();
    // Without a provider, these settings do not exist.
    assert!(config.oidc.take().is_some());
    // `Debug` shows every value except passwords. Settings without a default have an example, which
    // is marked as one.
    let defaults = shown(&Config::default());
    for (line, default) in shown(&config).lines().zip(defaults.lines()) {
        let has_no_default = default.contains("None") || line.contains("Some(");
        assert!(line == default || has_no_default, "{line} is not a default, but {default}");
    }
    for name in ["public_url", "redis_url", "ca_file", "endpoint", "dist"] {
        let place = uncommented.find(&format!("\n{name} = ")).unwrap();
        let before = uncommented[..place].lines().last().unwrap();
        assert!(before.ends_with("(No default.)"), "{name}: {before}");
    }
    // The shipped example file is accepted by the binary, and changes nothing.
    let command = Command::new(&["migrate", "--status", "--config", "example.toml"]);
    command.file("example.toml", &text).run().done();
}

#[test]
fn a_variable_of_digits_is_a_text_where_one_is_wanted() {
    let takes_text = |name: &&String| {
        let asked = name.rsplit('.').fold(json!("0042"), |inner, part| json!({ part: inner }));
        let refused = serde_json::from_value::<Config>(asked).err();
        refused.is_none_or(|error| error.to_string().starts_with("missing field"))
    };
    let all = settings();
    let mut command = Command::new(&["migrate", "--status"]);
    let mut given = 0;
    for name in all.iter().filter(takes_text).filter(|name| *name != "database.url") {
        let variable = format!("CARILLON_{}", name.to_uppercase().replace('.', "__"));
        command = command.env(&variable, "0042");
        given += 1;
    }
    assert!(given > 20, "{given}");
    // The command reads the file; the later refusal concerns its content.
    let refused = command.run().refused(1);
    assert!(refused.starts_with("failed to use the configuration: "), "{refused}");

    // The file with its zeros is accepted unchanged.
    let status = || Command::new(&["migrate", "--status"]);
    let refused = status().env("CARILLON_DATABASE__URL", "0042").run().refused(1);
    assert!(refused.contains("0042"), "{refused}");
    let refused = status().env("CARILLON_NODE__CAPACITY", "many").run().refused(1);
    assert!(refused.contains("node.capacity") && refused.contains("environment"), "{refused}");
    status().env("CARILLON_NODE__CAPACITY", "7").run().done();
}

/// Each setting on its own line, so that two configurations can be compared line by line.
fn shown(config: &Config) -> String {
    format!("{config:?}").replace(", ", "\n")
}

fn leaves(value: &Value, path: &str) -> Vec<String> {
    let Value::Object(table) = value else { return vec![path.to_owned()] };
    if table.is_empty() {
        return vec![path.to_owned()];
    }
    let below = |(name, value): (&String, &Value)| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        leaves(value, &path)
    };
    table.iter().flat_map(below).collect()
}
