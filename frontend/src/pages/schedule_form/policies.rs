//! What if: missed fires, overlapping runs, a deadline, and the context that travels along.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::components::{AreaField, ChoiceField, TextField};

/// The section.
#[component]
pub(super) fn Policies(draft: Draft, errors: Errors) -> impl IntoView {
    let is_all = move || draft.catch_up.with(|catch_up| catch_up == "all");
    view! {
        <fieldset class="panel form-section">
            <legend>"What if"</legend>
            <div class="field-grid">
                <ChoiceField id="catch-up" label="Fires were missed" value=draft.catch_up choices=vec![
                    ("latest", "Start the latest once"),
                    ("all", "Start all, up to a limit"),
                    ("skip", "Leave them out"),
                ] error=errors.of(&["misfire.catchUp", "misfire"])/>
                <ChoiceField id="overlap" label="The previous run is alive" value=draft.overlap choices=vec![
                    ("skip", "Skip the fire"),
                    ("allow", "Start beside it"),
                ] error=errors.of(&["overlapPolicy"])/>
            </div>
            <details class="more">
                <summary>"Grace, catch-up limits and deadline"</summary>
                <div class="field-grid">
                    <TextField id="grace" label="Missed after (seconds)" kind="number" value=draft.grace
                        error=errors.of(&["misfire.graceSeconds"])/>
                    <TextField id="window" label="Caught up within (seconds)" kind="number" value=draft.window
                        error=errors.of(&["misfire.windowSeconds"])/>
                    <Show when=is_all>
                        <TextField id="max" label="At most" kind="number" value=draft.max error=errors.of(&["misfire.max"])/>
                        <TextField id="spacing" label="Apart (seconds)" kind="number" value=draft.spacing
                            error=errors.of(&["misfire.spacingSeconds"])/>
                    </Show>
                    <TextField id="deadline" label="Start deadline (seconds)" kind="number" value=draft.deadline
                        error=errors.of(&["startDeadlineSeconds"]) hint="A fire not started by then is skipped. Empty: none."/>
                </div>
            </details>
            <AreaField id="context" label="Context (JSON)" value=draft.context rows=3 is_code=true
                error=errors.of(&["context"]) hint="Travels with each run."/>
        </fieldset>
    }
}
