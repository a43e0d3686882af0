//! `carillon apply`: deploys the modules of files.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{CliError, client::Server, modules::ModuleFile, output, why::Why};
use crate::commands::modules::file::File;

/// Deploy module files: create or change the objects that they declare, and delete those that they
/// no longer declare
#[derive(Debug, Args)]
pub(super) struct Apply {
    #[command(flatten)]
    server: Server,
    /// Module files, YAML or (.toml) TOML; - is YAML on standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only report what would change, including the fires of the next 30 days
    #[arg(long)]
    dry_run: bool,
    /// Only report what operators have changed since the modules were deployed
    #[arg(long, conflicts_with_all = ["dry_run", "no_prune", "adopt", "reason"])]
    drift: bool,
    /// Keep objects that the module no longer declares
    #[arg(long)]
    no_prune: bool,
    /// Take over objects of the same names that were created by hand
    #[arg(long)]
    adopt: bool,
    #[command(flatten)]
    why: Why,
    /// Exit with 3 if there are changes, or (with --drift) if something differs
    #[arg(long)]
    exit_code: bool,
    /// Answer as JSON, one line per file
    #[arg(long)]
    json: bool,
}

const DEPLOY: &str = "mutation ($source: String!, $format: ModuleFormat!, $dryRun: Boolean!,
    $prune: Boolean!, $adopt: Boolean!, $reason: String) {
    deployModule(source: $source, format: $format, dryRun: $dryRun, prune: $prune, adopt: $adopt,
        reason: $reason) {
        module dryRun
        changes { action kind name detail fields { path before after }
            warnings { message suggestion } }
        effect { from until added removed isComplete
            schedules { name before after added removed addedSample removedSample
                comparedUntil isComplete } }
    }
}";

pub(super) const DRIFT: &str = "query ($namespace: String!, $name: String!) {
    moduleDrift(namespace: $namespace, name: $name) {
        module deployedBy deployedAt digest
        drifted { kind name side by at reason fields { path before after } }
    }
}";

impl Apply {
    pub(super) async fn run(self) -> Result<(), CliError> {
        // All files are read before the first deployment, so that an unreadable file changes
        // nothing.
        let sources = self.files.iter().map(|file| Ok((file, ModuleFile::read(file)?)));
        let sources: Vec<(&PathBuf, ModuleFile)> = sources.collect::<Result<_, CliError>>()?;
        let mut differs = false;
        for (file, source) in &sources {
            let answer =
                if self.drift { self.ask_drift(source).await } else { self.deploy(source).await };
            let answer = answer.map_err(|error| error.about(file))?;
            differs |= if self.drift { is_drifted(&answer) } else { is_changed(&answer) };
            if self.json {
                output::json(&answer)?;
            } else if self.drift {
                print_drift(&answer)?;
            } else {
                print(&answer)?;
            }
        }
        if self.exit_code && differs { Err(CliError::Differs) } else { Ok(()) }
    }

    async fn deploy(&self, source: &ModuleFile) -> Result<Value, CliError> {
        let variables = json!({
            "source": source.text, "format": source.spelt(), "dryRun": self.dry_run,
            "prune": !self.no_prune, "adopt": self.adopt, "reason": self.why.reason,
        });
        let mut answer = self.server.ask("apply the module", DEPLOY, variables).await?;
        Ok(answer["deployModule"].take())
    }

    async fn ask_drift(&self, source: &ModuleFile) -> Result<Value, CliError> {
        let action = "read the module";
        let file = File::read(&source.text, source.format).map_err(|bad| {
            super::client::ClientError::Refused { action, problem: bad.to_string() }
        })?;
        let variables = json!({ "namespace": file.namespace, "name": file.module });
        let mut answer = self.server.ask("compare the module", DRIFT, variables).await?;
        let drift = answer["moduleDrift"].take();
        if drift.is_null() {
            let name = &file.module;
            let problem = format!("the module {name:?} is not deployed; apply it first");
            return Err(super::client::ClientError::Refused {
                action: "compare the module",
                problem,
            }
            .into());
        }
        Ok(drift)
    }
}

fn is_changed(deployed: &Value) -> bool {
    items(deployed, "changes").any(|change| change["action"] != "UNCHANGED")
}

pub(super) fn is_drifted(drift: &Value) -> bool {
    items(drift, "drifted").next().is_some()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The word for an object's kind.
fn kind(thing: &Value) -> String {
    text(&thing["kind"]).replace('_', " ")
}

/// The word for the action on an object.
fn word(action: &str) -> &str {
    match action {
        "CREATE" => "create",
        "UPDATE" => "change",
        "ADOPT" => "adopt",
        "DELETE" => "prune",
        "UNCHANGED" => "unchanged",
        other => other,
    }
}

fn print(deployed: &Value) -> Result<(), CliError> {
    let would = if deployed["dryRun"] == Value::Bool(true) { " (nothing was changed)" } else { "" };
    output::line(format!("module {}{would}", text(&deployed["module"])))?;
    // Warnings are shown even for unchanged objects, as long as the warnings remain.
    let is_shown = |change: &&Value| {
        change["action"] != "UNCHANGED" || items(change, "warnings").next().is_some()
    };
    for change in items(deployed, "changes").filter(is_shown) {
        let (action, kind, name) =
            (word(text(&change["action"])), kind(change), text(&change["name"]));
        let is_told =
            items(change, "fields").next().is_some() || text(&change["detail"]).is_empty();
        let detail = if is_told { String::new() } else { format!(": {}", text(&change["detail"])) };
        output::line(format!("  {action} {kind} {name}{detail}"))?;
        print_fields(change)?;
        for warning in items(change, "warnings") {
            output::line(format!("    warning: {}", text(&warning["message"])))?;
        }
    }
    let count = |action: &str| {
        items(deployed, "changes").filter(|change| change["action"] == action).count()
    };
    let counts = [
        (count("CREATE"), "to create", "created"),
        (count("UPDATE"), "to change", "changed"),
        (count("ADOPT"), "to adopt", "adopted"),
        (count("DELETE"), "to prune", "pruned"),
        (count("UNCHANGED"), "unchanged", "unchanged"),
    ];
    let told = counts.iter().filter(|(count, ..)| *count > 0).map(|(count, ahead, done)| {
        format!("{count} {}", if would.is_empty() { done } else { ahead })
    });
    let told: Vec<String> = told.collect();
    let told = if told.is_empty() { "nothing is declared".to_owned() } else { told.join(", ") };
    output::line(format!("  {told}"))?;
    print_effect(&deployed["effect"])
}

fn print_fields(change: &Value) -> Result<(), CliError> {
    for field in items(change, "fields") {
        let shown = |value: &Value| match value.as_str() {
            Some(text) => text.replace('\n', "\\n"),
            None => "(none)".to_owned(),
        };
        let (before, after) = (shown(&field["before"]), shown(&field["after"]));
        let path = text(&field["path"]);
        let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
        output::line(format!("    {place}{before} -> {after}"))?;
    }
    Ok(())
}

fn print_effect(effect: &Value) -> Result<(), CliError> {
    if effect.is_null() {
        return Ok(());
    }
    let least = |of: &Value| if of["isComplete"] == false { "at least " } else { "" };
    output::line(format!(
        "  fires in the next 30 days: {}{} added, {} removed",
        least(effect),
        effect["added"],
        effect["removed"],
    ))?;
    for one in items(effect, "schedules") {
        let total = |value: &Value| {
            if value.is_null() { "many".to_owned() } else { value.to_string() }
        };
        let sample = |count: &str, key: &str| {
            let shown: Vec<&str> = items(one, key).map(text).collect();
            let more = if one[count].as_u64() > Some(shown.len() as u64) { ", ..." } else { "" };
            if shown.is_empty() { String::new() } else { format!(" ({}{more})", shown.join(", ")) }
        };
        output::line(format!(
            "    {}: {} -> {}; {}{} added{}, {} removed{}",
            text(&one["name"]),
            total(&one["before"]),
            total(&one["after"]),
            least(one),
            one["added"],
            sample("added", "addedSample"),
            one["removed"],
            sample("removed", "removedSample"),
        ))?;
        if one["isComplete"] == false {
            output::line(format!(
                "      it fires too often to compare each: added and removed are counted up to {}",
                text(&one["comparedUntil"]),
            ))?;
        }
    }
    Ok(())
}

pub(super) fn print_drift(drift: &Value) -> Result<(), CliError> {
    output::line(format!(
        "module {}, deployed by {} at {}",
        text(&drift["module"]),
        text(&drift["deployedBy"]),
        text(&drift["deployedAt"]),
    ))?;
    if !is_drifted(drift) {
        return output::line("  everything is as it was declared");
    }
    for one in items(drift, "drifted") {
        let side = match text(&one["side"]) {
            "OPERATORS" => "the operators', it stays",
            _ => "the module's, the next deployment puts it right",
        };
        let by = one["by"].as_str().map(|by| format!(" by {by}")).unwrap_or_default();
        let at = one["at"].as_str().map(|at| format!(" at {at}")).unwrap_or_default();
        let (kind, name) = (kind(one), text(&one["name"]));
        output::line(format!("  {kind} {name}{by}{at} ({side})"))?;
        print_fields(one)?;
        if let Some(reason) = one["reason"].as_str() {
            output::line(format!("    reason: {reason}"))?;
        }
    }
    Ok(())
}
