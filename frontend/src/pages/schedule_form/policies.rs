//! The fields of the policies: missed fires, overlapping runs, a deadline, and the context.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{
    components::{Field, live},
    pages::suggest,
};

/// The section with the policies.
pub(super) fn policies(draft: Draft, errors: Errors) -> AnyView {
    let number = move |id: &'static str, label: &'static str, value, name| {
        Field::new(id, label, value).kind("number").error(errors.of(&[name]))
    };
    let limits = move || {
        if !draft.catches_up_all() {
            return ().into_any();
        }
        view! {
            {number("max", "At most", draft.max, "misfire.max").text()}
            {number("spacing", "Apart (seconds)", draft.spacing, "misfire.spacingSeconds").text()}
        }
        .into_any()
    };
    let buffer = move || {
        if draft.overlap.with(|overlap| overlap != "buffer_all") {
            return ().into_any();
        }
        number("buffer-limit", "Maximum number of waiting fires", draft.buffer_limit, "bufferLimit")
            .text()
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"What if"</legend>
            <div class="field-grid">
                {Field::new("catch-up", "Fires were missed", draft.catch_up)
                    .error(errors.of(&["misfire.catchUp", "misfire"]))
                    .choice(&[
                        ("latest", "Start the latest once"),
                        ("all", "Start all, up to a limit"),
                        ("skip", "Leave them out"),
                    ])}
                {Field::new("overlap", "The previous run is still live", draft.overlap)
                    .error(errors.of(&["overlapPolicy"]))
                    .choice(&[
                        ("skip", "Skip the fire"),
                        ("buffer_one", "Let one fire wait"),
                        ("buffer_all", "Let the fires wait"),
                        ("cancel_other", "Cancel the run, then start"),
                        ("terminate_other", "End the run, and start"),
                        ("allow", "Start beside it"),
                    ])}
                {live(buffer)}
            </div>
            <details class="more">
                <summary>"Grace, catch-up limits, deadline, group, priority and history"</summary>
                <div class="field-grid">
                    {number("grace", "Missed after (seconds)", draft.grace, "misfire.graceSeconds").text()}
                    {number("window", "Caught up within (seconds)", draft.window, "misfire.windowSeconds").text()}
                    {live(limits)}
                    {number("deadline", "Start deadline (seconds)", draft.deadline, "startDeadlineSeconds")
                        .hint("A fire not started by then is skipped. Empty: none.").text()}
                    {Field::new("group", "Concurrency group", draft.group).picks(suggest::groups())
                        .error(errors.of(&["group"]))
                        .hint("Its runs share the group's limit. Empty: none.").text()}
                    {number("priority", "Priority (-100 to 100)", draft.priority, "priority")
                        .hint("Waiting runs with a higher priority start first.").text()}
                    {number("retention", "Keep history for (days)", draft.retention, "retentionDays")
                        .hint("Empty: as long as the namespace's setting.").text()}
                </div>
            </details>
            {Field::new("context", "Context (JSON)", draft.context).code().error(errors.of(&["context"]))
                .hint("Passed to each run.").area(3)}
        </fieldset>
    }
    .into_any()
}
