//! The names of fields in each interface: a definition is stored in snake case, the API uses camel
//! case and seconds, and a module file has durations under shorter keys. An error names the field
//! in the spelling that its reader used.

/// A name in storage, in the API, and in a module file.
type Name = (&'static str, &'static str, &'static str);

/// The names that differ between surfaces.
const NAMES: [Name; 45] = [
    ("timeout_seconds", "timeoutSeconds", "timeout"),
    ("kill_grace_seconds", "killGraceSeconds", "kill_grace"),
    ("max_attempts", "maxAttempts", "max_attempts"),
    ("initial_seconds", "initialSeconds", "initial"),
    ("max_seconds", "maxSeconds", "max"),
    ("retry_on", "retryOn", "retry_on"),
    ("allow_failure", "allowFailure", "allow_failure"),
    ("max_parallel", "maxParallel", "max_parallel"),
    ("runs_on", "runsOn", "runs_on"),
    ("expected_status", "expectedStatus", "expected_status"),
    ("expected_body", "expectedBody", "expected_body"),
    ("max_redirects", "maxRedirects", "max_redirects"),
    ("signing_secret", "signingSecret", "signing_secret"),
    ("client_certificate", "clientCertificate", "client_certificate"),
    ("env", "environment", "env"),
    ("access_key_id", "accessKeyId", "access_key_id"),
    ("max_length", "maxLength", "max_length"),
    ("queue_url", "queueUrl", "queue_url"),
    ("routing_key", "routingKey", "routing_key"),
    ("secret_access_key", "secretAccessKey", "secret_access_key"),
    ("session_token", "sessionToken", "session_token"),
    ("expressions", "expressions", "when"),
    ("start", "startAt", "start"),
    ("end", "endAt", "end"),
    ("", "jitterSeconds", "jitter"),
    ("catch_up", "catchUp", "catch_up"),
    ("grace", "graceSeconds", "grace"),
    ("spacing", "spacingSeconds", "spacing"),
    ("window", "windowSeconds", "window"),
    ("start_deadline", "startDeadlineSeconds", "start_deadline"),
    ("buffer_limit", "bufferLimit", "buffer_limit"),
    ("max_fires", "maxFires", "max_fires"),
    ("retention_days", "retentionDays", "retention"),
    ("", "channelIds", "channels"),
    ("", "losingAfter", "losing_after"),
    ("", "skippedAfter", "skipped_after"),
    ("", "lateAfterSeconds", "late_after"),
    ("", "stalledAfterSeconds", "stalled_after"),
    ("", "slowAfterTimes", "slow_after"),
    ("", "clockChangeDays", "clock_change_days"),
    ("", "digestSeconds", "digest"),
    ("", "startsAt", "start"),
    ("", "endsAt", "end"),
    ("", "lateMs", "late"),
    ("", "spanMinutes", "span"),
];

/// Below these keys, the user chose the names.
const CHOSEN_BEHIND: [&str; 3] = ["headers", "env", "environment"];

/// The field of a stored task or workflow, as the API spells it.
pub(crate) fn in_api(path: &str) -> String {
    translated(path, |(stored, api, _), segment| (segment == *stored).then_some(*api))
}

/// A field of a schedule, task or workflow in the API's spelling, under its key in a module file.
pub(crate) fn in_module(path: &str) -> String {
    let path = match path.strip_prefix("timing.") {
        Some(inner @ ("gap" | "overlap")) => &format!("dst.{inner}"),
        Some(inner) => inner,
        None => path,
    };
    translated(path, |(_, api, module), segment| (segment == *api).then_some(*module))
}

fn translated(path: &str, name: impl Fn(&'static Name, &str) -> Option<&'static str>) -> String {
    let mut chosen = false;
    let segment = |segment: &str| {
        let (word, index) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        let found = NAMES.iter().find_map(|names| name(names, word)).filter(|_| !chosen);
        chosen |= CHOSEN_BEHIND.contains(&word);
        format!("{}{index}", found.unwrap_or(word))
    };
    path.split('.').map(segment).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_field_has_the_name_that_the_api_takes() {
        for (stored, api) in [
            ("tasks[0].timeout_seconds", "tasks[0].timeoutSeconds"),
            ("tasks[2].retry.max_attempts", "tasks[2].retry.maxAttempts"),
            ("tasks[0].retry.jitter", "tasks[0].retry.jitter"),
            ("tasks[0].retry_on[1]", "tasks[0].retryOn[1]"),
            ("http.expected_status", "http.expectedStatus"),
            ("http.max_redirects", "http.maxRedirects"),
            ("command.env.max_attempts", "command.environment.max_attempts"),
            ("http.headers.env", "http.headers.env"),
        ] {
            assert_eq!(in_api(stored), api);
        }
    }

    #[test]
    fn a_field_of_the_api_has_the_key_that_a_module_file_takes() {
        for (api, module) in [
            ("timing.expressions[0]", "when[0]"),
            ("timing.zone", "zone"),
            ("timing.gap", "dst.gap"),
            ("timing.endAt", "end"),
            ("timing.jitterSeconds", "jitter"),
            ("overlap", "overlap"),
            ("misfire.graceSeconds", "misfire.grace"),
            ("startDeadlineSeconds", "start_deadline"),
            ("retentionDays", "retention"),
            ("channelIds[2]", "channels[2]"),
            ("stalledAfterSeconds", "stalled_after"),
            ("signingSecret", "signing_secret"),
            ("task.timeoutSeconds", "task.timeout"),
            ("task.retry.initialSeconds", "task.retry.initial"),
            ("task.target.command.environment.maxFires", "task.target.command.env.maxFires"),
        ] {
            assert_eq!(in_module(api), module);
        }
    }
}
