use std::path::Path;

use chrono::SecondsFormat;

use super::definition::CommandTarget;
use crate::target::Invocation;

/// The folders in which programs without a path are looked up.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Maximum size of a context in an environment variable, because the size of the environment is
/// limited. A larger context is passed only by file and on standard input.
pub(super) const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// The environment variables of one attempt, except those about the user. Later ones override
/// earlier ones.
pub(super) fn variables(
    definition: &CommandTarget,
    invocation: &Invocation,
    context: (&str, &Path),
    output: &Path,
) -> Vec<(String, String)> {
    let (context, context_file) = context;
    let mut all = vec![("PATH".to_owned(), PATH.to_owned())];
    for (name, value) in &definition.env {
        all.push((name.clone(), value.expose().to_owned()));
    }
    let scheduled_at =
        invocation.scheduled_at.map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    let version = invocation.schedule_version.map(|version| version.to_string());
    let ours = [
        ("TRACEPARENT", invocation.traceparent.clone()),
        ("CARILLON_RUN_ID", Some(invocation.run_id.to_string())),
        ("CARILLON_ATTEMPT", Some(invocation.attempt.to_string())),
        ("CARILLON_TASK", Some(invocation.task.clone())),
        ("CARILLON_NAMESPACE", Some(invocation.namespace.clone())),
        ("CARILLON_SCHEDULE", invocation.schedule.clone()),
        ("CARILLON_SCHEDULE_ID", invocation.schedule_id.map(|id| id.to_string())),
        ("CARILLON_SCHEDULE_VERSION", version),
        ("CARILLON_SCHEDULED_AT", scheduled_at),
        ("CARILLON_IDEMPOTENCY_KEY", Some(invocation.idempotency_key.clone())),
        ("CARILLON_OUTPUT", output.to_str().map(str::to_owned)),
        ("CARILLON_CONTEXT_FILE", context_file.to_str().map(str::to_owned)),
        ("CARILLON_CONTEXT", (context.len() <= MAX_CONTEXT_BYTES).then(|| context.to_owned())),
    ];
    all.extend(ours.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    all
}
