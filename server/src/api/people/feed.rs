use async_graphql::{Context, Enum, InputObject, Object, SimpleObject};
use entity::calendar_feed::{self, Kind};
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        call::call, context::ContextExt, error::Result, loaders::NamespaceName, page::cost,
        payload::DeletePayload, scalar::Instant,
    },
    commands::{Call, CommandError, MAX_FEEDS, MadeFeed, NewFeed},
    store::feeds,
};

/// The content of a feed.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "Kind")]
pub(crate) enum FeedKind {
    /// Upcoming runs, pauses and suppressed fires as iCalendar, at `/calendar.ics`.
    Calendar,
    /// The results of the last runs: a picture at `/badge.svg`, and JSON in the endpoint format of
    /// Shields.io at `/badge.json`.
    Badge,
}

/// Upcoming runs as a calendar (iCalendar) that other programs subscribe to by its URL, or a badge
/// to embed in other pages.
pub(crate) struct CalendarFeed(calendar_feed::Model);

/// Upcoming runs as a calendar (iCalendar) that other programs subscribe to by its URL, or a badge
/// to embed in other pages. It shows what its owner may see when it is read.
#[Object]
impl CalendarFeed {
    async fn id(&self) -> Uuid {
        self.0.id
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The content of the feed.
    async fn kind(&self) -> FeedKind {
        self.0.kind.into()
    }

    /// The namespace whose schedules the feed shows; null if its owner may no longer see them.
    async fn namespace(&self, cx: &Context<'_>) -> Result<Option<String>> {
        if !cx.is_home(self.0.namespace_id) {
            return Ok(None);
        }
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?)
    }

    /// The only schedule that the feed shows, if it is limited to one.
    async fn schedule_id(&self) -> Option<Uuid> {
        self.0.schedule_id
    }

    /// The search that selects the schedules the feed shows.
    async fn search(&self) -> Option<&str> {
        self.0.search.as_deref()
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// Last use, accurate to the minute.
    async fn used_at(&self) -> Option<Instant> {
        self.0.used_at.map(Into::into)
    }
}

/// A calendar feed to create: for a namespace, for one schedule, or for the schedules that match
/// a search.
#[derive(InputObject)]
pub(crate) struct CreateCalendarFeedInput {
    /// Unique among your feeds; 1 to 64 characters without spaces.
    name: String,
    /// The content of the feed.
    #[graphql(default_with = "FeedKind::Calendar")]
    kind: FeedKind,
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// The name of the only schedule to show.
    schedule: Option<String>,
    /// A search that selects the schedules to show, such as `tag:billing`.
    search: Option<String>,
    /// Reason for the audit log: 0 to 500 characters.
    reason: Option<String>,
}

impl From<CreateCalendarFeedInput> for NewFeed {
    fn from(input: CreateCalendarFeedInput) -> Self {
        let CreateCalendarFeedInput { name, kind, namespace, schedule, search, reason } = input;
        Self { kind: kind.into(), name, namespace, schedule, search, reason }
    }
}

/// A calendar feed that was created.
#[derive(SimpleObject)]
pub(crate) struct CreateCalendarFeedPayload {
    calendar_feed: CalendarFeed,
    /// The path below the server's URL; anyone who has it can see what the feed shows. Returned
    /// only this once: null for a repeated call.
    path: Option<String>,
}

impl CreateCalendarFeedPayload {
    async fn of(cx: &Context<'_>, made: MadeFeed) -> Result<Self> {
        let row = feeds::by_id(cx.store().read(), made.id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("calendar feed", made.id))?;
        let file = match row.kind {
            Kind::Calendar => "calendar.ics",
            Kind::Badge => "badge.svg",
        };
        let path = made.text.map(|text| format!("/{file}?token={}", text.expose_secret()));
        Ok(Self { calendar_feed: CalendarFeed(row), path })
    }
}

/// Queries of calendar feeds.
#[derive(Default)]
pub(crate) struct FeedQuery;

/// Queries of calendar feeds.
#[Object]
impl FeedQuery {
    /// Your calendar feeds by name; administrators of the instance may query those of any user. At
    /// most 50.
    #[graphql(complexity = "cost(Some(50), None, child_complexity)")]
    async fn calendar_feeds(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id; your own if absent.")] user_id: Option<Uuid>,
    ) -> Result<Vec<CalendarFeed>> {
        let who = cx.signed_in()?;
        let user = user_id.unwrap_or(who.id);
        if user != who.id {
            cx.owner()?;
        }
        let rows = feeds::of_user(cx.store().read(), user, MAX_FEEDS).await?;
        Ok(rows.into_iter().map(CalendarFeed).collect())
    }
}

/// Mutations of calendar feeds.
#[derive(Default)]
pub(crate) struct FeedMutation;

/// Mutations of calendar feeds.
#[Object]
impl FeedMutation {
    /// Creates a calendar feed of upcoming runs for yourself. Its address is returned only this
    /// once.
    async fn create_calendar_feed(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The feed to create.")] input: CreateCalendarFeedInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<CreateCalendarFeedPayload> {
        let who = cx.signed_in()?;
        let call = call("createCalendarFeed", &input, idempotency_key)?;
        let made = cx.commands().create_calendar_feed(who, &input.into(), &call).await?;
        CreateCalendarFeedPayload::of(cx, made).await
    }

    /// Revokes one of your calendar feeds: its address stops working. Administrators of the
    /// instance may revoke anyone's.
    async fn revoke_calendar_feed(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The feed's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let who = cx.signed_in()?;
        let arguments = json!([id, reason]).to_string();
        let call = Call::new("revokeCalendarFeed", &arguments, idempotency_key)?;
        let id = cx.commands().revoke_calendar_feed(who, id, reason.as_deref(), &call).await?;
        Ok(DeletePayload { id })
    }
}
