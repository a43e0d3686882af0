//! What: the target, its limits, its retries; or a workflow that exists.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{
    api::{self},
    components::{Choice, Field, live},
    data::use_load,
    state::use_address,
};

/// The kinds of target, and their words.
const KINDS: [Choice; 4] = [
    ("command", "Command"),
    ("http", "HTTP request"),
    ("noop", "Nothing, a rehearsal"),
    ("workflow", "A workflow that exists"),
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
    [("keep", "Kept with the attempt"), ("merge", "A JSON object that joins the context")];

/// The section.
pub(super) fn target(draft: Draft, errors: Errors) -> AnyView {
    // Some refusals mean the target as a whole: commands may be switched off on the server.
    let whole = errors.of(&["target", "task", "target.command", "target.http", "target.noop"]);
    let wrong = move || whole.get().map(|failure| view! { <p>{failure.message}</p> }.into_any());
    let kind = Memo::new(move |_| draft.kind.get());
    let fields = move || {
        match kind.get().as_str() {
        "workflow" => workflow(draft, errors),
        "publish" => view! {
            <p>
                "It publishes to a broker, which stays as it is. To change that, apply a module file \
                 or ask the API; or choose another target here."
            </p>
        }
        .into_any(),
        "worker" => view! {
            <p>
                "A worker pulls it from a queue, which stays as it is. To change that, apply a module \
                 file or ask the API; or choose another target here."
            </p>
        }
        .into_any(),
        "http" => view! { {http(draft, errors)}{limits(draft, errors)} }.into_any(),
        "noop" => view! {
            {Field::new("idle-note", "Note for the log", draft.idle_note)
                .error(errors.of(&["target.noop.note"])).text()}
            {limits(draft, errors)}
        }
        .into_any(),
        _ => view! { {command(draft, errors)}{limits(draft, errors)} }.into_any(),
    }
    };
    let radio = move |(name, words): Choice| {
        view! {
            <label>
                <input type="radio" name="kind" value=name
                    prop:checked=move || kind.get() == name
                    on:change=move |_| draft.kind.set(name.to_owned())/>
                {words}
            </label>
        }
        .into_any()
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"What"</legend>
            <fieldset class="radios">
                <legend>"Target"</legend>
                {Vec::from(KINDS.map(radio))}
            </fieldset>
            <div class="field-error" aria-live="polite">{move || wrong()}</div>
            {live(fields)}
        </fieldset>
    }
    .into_any()
}

fn command(draft: Draft, errors: Errors) -> AnyView {
    let field = |id: &'static str, label: &'static str, value, name| {
        Field::new(id, label, value).error(errors.of(&[name]))
    };
    let has_program = draft.program.with_untracked(|program| !program.is_empty());
    let has_surroundings = [draft.environment, draft.directory, draft.user]
        .iter()
        .any(|field| field.with_untracked(|text| !text.is_empty()));
    view! {
        {field("script", "Script", draft.script, "target.command.script").code().hint("Run by a shell.").area(4)}
        <details class="more" open=has_program>
            <summary>"Or a program, without a shell"</summary>
            <div class="field-grid">
                {field("program", "Program", draft.program, "target.command.program").code()
                    .hint("A path, or found on the server's.").text()}
                {field("args", "Arguments", draft.args, "target.command.args").code().hint("One a line.").area(2)}
            </div>
        </details>
        <details class="more" open=has_surroundings>
            <summary>"Environment, directory and user"</summary>
            {field("environment", "Environment", draft.environment, "target.command.environment").code()
                .hint("NAME=value, one a line. Nothing else is passed on; *** keeps a value that is not shown.").area(2)}
            <div class="field-grid">
                {field("directory", "Directory", draft.directory, "target.command.directory").code().text()}
                {field("user", "User", draft.user, "target.command.user").text()}
            </div>
        </details>
    }
    .into_any()
}

fn http(draft: Draft, errors: Errors) -> AnyView {
    let field = |id: &'static str, label: &'static str, value, name| {
        Field::new(id, label, value).error(errors.of(&[name]))
    };
    let unsign = draft.is_signed.get_untracked().then(|| {
        view! {
            <label class="check-label">
                <input type="checkbox" prop:checked=move || draft.unsigns.get()
                    on:change:target=move |event| draft.unsigns.set(event.target().checked())/>
                "Signed so far. Sign no more"
            </label>
        }
        .into_any()
    });
    view! {
        <div class="field-grid field-grid-method">
            {field("method", "Method", draft.method, "target.http.method").choice(&METHODS)}
            {field("url", "URL", draft.url, "target.http.url").kind("url").code().required().text()}
        </div>
        <details class="more">
            <summary>"Headers, body, answer and signature"</summary>
            {field("headers", "Headers", draft.headers, "target.http.headers").code()
                .hint("Name: value, one a line. *** keeps a value that is not shown.").area(2)}
            {field("body", "Body", draft.body, "target.http.body").code().area(3)}
            <div class="field-grid">
                {field("expected", "Expected status", draft.expected, "target.http.expectedStatus").code()
                    .hint("200, 2xx, 200-204; any 2xx if empty.").text()}
                {field("answer", "Answer", draft.answer, "target.http.output").choice(&ANSWERS)}
                {field("secret", "Signing secret", draft.secret, "target.http.signingSecret").kind("password")
                    .autocomplete("new-password").hint("Signs by Standard Webhooks. Empty keeps the one that is there.").text()}
            </div>
            {unsign}
        </details>
    }
    .into_any()
}

fn workflow(draft: Draft, errors: Errors) -> AnyView {
    let address = use_address();
    let workflows = use_load(move || Some(api::workflows(address.namespace())));
    view! {
        {Field::new("workflow", "Workflow", draft.workflow).required().list("workflows")
            .error(errors.of(&["workflow"])).text()}
        <datalist id="workflows">
            {workflows.draw(|all| options(all.iter().map(|workflow| &workflow.name)))}
        </datalist>
    }
    .into_any()
}

/// What a `datalist` offers.
pub(super) fn options<'a>(names: impl Iterator<Item = &'a String>) -> AnyView {
    let option = |name: &String| view! { <option value=name.clone()></option> }.into_any();
    names.map(option).collect::<Vec<_>>().into_any()
}

fn limits(draft: Draft, errors: Errors) -> AnyView {
    let number = |id: &'static str, label: &'static str, value, name| {
        Field::new(id, label, value).kind("number").error(errors.of(&[name]))
    };
    view! {
        <details class="more">
            <summary>"Timeout and retries"</summary>
            <div class="field-grid">
                {number("timeout", "Timeout (seconds)", draft.timeout, "timeoutSeconds").text()}
                {number("kill-grace", "Time to end after it (seconds)", draft.kill_grace, "killGraceSeconds").text()}
                {number("attempts", "Attempts", draft.attempts, "retry.maxAttempts").hint("1 is no retry.").text()}
                {Field::new("backoff", "Delay", draft.backoff).error(errors.of(&["retry.backoff"]))
                    .choice(&[("exponential", "Doubling"), ("fixed", "Fixed")])}
                {number("initial", "First delay (seconds)", draft.initial, "retry.initialSeconds").text()}
                {number("ceiling", "Longest delay (seconds)", draft.ceiling, "retry.maxSeconds").text()}
                {number("spread", "Share left to chance (0 to 1)", draft.spread, "retry.jitter").text()}
                {Field::new("retry-on", "Retry only after", draft.retry_on).code().error(errors.of(&["retryOn"]))
                    .hint("timeout, failure, error, exit 75, status 500-599, commas apart. After every failure if empty.").text()}
            </div>
        </details>
    }
    .into_any()
}
