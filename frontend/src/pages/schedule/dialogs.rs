//! Pause with a reason, resume with a choice, delete with the name typed out.

use std::future::Future;

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::{
    api::{self, Failure},
    components::{ChoiceField, Dialog, TextField},
    model::CatchUp,
    route::Route,
    state::use_notices,
    time::Moment,
};

/// A form in a dialog: it acts, closes, and says so; or it shows what is wrong and stays.
#[component]
fn Act(
    open: RwSignal<bool>,
    action: &'static str,
    #[prop(optional)] is_danger: bool,
    /// Errors without a field of their own are shown above the buttons.
    failure: RwSignal<Option<Failure>>,
    act: impl Fn() + Copy + Send + Sync + 'static,
    children: Children,
) -> impl IntoView {
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        failure.set(None);
        act();
    };
    let class = if is_danger { "button button-danger" } else { "button button-primary" };
    let general = move || failure.get().filter(|failure| failure.field.is_none());
    view! {
        <form on:submit=submit>
            {children()}
            <div role="alert">
                {move || general().map(|failure| view! {
                    <p class="form-error">{failure.message.clone()}" "{failure.advice()}</p>
                })}
            </div>
            <footer class="dialog-foot">
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="submit" class=class>{action}</button>
            </footer>
        </form>
    }
}

/// The error that belongs to a field.
fn of(failure: RwSignal<Option<Failure>>, field: &'static str) -> Signal<Option<Failure>> {
    Signal::derive(move || failure.get().filter(|f| f.field.as_deref() == Some(field)))
}

/// Runs what the dialog is for, and closes it when that worked.
fn perform(
    open: RwSignal<bool>,
    failure: RwSignal<Option<Failure>>,
    work: impl Future<Output = Result<(), Failure>> + 'static,
    done: impl FnOnce() + 'static,
) {
    spawn_local(async move {
        match work.await {
            Ok(()) => {
                open.set(false);
                done();
            }
            Err(wrong) => failure.set(Some(wrong)),
        }
    });
}

/// Asks why, and until when.
#[component]
pub(in crate::pages) fn PauseDialog(
    open: RwSignal<bool>,
    #[prop(into)] id: Signal<String>,
    done: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let notices = use_notices();
    let failure = RwSignal::new(None);
    let reason = RwSignal::new(String::new());
    let until = RwSignal::new(String::new());
    let act = move || {
        let text = reason.get_untracked().trim().to_owned();
        if text.is_empty() {
            let mut wrong =
                Failure::new(api::Code::BadUserInput, "Say why, for whoever finds it paused.");
            wrong.field = Some("reason".to_owned());
            return failure.set(Some(wrong));
        }
        let end = Moment::parse(&until.get_untracked());
        perform(open, failure, api::pause_schedule(id.get_untracked(), text, end), move || {
            reason.set(String::new());
            notices.done("Paused. Nothing fires until it is resumed.");
            done();
        });
    };
    view! {
        <Dialog open=open title="Pause schedule">
            <Act open=open action="Pause" failure=failure act=act>
                <p>"Fires that fall due meanwhile are not started. Runs that are under way go on."</p>
                <TextField id="pause-reason" label="Reason" value=reason error=of(failure, "reason")
                    hint="Shown wherever the schedule is, and kept in its history."/>
                <TextField id="pause-until" label="Until (optional, your time)" kind="datetime-local" value=until
                    error=of(failure, "until")/>
            </Act>
        </Dialog>
    }
}

/// Asks what becomes of the fires that fell into the pause.
#[component]
pub(super) fn ResumeDialog(
    open: RwSignal<bool>,
    id: Signal<String>,
    done: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let notices = use_notices();
    let failure = RwSignal::new(None);
    let missed = RwSignal::new("skip".to_owned());
    let act = move || {
        let choice = match missed.get_untracked().as_str() {
            "latest" => CatchUp::Latest,
            "all" => CatchUp::All,
            _ => CatchUp::Skip,
        };
        perform(open, failure, api::resume_schedule(id.get_untracked(), choice), move || {
            notices.done("Active again.");
            done();
        });
    };
    view! {
        <Dialog open=open title="Resume schedule">
            <Act open=open action="Resume" failure=failure act=act>
                <ChoiceField id="resume-missed" label="Fires that fell into the pause" value=missed
                    choices=vec![
                        ("skip", "Leave them out"),
                        ("latest", "Start the latest once"),
                        ("all", "Start all, as its catch-up limits allow"),
                    ]
                    error=of(failure, "missed")/>
            </Act>
        </Dialog>
    }
}

/// Asks for the name, so that nobody deletes by habit.
#[component]
pub(super) fn DeleteDialog(
    open: RwSignal<bool>,
    id: Signal<String>,
    name: Signal<String>,
) -> impl IntoView {
    let notices = use_notices();
    let navigate = StoredValue::new(use_navigate());
    let failure = RwSignal::new(None);
    let typed = RwSignal::new(String::new());
    let act = move || {
        if typed.get_untracked().trim() != name.get_untracked() {
            let mut wrong = Failure::new(api::Code::BadUserInput, "That is not its name.");
            wrong.field = Some("name".to_owned());
            return failure.set(Some(wrong));
        }
        perform(open, failure, api::delete_schedule(id.get_untracked(), None), move || {
            notices.done(format!("{} is deleted.", name.get_untracked()));
            navigate.with_value(|navigate| {
                navigate(&Route::Schedules.path(), NavigateOptions::default());
            });
        });
    };
    view! {
        <Dialog open=open title="Delete schedule">
            <Act open=open action="Delete" is_danger=true failure=failure act=act>
                <p>"Nothing fires any more; its ledger and runs stay until their time is up. Type "
                    <strong>{move || name.get()}</strong>" to confirm."</p>
                <TextField id="delete-name" label="Name of the schedule" value=typed error=of(failure, "name")/>
            </Act>
        </Dialog>
    }
}
