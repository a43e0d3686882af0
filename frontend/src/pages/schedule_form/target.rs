//! What: the target, its limits, its retries; or a workflow that exists.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{
    api::{self, Load, use_load},
    components::{AreaField, ChoiceField, TextField},
};

/// The kinds of target, and their words.
const KINDS: [(&str, &str); 4] = [
    ("command", "Command"),
    ("http", "HTTP request"),
    ("noop", "Nothing, a rehearsal"),
    ("workflow", "A workflow that exists"),
];

/// The section.
#[component]
pub(super) fn TargetSection(draft: Draft, errors: Errors) -> impl IntoView {
    // Some refusals mean the target as a whole: commands may be switched off on the server.
    let whole = errors.of(&["target", "task", "target.command", "target.http", "target.noop"]);
    let fields = move || {
        match draft.kind.get().as_str() {
        "workflow" => view! { <WorkflowFields draft=draft errors=errors/> }.into_any(),
        "http" => view! { <HttpFields draft=draft errors=errors/> }.into_any(),
        "noop" => view! {
            <TextField id="idle-note" label="Note for the log" value=draft.idle_note error=errors.of(&["target.noop.note"])/>
        }
        .into_any(),
        _ => view! { <CommandFields draft=draft errors=errors/> }.into_any(),
    }
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"What"</legend>
            <fieldset class="radios">
                <legend>"Target"</legend>
                {KINDS.map(|(kind, words)| view! {
                    <label>
                        <input type="radio" name="kind" value=kind
                            prop:checked=move || draft.kind.with(|chosen| chosen == kind)
                            on:change=move |_| draft.kind.set(kind.to_owned())/>
                        {words}
                    </label>
                })}
            </fieldset>
            <div class="field-error" aria-live="polite">
                {move || whole.get().map(|failure| view! { <p>{failure.message}</p> })}
            </div>
            {fields}
            <Show when=move || draft.kind.with(|kind| kind != "workflow")>
                <Limits draft=draft errors=errors/>
            </Show>
        </fieldset>
    }
}

#[component]
fn CommandFields(draft: Draft, errors: Errors) -> impl IntoView {
    let has_program = draft.program.with_untracked(|program| !program.is_empty());
    view! {
        <AreaField id="script" label="Script" value=draft.script rows=4 is_code=true
            error=errors.of(&["target.command.script"]) hint="Run by a shell."/>
        <details class="more" open=has_program>
            <summary>"Or a program, without a shell"</summary>
            <div class="field-grid">
                <TextField id="program" label="Program" value=draft.program is_code=true
                    error=errors.of(&["target.command.program"]) hint="A path, or found on the server's."/>
                <AreaField id="args" label="Arguments" value=draft.args rows=2 is_code=true
                    error=errors.of(&["target.command.args"]) hint="One a line."/>
            </div>
        </details>
        <details class="more">
            <summary>"Environment, directory and user"</summary>
            <AreaField id="environment" label="Environment" value=draft.environment rows=2 is_code=true
                error=errors.of(&["target.command.environment"]) hint="NAME=value, one a line. Nothing else is passed on."/>
            <div class="field-grid">
                <TextField id="directory" label="Directory" value=draft.directory is_code=true
                    error=errors.of(&["target.command.directory"])/>
                <TextField id="user" label="User" value=draft.user error=errors.of(&["target.command.user"])/>
            </div>
        </details>
    }
}

#[component]
fn HttpFields(draft: Draft, errors: Errors) -> impl IntoView {
    view! {
        <div class="field-grid field-grid-method">
            <ChoiceField id="method" label="Method" value=draft.method choices=vec![
                ("POST", "POST"), ("GET", "GET"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE"), ("HEAD", "HEAD"),
            ] error=errors.of(&["target.http.method"])/>
            <TextField id="url" label="URL" kind="url" value=draft.url is_code=true is_required=true
                error=errors.of(&["target.http.url"])/>
        </div>
        <details class="more">
            <summary>"Headers, body, expected status and signature"</summary>
            <AreaField id="headers" label="Headers" value=draft.headers rows=2 is_code=true
                error=errors.of(&["target.http.headers"]) hint="Name: value, one a line."/>
            <AreaField id="body" label="Body" value=draft.body is_code=true error=errors.of(&["target.http.body"])/>
            <div class="field-grid">
                <TextField id="expected" label="Expected status" value=draft.expected is_code=true
                    error=errors.of(&["target.http.expectedStatus"]) hint="200, 2xx, 200-204; any 2xx if empty."/>
                <TextField id="secret" label="Signing secret" kind="password" value=draft.secret autocomplete="new-password"
                    error=errors.of(&["target.http.signingSecret"]) hint="Signs by Standard Webhooks."/>
            </div>
        </details>
    }
}

#[component]
fn WorkflowFields(draft: Draft, errors: Errors) -> impl IntoView {
    let workflows: Load<Vec<String>> = use_load(|| Some(api::workflows()));
    view! {
        <TextField id="workflow" label="Workflow" value=draft.workflow is_required=true list="workflows"
            error=errors.of(&["workflow"])/>
        <datalist id="workflows">
            {move || workflows.data.get().unwrap_or_default().into_iter()
                .map(|name| view! { <option value=name></option> })
                .collect_view()}
        </datalist>
    }
}

#[component]
fn Limits(draft: Draft, errors: Errors) -> impl IntoView {
    view! {
        <details class="more">
            <summary>"Timeout and retries"</summary>
            <div class="field-grid">
                <TextField id="timeout" label="Timeout (seconds)" kind="number" value=draft.timeout
                    error=errors.of(&["timeoutSeconds"])/>
                <TextField id="kill-grace" label="Time to end after it (seconds)" kind="number" value=draft.kill_grace
                    error=errors.of(&["killGraceSeconds"])/>
                <TextField id="attempts" label="Attempts" kind="number" value=draft.attempts
                    error=errors.of(&["retry.maxAttempts"]) hint="1 is no retry."/>
                <ChoiceField id="backoff" label="Delay" value=draft.backoff choices=vec![
                    ("exponential", "Doubling"), ("fixed", "Fixed"),
                ] error=errors.of(&["retry.backoff"])/>
                <TextField id="initial" label="First delay (seconds)" kind="number" value=draft.initial
                    error=errors.of(&["retry.initialSeconds"])/>
                <TextField id="ceiling" label="Longest delay (seconds)" kind="number" value=draft.ceiling
                    error=errors.of(&["retry.maxSeconds"])/>
                <TextField id="spread" label="Share left to chance (0 to 1)" kind="number" value=draft.spread
                    error=errors.of(&["retry.jitter"])/>
            </div>
        </details>
    }
}
