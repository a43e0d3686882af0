//! The permissions of each role as a matrix, and the meaning of seeing payloads.

use leptos::prelude::*;

use crate::{
    components::{heading, panel, silent_heading, table},
    model::Role,
};

/// Each action, and the lowest role that may perform it.
const ACTS: [(&str, Role); 10] = [
    ("Look at schedules, runs and the ledger", Role::Viewer),
    ("Run, cancel and retry", Role::Operator),
    ("Pause, resume and skip fires", Role::Operator),
    ("Backfill", Role::Operator),
    ("Acknowledge alerts, mute rules", Role::Operator),
    ("Create, change and delete schedules, workflows, calendars and groups", Role::Editor),
    ("Create alert rules and channels, deploy modules", Role::Editor),
    ("Manage members", Role::Admin),
    ("Set secrets and retention", Role::Admin),
    ("Read the audit log", Role::Admin),
];

pub(super) fn matrix() -> AnyView {
    let row = |(words, least): (&'static str, Role)| {
        let may = |role: Role| {
            let (mark, said) =
                if rank(role) >= rank(least) { ("✓", "may") } else { ("–", "may not") };
            view! {
                <td class="matrix-cell"><span aria-hidden="true">{mark}</span><span class="visually-hidden">{said}</span></td>
            }
            .into_any()
        };
        view! { <tr><th scope="row">{words}</th>{Vec::from(Role::ALL.map(may))}</tr> }.into_any()
    };
    let payloads = {
        let cell = |words: &'static str| view! { <td class="matrix-cell">{words}</td> }.into_any();
        view! {
            <tr>
                <th scope="row">"See payloads: contexts, outputs, errors and logs"</th>
                {cell("if given")}{cell("if given")}{cell("✓")}{cell("✓")}
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = ACTS.into_iter().map(row).chain([payloads]).collect();
    let headings: Vec<_> = std::iter::once(silent_heading("Action"))
        .chain(Role::ALL.map(|role| heading(role.word(), "matrix-cell")))
        .collect();
    let content = view! {
        {table("What each role may", "table", headings, rows.into_any())}
    };
    let words = view! {
        <p>"A role applies everywhere, or in one namespace; if both apply, the higher one counts. "
        "An Admin everywhere administers the instance: people, namespaces, service accounts, and all tokens and sessions."</p>
        <p><strong>"Sees payloads"</strong>" means: may read the contexts, outputs, errors and logs of runs. "
        "Without it, contexts read ***, outputs are empty and logs are refused. Editors see them in any case, because they decide where these go."</p>
    };
    view! {
        {panel("What each role may", (), content.into_any())}
        <section class="panel prose" aria-label="What roles mean">{words}</section>
    }
    .into_any()
}

fn rank(role: Role) -> usize {
    Role::ALL.iter().position(|known| *known == role).unwrap_or_default()
}

/// The roles to choose from in a form, including none.
pub(super) const CHOICES: &[(&str, &str)] = &[
    ("", "none: only roles in namespaces"),
    ("Viewer", "look (Viewer)"),
    ("Operator", "operate (Operator)"),
    ("Editor", "edit (Editor)"),
    ("Admin", "administer everything (Admin)"),
];
