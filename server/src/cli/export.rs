use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{CliError, client::Server, modules, output};
use crate::commands::FileFormat;

/// Export existing definitions as module files
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    server: Server,
    /// Namespace to export
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Only what this module declares
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// Only schedules that match this search, and the objects that they refer to; see
    /// docs/search.md
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
    search: Option<String>,
    /// Name of the module for objects that were created by hand
    #[arg(long, value_name = "NAME", default_value = "exported")]
    name: String,
    /// Format of the files
    #[arg(long, value_enum, default_value = "yaml")]
    format: FormatFlag,
    /// Output file, or a folder for several modules [default: standard output]
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatFlag {
    Yaml,
    Toml,
}

const EXPORT: &str = "query ($namespace: String!, $module: String, $search: String,
    $name: String!, $format: ModuleFormat!) {
    exportModules(namespace: $namespace, module: $module, search: $search, name: $name,
        format: $format) { module isByHand schedules source }
}";

impl Export {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let (format, extension) = match self.format {
            FormatFlag::Yaml => (FileFormat::Yaml, "yaml"),
            FormatFlag::Toml => (FileFormat::Toml, "toml"),
        };
        let variables = json!({
            "namespace": self.namespace, "module": self.module, "search": self.search,
            "name": self.name, "format": modules::spelt(format),
        });
        let answer = self.server.ask("export modules", EXPORT, variables).await?;
        let files = answer["exportModules"].as_array().map_or(&[][..], Vec::as_slice);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = files.iter().map(|file| text(&file["module"])).collect();
        match (&self.output, files) {
            (_, []) => Err(CliError::Usage("there is nothing to export".to_owned())),
            (None, [one]) => output::text(&text(&one["source"])),
            (Some(path), [one]) if !path.is_dir() => modules::write(path, &text(&one["source"])),
            (Some(folder), files) if folder.is_dir() => {
                let is_by_hand = files.iter().map(|file| file["isByHand"] == Value::Bool(true));
                let exported: Vec<_> = names.iter().map(String::as_str).zip(is_by_hand).collect();
                let places = places(&exported, extension)?;
                for (file, place) in files.iter().zip(places) {
                    let path = folder.join(place);
                    modules::write(&path, &text(&file["source"]))?;
                    output::line(format!(
                        "{}: {} schedules of the module {}",
                        path.display(),
                        file["schedules"],
                        text(&file["module"]),
                    ))?;
                }
                Ok(())
            }
            (None | Some(_), _) => Err(CliError::Usage(format!(
                "there are {} modules ({}); choose one with --module, or name an existing folder \
                 with --output",
                files.len(),
                names.join(", "),
            ))),
        }
    }
}

/// The file name of each module. If two modules would get the same file name, nothing is written,
/// because the second would overwrite the first.
fn places(modules: &[(&str, bool)], extension: &str) -> Result<Vec<String>, CliError> {
    let mut taken = BTreeMap::new();
    let place = |(name, is_by_hand): &(&str, bool)| {
        let place = format!("{}.{extension}", name.replace('/', "-"));
        let what = match is_by_hand {
            true => format!("what was created by hand (as '{name}')"),
            false => format!("the module '{name}'"),
        };
        let Some((other, other_by_hand)) = taken.insert(place.clone(), (what.clone(), *is_by_hand))
        else {
            return Ok(place);
        };
        let help = match other_by_hand || *is_by_hand {
            true => "give what was created by hand another name with --name",
            false => "export them one by one, with --module and a file of its own for each",
        };
        Err(CliError::Usage(format!("{other} and {what} would both be in '{place}'; {help}")))
    };
    modules.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modules_that_would_be_one_file_are_refused() {
        let refused = |modules: &[(&str, bool)]| places(modules, "yaml").unwrap_err().to_string();
        let apart = [("a/b", false), ("a-c", false), ("exported", true)];
        assert_eq!(places(&apart, "toml").unwrap(), ["a-b.toml", "a-c.toml", "exported.toml"]);
        assert_eq!(
            refused(&[("a/b", false), ("x", false), ("a-b", false)]),
            "the module 'a/b' and the module 'a-b' would both be in 'a-b.yaml'; export them one by \
             one, with --module and a file of its own for each"
        );
        assert_eq!(
            refused(&[("exported", false), ("exported", true)]),
            "the module 'exported' and what was created by hand (as 'exported') would both be in \
             'exported.yaml'; give what was created by hand another name with --name"
        );
    }
}
