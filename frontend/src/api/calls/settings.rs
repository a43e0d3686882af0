//! Secrets, tokens, sessions, people, namespaces, feeds.

use crate::{
    api::{Ask, operations::settings::*},
    model::{
        self, Budget, CalendarFeed, Density, Membership, Named, Page, Place, Role, Theme, User,
    },
};

pub(crate) use crate::api::operations::settings::{
    create_api_token, create_calendar_feed, set_health_budget as budget_input, set_namespace_quotas,
};

pub(crate) fn secrets(namespace: String, place: Place, size: usize) -> Ask<Page<model::Secret>> {
    let (first, after) = place.forward(size);
    Ask::new::<Secrets>(secrets::Variables { namespace, first, after })
}

/// The names of the first two hundred secrets of a namespace.
pub(crate) fn secret_names(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<SecretNames>(secret_names::Variables { namespace })
}

pub(crate) fn set_secret(
    namespace: String,
    name: String,
    value: String,
    key: String,
) -> Ask<String> {
    let input = set_secret::SetSecretInput { namespace, name, value, reason: None };
    Ask::new::<SetSecret>(set_secret::Variables { input, key: Some(key) })
}

pub(crate) fn delete_secret(namespace: String, name: String) -> Ask<String> {
    Ask::new::<DeleteSecret>(delete_secret::Variables { namespace, name })
}

/// The caller's own tokens, or those of all users; with `text`, those whose names or owners' names contain it.
pub(crate) fn tokens(
    all: bool,
    text: Option<String>,
    place: Place,
    size: usize,
) -> Ask<Page<model::ApiToken>> {
    let (first, after) = place.forward(size);
    Ask::new::<ApiTokens>(api_tokens::Variables { all, text, first, after })
}

/// Creates a token, and returns its text. Takes no idempotency key: a repeated call could not show the token again.
pub(crate) fn create_token(input: create_api_token::CreateApiTokenInput) -> Ask<String> {
    Ask::new::<CreateApiToken>(create_api_token::Variables { input })
}

pub(crate) fn revoke_token(id: String) -> Ask<String> {
    Ask::new::<RevokeApiToken>(revoke_api_token::Variables { id })
}

/// The caller's own sessions, or those of a user.
pub(crate) fn sessions(user_id: Option<String>) -> Ask<Vec<model::Session>> {
    Ask::new::<Sessions>(sessions::Variables { user_id })
}

pub(crate) fn revoke_session(id: String) -> Ask<String> {
    Ask::new::<RevokeSession>(revoke_session::Variables { id })
}

/// Ends all sessions of a user; for the caller's own, all but the current one.
pub(crate) fn revoke_sessions(user_id: String) -> Ask<String> {
    Ask::new::<RevokeSessions>(revoke_sessions::Variables { user_id })
}

pub(crate) fn change_password(
    old_password: String,
    new_password: String,
    revoke_tokens: bool,
) -> Ask<String> {
    let variables = change_password::Variables { old_password, new_password, revoke_tokens };
    Ask::new::<ChangePassword>(variables)
}

/// All users; with `text`, those whose names contain it.
pub(crate) fn users(text: Option<String>, place: Place, size: usize) -> Ask<Page<User>> {
    let (first, after) = place.forward(size);
    Ask::new::<Users>(users::Variables { text, first, after })
}

/// The members of a namespace; with `text`, those whose names contain it.
pub(crate) fn memberships(
    namespace: String,
    text: Option<String>,
    place: Place,
    size: usize,
) -> Ask<Page<Membership>> {
    let (first, after) = place.forward(size);
    Ask::new::<Memberships>(memberships::Variables { namespace, text, first, after })
}

pub(crate) fn create_user(
    name: String,
    password: String,
    role: Option<Role>,
    sees_payloads: bool,
    key: String,
) -> Ask<String> {
    let input = create_user::CreateUserInput { name, password, role, sees_payloads, reason: None };
    Ask::new::<CreateUser>(create_user::Variables { input, key: Some(key) })
}

pub(crate) fn create_service_account(
    name: String,
    role: Option<Role>,
    sees_payloads: bool,
    key: String,
) -> Ask<String> {
    let input = create_service_account::CreateServiceAccountInput {
        name,
        role,
        sees_payloads,
        reason: None,
    };
    Ask::new::<CreateServiceAccount>(create_service_account::Variables { input, key: Some(key) })
}

pub(crate) fn set_role(user_id: String, role: Option<Role>, sees_payloads: bool) -> Ask<String> {
    Ask::new::<SetUserRole>(set_user_role::Variables { user_id, role, sees_payloads })
}

pub(crate) fn disable_user(user_id: String) -> Ask<String> {
    Ask::new::<DisableUser>(disable_user::Variables { user_id })
}

pub(crate) fn enable_user(user_id: String) -> Ask<String> {
    Ask::new::<EnableUser>(enable_user::Variables { user_id })
}

pub(crate) fn delete_user(user_id: String) -> Ask<String> {
    Ask::new::<DeleteUser>(delete_user::Variables { user_id })
}

pub(crate) fn reset_password(
    user_id: String,
    password: String,
    revoke_tokens: bool,
) -> Ask<String> {
    Ask::new::<ResetPassword>(reset_password::Variables { user_id, password, revoke_tokens })
}

pub(crate) fn set_membership(
    user: String,
    namespace: String,
    role: Role,
    sees_payloads: bool,
) -> Ask<String> {
    let input =
        set_membership::SetMembershipInput { user, namespace, role, sees_payloads, reason: None };
    Ask::new::<SetMembership>(set_membership::Variables { input })
}

pub(crate) fn remove_membership(user: String, namespace: String) -> Ask<String> {
    Ask::new::<RemoveMembership>(remove_membership::Variables { user, namespace })
}

/// The first two hundred namespaces in which the caller has a role.
pub(crate) fn namespaces() -> Ask<Vec<model::Namespace>> {
    Ask::new::<NamespaceList>(namespace_list::Variables)
}

pub(crate) fn retention(namespace: String) -> Ask<model::Retention> {
    Ask::new::<Retention>(retention::Variables { namespace })
}

/// The history that the next retention round would remove if the namespace kept it for this many days, or, with `None`,
/// as long as the server's configuration says.
pub(crate) fn retention_preview(
    namespace: String,
    days: Option<i64>,
) -> Ask<model::RetentionPreview> {
    let change = retention_preview::RetentionChangeInput {
        namespace: namespace.clone(),
        schedule: None,
        days,
    };
    let variables = retention_preview::Variables { namespace, change: Some(change) };
    Ask::new::<RetentionPreview>(variables)
}

pub(crate) fn set_retention(namespace: String, days: Option<i64>) -> Ask<String> {
    let variables = set_namespace_retention::Variables { namespace, days, reason: None };
    Ask::new::<SetNamespaceRetention>(variables)
}

pub(crate) fn create_namespace(name: String, key: String) -> Ask<String> {
    Ask::new::<CreateNamespace>(create_namespace::Variables { name, key: Some(key) })
}

pub(crate) fn rename_namespace(name: String, new_name: String) -> Ask<String> {
    Ask::new::<RenameNamespace>(rename_namespace::Variables { name, new_name })
}

/// Deletes a namespace with this number of schedules.
pub(crate) fn delete_namespace(
    name: String,
    reason: String,
    count: i64,
    key: String,
) -> Ask<String> {
    let (count, key) = (Some(count), Some(key));
    Ask::new::<DeleteNamespace>(delete_namespace::Variables { name, reason, count, key })
}

/// Restores the namespace of this name that was deleted last.
pub(crate) fn undelete_namespace(
    name: String,
    new_name: Option<String>,
    key: String,
) -> Ask<String> {
    let variables = undelete_namespace::Variables { name, new_name, key: Some(key) };
    Ask::new::<UndeleteNamespace>(variables)
}

pub(crate) fn deleted_namespaces() -> Ask<Vec<model::DeletedNamespace>> {
    Ask::new::<DeletedNamespaces>(deleted_namespaces::Variables)
}

/// What the deletion of a namespace would affect.
pub(crate) fn namespace_impact(namespace: String) -> Ask<model::NamespaceImpact> {
    Ask::new::<NamespaceImpact>(namespace_impact::Variables { namespace })
}

pub(crate) fn set_quotas(
    namespace: String,
    quotas: set_namespace_quotas::NamespaceQuotasInput,
) -> Ask<String> {
    Ask::new::<SetNamespaceQuotas>(set_namespace_quotas::Variables { namespace, quotas })
}

/// The budgets of tags of a namespace, or of all.
pub(crate) fn health_budgets(namespace: Option<String>) -> Ask<Vec<Budget>> {
    Ask::new::<HealthBudgets>(health_budgets::Variables { namespace })
}

pub(crate) fn set_health_budget(
    namespace: String,
    tag: String,
    limits: budget_input::HealthBudgetInput,
    key: String,
) -> Ask<String> {
    let variables = budget_input::Variables { namespace, tag, limits, key: Some(key) };
    Ask::new::<SetHealthBudget>(variables)
}

pub(crate) fn remove_health_budget(namespace: String, tag: String, key: String) -> Ask<String> {
    let variables = remove_health_budget::Variables { namespace, tag, key: Some(key) };
    Ask::new::<RemoveHealthBudget>(variables)
}

pub(crate) fn feeds() -> Ask<Vec<CalendarFeed>> {
    Ask::new::<CalendarFeeds>(calendar_feeds::Variables)
}

/// Creates a feed, and returns its path. Takes no idempotency key: a repeated call could not show the path again.
pub(crate) fn create_feed(input: create_calendar_feed::CreateCalendarFeedInput) -> Ask<String> {
    Ask::new::<CreateCalendarFeed>(create_calendar_feed::Variables { input })
}

pub(crate) fn revoke_feed(id: String) -> Ask<String> {
    Ask::new::<RevokeCalendarFeed>(revoke_calendar_feed::Variables { id })
}

pub(crate) fn profile() -> Ask<model::Profile> {
    Ask::new::<Profile>(profile::Variables)
}

/// The theme and the density that the server keeps for the caller.
pub(crate) fn appearance() -> Ask<model::Appearance> {
    Ask::new::<Appearance>(appearance::Variables)
}

/// Changes the caller's theme and density. `None` leaves one as it is.
pub(crate) fn save_appearance(
    theme: Option<Theme>,
    density: Option<Density>,
) -> Ask<model::Appearance> {
    Ask::new::<SaveAppearance>(save_appearance::Variables { theme, density })
}
