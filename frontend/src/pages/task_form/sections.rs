//! The fields of a task on the page, for each kind of target.

use leptos::prelude::*;

use super::{credentials::is_legible, fields::TaskFields, lost::ENTER_AGAIN};
use crate::{
    components::{Choice, Field, checkbox, live},
    model::Failure,
    pages::{parts, suggest},
};

/// The kinds of target.
const KINDS: [Choice; 5] = [
    ("command", "Command"),
    ("http", "HTTP request"),
    ("publish", "Event for a broker"),
    ("worker", "Job for a worker"),
    ("noop", "Nothing, a rehearsal"),
];

const METHODS: [Choice; 6] = [
    ("POST", "POST"),
    ("GET", "GET"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("HEAD", "HEAD"),
];

const ANSWERS: [Choice; 2] =
    [("keep", "Kept with the attempt"), ("merge", "A JSON object that is merged into the context")];

/// The errors of fields; each is found by any of its names in the API.
#[derive(Clone, Copy)]
pub(in crate::pages) struct FieldErrors(Callback<Vec<&'static str>, Signal<Option<Failure>>>);

impl FieldErrors {
    pub(in crate::pages) fn new(
        find: impl Fn(Vec<&'static str>) -> Signal<Option<Failure>> + Send + Sync + 'static,
    ) -> Self {
        Self(Callback::new(find))
    }

    pub(in crate::pages) fn of(self, names: &[&'static str]) -> Signal<Option<Failure>> {
        self.0.run(names.to_vec())
    }
}

/// The context of one task's fields: the prefix of their ids, and their errors.
#[derive(Clone, Copy)]
pub(in crate::pages) struct Place {
    pub(in crate::pages) prefix: StoredValue<String>,
    pub(in crate::pages) errors: FieldErrors,
}

impl Place {
    pub(in crate::pages) fn new(prefix: impl Into<String>, errors: FieldErrors) -> Self {
        Self { prefix: StoredValue::new(prefix.into()), errors }
    }

    pub(in crate::pages) fn id(self, name: &str) -> String {
        self.prefix.with_value(|prefix| format!("{prefix}{name}"))
    }

    pub(in crate::pages) fn field(
        self,
        id: &str,
        label: &'static str,
        value: RwSignal<String>,
        name: &'static str,
    ) -> Field {
        Field::new(self.id(id), label, value).error(self.errors.of(&[name]))
    }
}

/// The choice of the kind of target; `more` contains kinds that only this form offers.
pub(in crate::pages) fn kinds(fields: TaskFields, place: Place, more: &[Choice]) -> AnyView {
    // Some errors concern the target as a whole, for example if the server does not allow commands.
    let whole = place.errors.of(&[
        "target",
        "task",
        "target.command",
        "target.http",
        "target.noop",
        "target.publish",
        "target.worker",
    ]);
    let wrong = move || whole.get().map(|failure| view! { <p>{failure.message}</p> }.into_any());
    let group = place.id("kind");
    let radio = |(name, words): Choice| {
        view! {
            <label>
                <input type="radio" name=group.clone() value=name
                    prop:checked=move || fields.kind.with(|kind| kind == name)
                    on:change=move |_| fields.kind.set(name.to_owned())/>
                {words}
            </label>
        }
        .into_any()
    };
    let radios: Vec<_> = KINDS.iter().chain(more).copied().map(radio).collect();
    view! {
        <fieldset class="radios">
            <legend>"Target"</legend>
            {radios}
        </fieldset>
        <div class="field-error" aria-live="polite">{move || wrong()}</div>
    }
    .into_any()
}

/// The fields of the selected kind, without the limits; empty for a kind that is not a task's. The code of the kinds
/// with which no form begins is loaded when one of them is selected.
pub(in crate::pages) fn target_fields(fields: TaskFields, place: Place) -> AnyView {
    let kind = Memo::new(move |_| fields.kind.get());
    live(move || match kind.get().as_str() {
        "command" => command(fields, place),
        "http" => http(fields, place),
        "worker" => parts::worker_fields(fields, place).show("part of the form"),
        "noop" => place
            .field("idle-note", "Note for the log", fields.idle_note, "target.noop.note")
            .text(),
        "publish" => parts::event_fields(fields, place).show("part of the form"),
        _ => ().into_any(),
    })
}

fn command(fields: TaskFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    let has_program = fields.program.with_untracked(|program| !program.is_empty());
    let has_surroundings = [fields.environment, fields.directory, fields.user]
        .iter()
        .any(|field| field.with_untracked(|text| !text.is_empty()));
    view! {
        {field("script", "Script", fields.script, "target.command.script").code().hint("Run by a shell.").area(4)}
        <details class="more" open=has_program>
            <summary>"Or a program, without a shell"</summary>
            <div class="field-grid">
                {field("program", "Program", fields.program, "target.command.program").code()
                    .hint("A path, or a name found on the server's PATH.").text()}
                {field("args", "Arguments", fields.args, "target.command.args").code().hint("One per line. A text in double quotes is read as a JSON string, so \\n is a line break in it.").area(2)}
            </div>
        </details>
        <details class="more" open=has_surroundings>
            <summary>"Environment, directory and user"</summary>
            {field("environment", "Environment", fields.environment, "target.command.environment").code().picks(suggest::secrets())
                .hint("NAME=value, one per line; a value of several lines as a JSON string. Nothing else is passed on. Type {{ to insert a secret; *** keeps a hidden value.").area(2)}
            <div class="field-grid">
                {field("directory", "Directory", fields.directory, "target.command.directory").code().text()}
                {field("user", "User", fields.user, "target.command.user").text()}
            </div>
        </details>
    }
    .into_any()
}

fn http(fields: TaskFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    let is_lost = move || fields.lost.has("signing_secret", fields.secret);
    let unsign = fields.is_signed.get_untracked().then(|| {
        checkbox(
            "Remove the signature",
            move || fields.unsigns.get(),
            move |unsigns| fields.unsigns.set(unsigns),
        )
    });
    view! {
        <div class="field-grid field-grid-method">
            {field("method", "Method", fields.method, "target.http.method").choice(&METHODS)}
            {field("url", "URL", fields.url, "target.http.url").kind("url").code().required()
                .picks(suggest::secrets()).text()}
        </div>
        <details class="more" open=untrack(is_lost)>
            <summary>"Headers, body, answer and signature"</summary>
            {field("headers", "Headers", fields.headers, "target.http.headers").code().picks(suggest::secrets())
                .hint("Name: value, one per line. Type {{ to insert a secret; *** keeps a hidden value.").area(2)}
            {field("body", "Body", fields.body, "target.http.body").code().picks(suggest::secrets()).area(3)}
            <div class="field-grid">
                {field("expected", "Expected status", fields.expected, "target.http.expectedStatus").code()
                    .hint("200, 2xx, 200-204. Empty: any 2xx.").text()}
                {field("answer", "Answer", fields.answer, "target.http.output").choice(&ANSWERS)}
                {field("secret", "Signing secret", fields.secret, "target.http.signingSecret").code().picks(suggest::secret())
                    .hidden_while(move || !fields.secret.with(|text| is_legible(text)))
                    .note_while(ENTER_AGAIN, is_lost).autocomplete("new-password").hint("Signs as Standard Webhooks defines. Leave empty to keep the current secret.").text()}
            </div>
            {unsign}
        </details>
    }
    .into_any()
}

/// The fields of a job for a worker.
pub(in crate::pages) fn worker(fields: TaskFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    view! {
        <div class="field-grid">
            {field("queue", "Queue", fields.queue, "target.worker.queue").code().required().picks(suggest::queue())
                .hint("The queue from which workers take it.").text()}
            {field("job", "Job", fields.job, "target.worker.task").code().required()
                .hint("Its name in the worker.").text()}
        </div>
        <details class="more">
            <summary>"Input and tags"</summary>
            {field("input", "Input (JSON)", fields.input, "target.worker.input").code()
                .hint("Empty: the run's context.").area(3)}
            {field("worker-tags", "Tags", fields.worker_tags, "target.worker.tags").picks(suggest::worker_tags())
                .hint("Tags that the worker must have, separated by commas.").text()}
        </details>
    }
    .into_any()
}

/// The timeout and the retries.
pub(in crate::pages) fn limits(fields: TaskFields, place: Place) -> AnyView {
    let number = |id: &str, label, value, name| place.field(id, label, value, name).kind("number");
    view! {
        <details class="more">
            <summary>"Timeout and retries"</summary>
            <div class="field-grid">
                {number("timeout", "Timeout (seconds)", fields.timeout, "timeoutSeconds").text()}
                {number("kill-grace", "Time to stop after it (seconds)", fields.kill_grace, "killGraceSeconds").text()}
                {number("attempts", "Attempts", fields.attempts, "retry.maxAttempts").hint("1 means no retry.").text()}
                {place.field("backoff", "Delay", fields.backoff, "retry.backoff")
                    .choice(&[("exponential", "Doubling"), ("fixed", "Fixed")])}
                {number("initial", "First delay (seconds)", fields.initial, "retry.initialSeconds").text()}
                {number("ceiling", "Longest delay (seconds)", fields.ceiling, "retry.maxSeconds").text()}
                {number("spread", "Random share (0 to 1)", fields.spread, "retry.jitter").text()}
                {place.field("retry-on", "Retry only after", fields.retry_on, "retryOn").code()
                    .hint("timeout, failure, error, exit 75, status 500-599, separated by commas. Empty: after every failure.").text()}
            </div>
        </details>
    }
    .into_any()
}
