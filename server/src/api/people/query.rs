use async_graphql::{Context, Object};
use uuid::Uuid;

use super::{
    audit::{AuditEvent, AuditFilter},
    member::Membership,
    session::Session,
    tenant::Namespace,
    token::ApiToken,
    user::User,
};
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        page::{Connection, Paging, connection, cost, search_cost},
        query::name_text,
    },
    commands::{audit_page, audit_scope},
    store::{Page, memberships, namespaces, sessions, tokens, users},
};

/// Maximum number of sessions listed per user; the latest come first.
const MAX_SESSIONS: u64 = 200;

/// Queries of users, memberships, tokens, sessions and audit events.
#[derive(Default)]
pub(crate) struct PeopleQuery;

#[Object]
impl PeopleQuery {
    /// The namespaces in which you have a role, in order of creation.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn namespaces(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Namespace>> {
        let right = cx.viewer()?;
        let window = Paging::forward(first, after).window(key)?;
        let grants = &right.who().grants;
        let own: Vec<Uuid> = grants.namespaces().map(|(id, _)| id).collect();
        let only = grants.role_everywhere().is_none().then_some(&*own);
        let page = namespaces::page(cx.store().read(), only, &window).await?;
        Ok(connection(page, |row| cursor(row.id), |row| Namespace::of(cx, row)))
    }

    /// All users including service accounts, in the order in which they were added. For
    /// administrators of the instance.
    #[graphql(complexity = "search_cost(text.as_deref()) + cost(first, None, child_complexity)")]
    async fn users(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "Only users whose names contain this text, ignoring case; at most 200 \
                    characters.")]
        text: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<User>> {
        cx.owner()?;
        let window = Paging::forward(first, after).window(key)?;
        let text = name_text(text)?;
        let page = users::page(cx.store().read(), text.as_deref(), &window).await?;
        Ok(connection(page, |row| cursor(row.id), User))
    }

    /// The members of a namespace. For administrators of the namespace.
    #[graphql(complexity = "search_cost(text.as_deref()) + cost(first, None, child_complexity)")]
    async fn memberships(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(
            desc = "Only members whose names contain this text, ignoring case; at most 200 \
                    characters."
        )]
        text: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Membership>> {
        let right = cx.admin()?;
        let read = cx.store().read();
        let id = cx.commands().namespace(read, right.permit(), &namespace).await?;
        let window = Paging::forward(first, after).window(key)?;
        let text = name_text(text)?;
        let page = memberships::page(read, id, text.as_deref(), &window).await?;
        Ok(connection(page, |row| cursor(row.user_id), Membership))
    }

    /// Your tokens; for administrators of the instance, those of all users.
    #[graphql(complexity = "search_cost(text.as_deref()) + cost(first, None, child_complexity)")]
    async fn api_tokens(
        &self,
        cx: &Context<'_>,
        #[graphql(
            default = false,
            desc = "Whether to list the tokens of all users: for administrators of the instance."
        )]
        all: bool,
        #[graphql(
            desc = "Only tokens whose name or owner's name contains this text, ignoring case; at \
                    most 200 characters."
        )]
        text: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<ApiToken>> {
        let right = cx.viewer()?;
        let owner = if all {
            cx.owner()?;
            None
        } else {
            Some(right.who().id)
        };
        let window = Paging::forward(first, after).window(key)?;
        let text = name_text(text)?;
        let page = tokens::page(cx.store().read(), owner, text.as_deref(), &window).await?;
        Ok(connection(page, |row| cursor(row.id), ApiToken))
    }

    /// The browsers in which you are signed in, the latest first; at most 200. Administrators of
    /// the instance may query those of any user.
    #[graphql(complexity = "cost(Some(200), None, child_complexity)")]
    async fn sessions(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id; your own if absent.")] user_id: Option<Uuid>,
    ) -> Result<Vec<Session>> {
        let who = cx.signed_in()?;
        let user = user_id.unwrap_or(who.id);
        if user != who.id {
            cx.owner()?;
        }
        let now = cx.commands().clock.now().into();
        let rows = sessions::of_user(cx.store().read(), user, now, MAX_SESSIONS).await?;
        Ok(rows.into_iter().map(|row| Session::of(row, who.session.as_deref())).collect())
    }

    /// The changes in a namespace, newest first; for administrators of the namespace. Without a
    /// namespace, all changes; for administrators of the instance.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    async fn audit_events(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all changes: for administrators of the instance.")]
        namespace: Option<String>,
        #[graphql(desc = "Only changes that match this filter.")] filter: Option<AuditFilter>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(
            desc = "The page size, 1 to 200, to page from the end of the list; instead of `first`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor of the list.")] before: Option<String>,
    ) -> Result<Connection<AuditEvent>> {
        let scope = audit_scope(cx.store(), cx.signed_in()?, namespace.as_deref()).await?;
        let window = Paging { first, after, last, before }.window(key)?;
        let filter = filter.unwrap_or_default().into();
        let page: Page<_> = audit_page(cx.store(), scope, filter, &window).await?;
        Ok(connection(page, |entry| cursor(entry.row.id), AuditEvent::from))
    }
}

fn key(cursor: &str) -> Option<Uuid> {
    Uuid::try_parse(cursor).ok()
}

fn cursor(id: Uuid) -> String {
    id.simple().to_string()
}
