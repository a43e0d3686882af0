//! The objects that name a secret: schedules, workflows, and alert channels.

use leptos::prelude::*;

use super::super::kit::note;
use crate::{
    model::{SecretUse, SecretUser, SecretUserKind},
    route::Route,
};

/// Number of objects that a row names.
const NAMED: usize = 2;

/// The first objects, and the number of the others, for a row.
pub(super) fn first(used: &SecretUse, namespace: &str) -> AnyView {
    if used.count == 0 {
        let words = if used.is_cut { "nothing found" } else { "nothing" };
        return view! { <span class="muted">{words}</span> }.into_any();
    }
    let named: Vec<_> = used.users.iter().take(NAMED).map(|user| line(user, namespace)).collect();
    let more = more(used, named.len()).map(note);
    view! { {named}{more} }.into_any()
}

/// The objects that the server names, and the number of the others, for the dialog that deletes a
/// secret.
pub(super) fn all(used: &SecretUse, namespace: &str) -> AnyView {
    let cut = used.is_cut.then(|| {
        view! { <p class="muted">"The namespace has too many to examine: there may be more."</p> }
    });
    if used.count == 0 {
        return view! { <p>"No schedule, workflow or channel names it."</p>{cut} }.into_any();
    }
    let users: Vec<_> = used
        .users
        .iter()
        .map(|user| view! { <li>{line(user, namespace)}</li> }.into_any())
        .collect();
    let more = more(used, users.len()).map(|more| view! { <li class="muted">{more}</li> });
    view! { <p>"It is named by:"</p><ul data-testid="secret-users">{users}{more}</ul>{cut} }
        .into_any()
}

fn more(used: &SecretUse, shown: usize) -> Option<String> {
    let more = used.count.saturating_sub(i64::try_from(shown).unwrap_or(i64::MAX));
    (more > 0).then(|| format!("and {more} more"))
}

fn line(user: &SecretUser, namespace: &str) -> AnyView {
    let (kind, route) = match user.kind {
        SecretUserKind::Schedule => ("schedule ", Route::Schedule(user.id.clone())),
        SecretUserKind::Workflow => ("workflow ", Route::Workflow(user.id.clone())),
        SecretUserKind::Channel => ("channel ", Route::AlertRules),
    };
    let href = route.path_at(namespace);
    view! { <span class="secret-user"><span class="muted">{kind}</span><a href=href>{user.name.clone()}</a></span> }
        .into_any()
}
