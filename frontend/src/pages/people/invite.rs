//! Adding a user or a service account.

use leptos::{prelude::*, task::spawn_local};

use super::{
    super::kit::{Change, check, form, new_password, of},
    roles::CHOICES,
};
use crate::{
    api,
    components::{Field, Look},
    data::Loading,
    model::Role,
};

const SEES: &str = "Contexts, outputs, errors and logs of runs. Editors see them in any case.";

/// The form that adds a user. The password is generated here and shown once.
pub(super) fn invite(
    open: RwSignal<bool>,
    made: RwSignal<Option<String>>,
    loading: Loading,
) -> AnyView {
    let (name, role) = (RwSignal::new(String::new()), RwSignal::new("Viewer".to_owned()));
    let payloads = RwSignal::new(false);
    let wrong = RwSignal::new(None);
    // The form may be closed while the server creates the user.
    let password = new_password();
    let shown = password.clone();
    let fields = view! {
        {Field::new("invite-name", "Name", name).first().required().error(of(wrong, "name"))
            .hint("Letters, digits and . _ @ + -").text()}
        {Field::new("invite-role", "May everywhere", role).error(of(wrong, "role")).choice(CHOICES)}
        {check("invite-payloads", "Sees payloads", payloads, SEES)}
        <p class="hint">"A first password is generated and shown to you once. At the first sign-in they choose their own."</p>
        {by_provider()}
    };
    let plan = move |key| {
        let name = name.get_untracked().trim().to_owned();
        let said = format!("{name} may sign in.");
        let role = Role::of_word(&role.get_untracked());
        let ask =
            api::settings::create_user(name, password.clone(), role, payloads.get_untracked(), key);
        Ok(Change { ask, said })
    };
    let done = move |_| {
        made.set(Some(shown.clone()));
        loading.reload();
    };
    form(open, (Look::Primary, "Invite"), wrong, fields.into_any(), plan, done)
}

/// Who needs no invitation, if users can sign in through an identity provider.
fn by_provider() -> AnyView {
    let provider = RwSignal::new(None::<String>);
    spawn_local(async move {
        let name = api::sign_in_methods().await.and_then(|methods| methods.provider);
        let _gone = provider.try_set(name);
    });
    let hint = move |name: String| {
        let words = format!(
            "People whose groups at {name} grant them a role need neither an invitation nor a password: they sign in \
             with {name}, and are listed here from then on."
        );
        view! { <p class="hint" data-testid="by-provider">{words}</p> }.into_any()
    };
    view! { {move || provider.get().map(hint)} }.into_any()
}

/// The form that adds a service account.
pub(super) fn account(open: RwSignal<bool>, loading: Loading) -> AnyView {
    let (name, role) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let payloads = RwSignal::new(false);
    let wrong = RwSignal::new(None);
    let fields = view! {
        <p>"Nobody signs in as it: programs authenticate with its tokens, which you create under Tokens and sessions."</p>
        {Field::new("account-name", "Name", name).first().required().error(of(wrong, "name")).text()}
        {Field::new("account-role", "May everywhere", role).error(of(wrong, "role")).choice(CHOICES)}
        {check("account-payloads", "Sees payloads", payloads, SEES)}
    };
    let plan = move |key| {
        let name = name.get_untracked().trim().to_owned();
        let said = format!("{name} is created. Create a token for it.");
        let role = Role::of_word(&role.get_untracked());
        let ask = api::settings::create_service_account(name, role, payloads.get_untracked(), key);
        Ok(Change { ask, said })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, "Create account"), wrong, fields.into_any(), plan, done)
}
