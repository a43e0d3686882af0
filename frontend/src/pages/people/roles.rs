//! What each role may, as a matrix, and what it means to see payloads.

use leptos::prelude::*;

use crate::{
    components::{heading, panel, silent_heading, table},
    model::Role,
};

/// What is done, and the role from which on it may be.
const ACTS: [(&str, Role); 10] = [
    ("Look at schedules, runs and the ledger", Role::Viewer),
    ("Run, cancel and retry", Role::Operator),
    ("Pause, resume and skip fires", Role::Operator),
    ("Backfill", Role::Operator),
    ("Acknowledge alerts, mute rules", Role::Operator),
    ("Make, change and delete schedules, workflows, calendars and groups", Role::Editor),
    ("Make alert rules and channels, deploy modules", Role::Editor),
    ("Say who the members are", Role::Admin),
    ("Set secrets, retention", Role::Admin),
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
    let headings: Vec<_> = std::iter::once(silent_heading("What is done"))
        .chain(Role::ALL.map(|role| heading(role.word(), "matrix-cell")))
        .collect();
    let content = view! {
        {table("What each role may", "table", headings, rows.into_any())}
    };
    let words = view! {
        <p>"A role holds everywhere, or in one namespace; where both hold, the higher one counts. "
        "Who is Admin everywhere administers the instance: people, namespaces, service accounts, everybody's tokens and sessions."</p>
        <p><strong>"Sees payloads"</strong>" means: reads what runs were given, what they gave back and what they printed. "
        "Without it those read ***, outputs are empty and logs are refused. Editors see them in any case, because they decide where these go."</p>
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

/// The choices of a role in a form, from none on.
pub(super) const CHOICES: &[(&str, &str)] = &[
    ("", "nothing: only what a namespace gives"),
    ("Viewer", "look (Viewer)"),
    ("Operator", "operate (Operator)"),
    ("Editor", "edit (Editor)"),
    ("Admin", "administer everything (Admin)"),
];
