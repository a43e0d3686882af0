//! First steps, on a server that has no schedules yet.

use leptos::prelude::*;

use crate::{
    components::{Look, button, copy_text, empty},
    route::Route,
    state::use_notices,
};

/// Ways to start: a title, the purpose, and the command.
const COMMANDS: [(&str, &str, &str); 3] = [
    (
        "Import a crontab",
        "Writes a file that declares its lines as schedules, in your zone.",
        "crontab -l | carillon import crontab - --output crontab.yaml",
    ),
    (
        "Declare schedules beside your code",
        "Deploy the file as often as you like: only differences are applied.",
        "carillon apply crontab.yaml",
    ),
    (
        "Give programs access",
        "A token for the API and the command line. It is shown once.",
        "carillon token create ci --role editor",
    ),
];

/// The steps for users who may create schedules. Others only read that there are none.
pub(super) fn first_steps(may_create: bool) -> AnyView {
    if !may_create {
        let words = "Editors of the namespace create schedules. What these run appears here.";
        return view! { <div class="empty">{empty("Nothing is scheduled yet", words, ())}</div> }
            .into_any();
    }
    let notices = use_notices();
    let step = |(title, why, command): (&'static str, &'static str, &'static str)| {
        let copy = move || copy_text(command.to_owned(), notices, "Command copied.");
        view! {
            <li class="step">
                <h2>{title}</h2>
                <p class="muted">{why}</p>
                <div class="step-command"><code>{command}</code>{button(Look::Plain, None, "Copy", copy)}</div>
            </li>
        }
        .into_any()
    };
    let steps: Vec<_> = COMMANDS.into_iter().map(step).collect();
    view! {
        <section class="first-steps empty" aria-label="First steps" data-testid="first-steps">
            <p class="empty-title">"Nothing is scheduled yet"</p>
            <ol>
                <li class="step">
                    <h2>"Create a schedule"</h2>
                    <p class="muted">"Enter a time, see what it means, and choose what to run."</p>
                    <a class="button button-primary" href=Route::NewSchedule.path()>"New schedule"</a>
                </li>
                {steps}
            </ol>
        </section>
    }
    .into_any()
}
