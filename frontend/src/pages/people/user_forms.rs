//! Forms that change a user's role and password.

use leptos::prelude::*;

use super::{
    super::kit::{Change, check, form, new_password, of},
    roles::CHOICES,
};
use crate::{
    api,
    components::{Field, Look},
    data::Loading,
    model::{Role, User},
};

pub(super) fn role(user: &User, open: RwSignal<bool>, loading: Loading) -> AnyView {
    let role = RwSignal::new(user.role.map(Role::word).unwrap_or_default().to_owned());
    let payloads = RwSignal::new(user.sees_payloads);
    let wrong = RwSignal::new(None);
    let (id, name) = (user.id.clone(), user.name.clone());
    let fields = view! {
        <p>"What "<strong>{name.clone()}</strong>" may do in every namespace. It takes effect at once, also in open sessions."</p>
        {Field::new("user-role", "May everywhere", role).first().error(of(wrong, "role")).choice(CHOICES)}
        {check("user-payloads", "Sees payloads", payloads, "Contexts, outputs, errors and logs, everywhere. Editors see them in any case.")}
    };
    let plan = move |_| {
        let role = Role::of_word(&role.get_untracked());
        let ask = api::settings::set_role(id.clone(), role, payloads.get_untracked());
        Ok(Change { ask, said: format!("The role of {name} is changed.") })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, "Change role"), wrong, fields.into_any(), plan, done)
}

/// The form that sets a new password, which is generated here and shown once.
pub(super) fn password(
    user: &User,
    open: RwSignal<bool>,
    made: RwSignal<Option<String>>,
    loading: Loading,
) -> AnyView {
    let revoke = RwSignal::new(false);
    let wrong = RwSignal::new(None);
    // The form may be closed while the server changes the password.
    let password = new_password();
    let shown = password.clone();
    let (id, name) = (user.id.clone(), user.name.clone());
    let fields = view! {
        <p>"Generates a new password for "<strong>{name.clone()}</strong>", shown to you once. At the next sign-in they choose their own. The current one stops working, and their sessions end."</p>
        {check("reset-tokens", "Revoke their tokens as well", revoke, "Otherwise programs that use them keep working.")}
    };
    let plan = move |_| {
        let ask =
            api::settings::reset_password(id.clone(), password.clone(), revoke.get_untracked());
        Ok(Change { ask, said: format!("{name} has a new password.") })
    };
    let done = move |_| {
        made.set(Some(shown.clone()));
        loading.reload();
    };
    form(open, (Look::Danger, "Generate a new password"), wrong, fields.into_any(), plan, done)
}
