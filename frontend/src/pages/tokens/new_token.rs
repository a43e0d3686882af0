//! The form of a new token.

use leptos::prelude::*;

use super::super::{
    kit::{self, Change, KeptFields, check, kept_form, of},
    suggest,
};
use crate::{
    api::{self, settings::create_api_token::CreateApiTokenInput},
    components::{Field, Look},
    data::Loading,
    model::{Failure, Role},
    state::use_address,
    time::Moment,
};

const DAY_MS: i64 = 86_400_000;

pub(super) fn new_token(
    open: RwSignal<bool>,
    made: RwSignal<Option<String>>,
    loading: Loading,
) -> AnyView {
    let text = |text: &str| RwSignal::new(text.to_owned());
    let (name, role, namespace) = (text(""), text("Viewer"), text(""));
    let (days, account, queues) = (text("90"), text(""), text(""));
    let payloads = RwSignal::new(false);
    let wrong = RwSignal::new(None);
    let kept = KeptFields::new()
        .with("name", name)
        .with("role", role)
        .with("namespace", namespace)
        .with("days", days)
        .with("account", account)
        .with("queues", queues)
        .with("payloads", payloads)
        .keep("token");
    let address = use_address();
    // The queues are those of the token's namespace, or else of the page's.
    let queues_of = Signal::derive(move || {
        let chosen = namespace.with(|name| name.trim().to_owned());
        if chosen.is_empty() { address.namespace() } else { chosen }
    });
    let for_account = kit::administers().then(|| {
        Field::new("token-account", "For the service account (optional)", account)
            .picks(suggest::people())
            .error(of(wrong, "serviceAccount"))
            .hint("By name. Empty: it acts for you.")
            .text()
    });
    let fields = view! {
        {kept.note()}
        {Field::new("token-name", "Name", name).first().required().error(of(wrong, "name"))
            .hint("What it is for: ci, backup, dashboard.").text()}
        <div class="field-grid">
            {Field::new("token-role", "Highest role", role).error(of(wrong, "role")).choice(&[
                ("Viewer", "look"), ("Operator", "operate"), ("Editor", "edit"), ("Admin", "administer"),
            ])}
            {Field::new("token-days", "Valid for", days).error(of(wrong, "expiresAt")).choice(&[
                ("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("0", "as long as it exists"),
            ])}
        </div>
        {Field::new("token-namespace", "Only in the namespace (optional)", namespace).picks(suggest::namespaces())
            .error(of(wrong, "namespace")).text()}
        {for_account}
        {Field::new("token-queues", "Only for workers of the queues (optional)", queues).code().picks(suggest::queues(queues_of))
            .error(of(wrong, "queues")).hint("For example emails, invoices. It then gives access to nothing else.").text()}
        {check("token-payloads", "Sees payloads", payloads, "Contexts, outputs and logs of runs, as far as its owner sees them.")}
    };
    let plan = move |_| {
        let given = |text: RwSignal<String>| {
            Some(text.get_untracked().trim().to_owned()).filter(|text| !text.is_empty())
        };
        let days: i64 = days.get_untracked().parse().unwrap_or_default();
        let unknown = || Failure::of_field("role", "Choose its role.");
        let input = CreateApiTokenInput {
            name: name.get_untracked().trim().to_owned(),
            role: Role::of_word(&role.get_untracked()).ok_or_else(unknown)?,
            namespace: given(namespace),
            queues: given(queues)
                .map(|text| text.split(',').map(|queue| queue.trim().to_owned()).collect()),
            sees_payloads: payloads.get_untracked(),
            expires_at: (days > 0).then(|| Moment::now().later(days * DAY_MS)),
            service_account: given(account),
            reason: None,
        };
        Ok(Change { ask: api::settings::create_token(input), said: String::new() })
    };
    let done = move |secret: String| {
        made.set(Some(secret));
        loading.reload();
    };
    kept_form(kept, open, (Look::Primary, "Create token"), wrong, fields.into_any(), plan, done)
}
