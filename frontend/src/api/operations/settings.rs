//! The operations of the settings pages.

use graphql_client::GraphQLQuery;

use super::{DateTime, Long, Operation, UUID};
use crate::model::{
    ApiToken, Budget, CalendarFeed, DeletedNamespace, Density, FeedKind, Membership, Named,
    Namespace, Page, Profile as ProfileAnswer, Retention as RetentionAnswer,
    RetentionPreview as RetentionPreviewAnswer, Role, Secret, SecretUserKind, Session, Theme, User,
    ViewerKind,
};

operations! {
    Secrets = "graphql/secrets.graphql", "/secrets" => Page<Secret>;
    SecretNames = "graphql/secret_names.graphql", "/secrets/nodes" => Vec<Named>;
    SetSecret = "graphql/set_secret.graphql", "/setSecret/secret/id" => String;
    DeleteSecret = "graphql/delete_secret.graphql", "/deleteSecret/id" => String;
    ApiTokens = "graphql/api_tokens.graphql", "/apiTokens" => Page<ApiToken>;
    CreateApiToken = "graphql/create_api_token.graphql", "/createApiToken/secret" => String;
    RevokeApiToken = "graphql/revoke_api_token.graphql", "/revokeApiToken/id" => String;
    Sessions = "graphql/sessions.graphql", "/sessions" => Vec<Session>;
    RevokeSession = "graphql/revoke_session.graphql", "/__typename" => String;
    RevokeSessions = "graphql/revoke_sessions.graphql", "/__typename" => String;
    ChangePassword = "graphql/change_password.graphql", "/changePassword/user/id" => String;
    Users = "graphql/users.graphql", "/users" => Page<User>;
    Memberships = "graphql/memberships.graphql", "/memberships" => Page<Membership>;
    CreateUser = "graphql/create_user.graphql", "/createUser/user/id" => String;
    CreateServiceAccount = "graphql/create_service_account.graphql", "/createServiceAccount/user/id" => String;
    SetUserRole = "graphql/set_user_role.graphql", "/setUserRole/user/id" => String;
    DisableUser = "graphql/disable_user.graphql", "/disableUser/user/id" => String;
    EnableUser = "graphql/enable_user.graphql", "/enableUser/user/id" => String;
    DeleteUser = "graphql/delete_user.graphql", "/deleteUser/id" => String;
    ResetPassword = "graphql/reset_password.graphql", "/resetPassword/user/id" => String;
    SetMembership = "graphql/set_membership.graphql", "/setMembership/membership/userId" => String;
    RemoveMembership = "graphql/remove_membership.graphql", "/removeMembership/userId" => String;
    NamespaceList = "graphql/namespace_list.graphql", "/namespaces/nodes" => Vec<Namespace>;
    Retention = "graphql/retention.graphql", "/retention" => RetentionAnswer;
    RetentionPreview = "graphql/retention_preview.graphql", "/retentionPreview" => RetentionPreviewAnswer;
    SetNamespaceRetention = "graphql/set_namespace_retention.graphql", "/setNamespaceRetention/namespace" => String;
    CreateNamespace = "graphql/create_namespace.graphql", "/createNamespace/namespace/id" => String;
    RenameNamespace = "graphql/rename_namespace.graphql", "/renameNamespace/namespace/id" => String;
    DeleteNamespace = "graphql/delete_namespace.graphql", "/deleteNamespace/id" => String;
    UndeleteNamespace = "graphql/undelete_namespace.graphql", "/undeleteNamespace/namespace/id" => String;
    DeletedNamespaces = "graphql/deleted_namespaces.graphql", "/deletedNamespaces/nodes" => Vec<DeletedNamespace>;
    NamespaceImpact = "graphql/namespace_impact.graphql", "/namespaceImpact" => crate::model::NamespaceImpact;
    SetNamespaceQuotas = "graphql/set_namespace_quotas.graphql", "/setNamespaceQuotas/namespace/id" => String;
    CalendarFeeds = "graphql/calendar_feeds.graphql", "/calendarFeeds" => Vec<CalendarFeed>;
    CreateCalendarFeed = "graphql/create_calendar_feed.graphql", "/createCalendarFeed/path" => String;
    RevokeCalendarFeed = "graphql/revoke_calendar_feed.graphql", "/revokeCalendarFeed/id" => String;
    HealthBudgets = "graphql/health_budgets.graphql", "/healthBudgets" => Vec<Budget>;
    SetHealthBudget = "graphql/set_health_budget.graphql", "/setHealthBudget/budget/tag" => String;
    RemoveHealthBudget = "graphql/remove_health_budget.graphql", "/removeHealthBudget/id" => String;
    Profile = "graphql/profile.graphql", "/me" => ProfileAnswer;
    Appearance = "graphql/appearance.graphql", "/me/settings" => crate::model::Appearance;
    SaveAppearance = "graphql/save_appearance.graphql", "/updateMySettings/settings" => crate::model::Appearance;
}
