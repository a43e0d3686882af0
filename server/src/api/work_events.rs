//! Subscriptions to fires, alerts and backfills.

use async_graphql::{Context, SimpleObject, Subscription as Subscribable};
use entity::{alert, backfill, fire};
use uuid::Uuid;

use super::{
    alerts::Alert,
    backfill::Backfill,
    context::ContextExt,
    error::Result,
    filters::distinct,
    fire::{Fire, Verdict},
    follow::{FeedRead, FeedReader, follow},
    query::{followed, usual},
    subscription::{BATCH, Events, batch, events, not_a_cursor, position},
};
use crate::store::{
    Cursor,
    reads::{
        feed,
        fire_feed::{self, FireFeedFilter, FirePosition},
    },
};

/// Subscriptions to fires, alerts and backfills. Each event contains a cursor from which to resume.
#[derive(Default)]
pub(super) struct FollowingWork;

/// Subscriptions to fires, alerts and backfills. Each event contains a cursor from which to resume.
#[Subscribable]
impl FollowingWork {
    /// Fires as their outcome becomes known, and again whenever a run of theirs changes state, from
    /// `since` on: a client that reconnects with its last cursor misses no fire and gets no event
    /// twice. An event has the current state of the fire, so of two changes in quick succession
    /// only the last may be sent. A PENDING fire is sent only when it begins to wait in a buffer; a
    /// fire that waits for its due time or its hand-off is sent once that is over. The events of
    /// one schedule are not necessarily in the order of its instants.
    async fn fire_events(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only fires of this schedule.")] schedule_id: Option<Uuid>,
        #[graphql(desc = "Only fires that have one of these verdicts when they are sent.")]
        verdicts: Option<Vec<Verdict>>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, only new events are \
                    sent."
        )]
        since: Option<String>,
    ) -> Result<Events<FireEvent>> {
        cx.viewer()?;
        let within = followed(cx, namespace.as_deref()).await?;
        let store = cx.store().clone();
        let changes = store.changes().follow();
        let start = match since.as_deref() {
            Some(text) => text.parse::<FirePosition>().map_err(|_| not_a_cursor(text))?,
            None => fire_feed::end(&store).await?,
        };
        let filter = FireFeedFilter { schedule_id, verdicts: verdicts.map(distinct) };
        let read: FeedReader<FirePosition, (FirePosition, fire::Model)> = Box::new(move |after| {
            let (store, within, filter) = (store.clone(), within.clone(), filter.clone());
            Box::pin(async move {
                let read = fire_feed::changed(&store, &within, &filter, after, BATCH).await?;
                let fire_feed::ChangedFires { rows, position, more } = read;
                Ok(FeedRead { rows, position, more, ended: false })
            })
        });
        let event = |(position, row): (FirePosition, fire::Model)| FireEvent {
            cursor: position.to_string(),
            fire: Fire(row),
        };
        Ok(events(follow(changes, start, read), event))
    }

    /// Alerts as they begin, go on, are reported, are acknowledged and end, from `since` on: a
    /// client that reconnects with its last cursor misses nothing and sees nothing twice. Nothing
    /// is sent when an acknowledgement ends by itself or a rule is muted, because no alert is
    /// written then, nor when a rule is deleted with its alerts.
    async fn alert_events(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only alerts of this rule.")] rule_id: Option<Uuid>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, only new events are \
                    sent."
        )]
        since: Option<String>,
    ) -> Result<Events<AlertChangeEvent>> {
        cx.viewer()?;
        let within = followed(cx, namespace.as_deref()).await?;
        let store = cx.store().clone();
        let changes = store.changes().follow();
        let start = match position(since.as_deref())? {
            Some(cursor) => cursor,
            None => feed::end_of_alerts(&store).await?,
        };
        let read: FeedReader<Cursor, alert::Model> = Box::new(move |after| {
            let (store, within) = (store.clone(), within.clone());
            Box::pin(async move {
                Ok(batch(feed::alerts(&store, &within, rule_id, after, BATCH).await?))
            })
        });
        let event = |row: alert::Model| AlertChangeEvent {
            cursor: Cursor { changed: row.changed, id: row.id }.to_string(),
            alert_id: row.id,
            alert: row.withdrawn_at.is_none().then_some(Alert(row)),
        };
        Ok(events(follow(changes, start, read), event))
    }

    /// Backfills as they are created, go on, pause, are cancelled and end, from `since` on: a client
    /// that reconnects with its last cursor misses nothing and sees nothing twice. A backfill goes
    /// on when one of its fires starts or ends.
    async fn backfill_events(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only this backfill.")] backfill_id: Option<Uuid>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, only new events are \
                    sent."
        )]
        since: Option<String>,
    ) -> Result<Events<BackfillEvent>> {
        cx.viewer()?;
        let within = followed(cx, namespace.as_deref()).await?;
        let store = cx.store().clone();
        let changes = store.changes().follow();
        let start = match position(since.as_deref())? {
            Some(cursor) => cursor,
            None => feed::end_of_backfills(&store).await?,
        };
        let read: FeedReader<Cursor, backfill::Model> = Box::new(move |after| {
            let (store, within) = (store.clone(), within.clone());
            Box::pin(async move {
                Ok(batch(feed::backfills(&store, &within, backfill_id, after, BATCH).await?))
            })
        });
        let event = |row: backfill::Model| BackfillEvent {
            cursor: Cursor { changed: row.changed, id: row.id }.to_string(),
            backfill: Backfill(row),
        };
        Ok(events(follow(changes, start, read), event))
    }
}

/// A fire whose outcome or run changed.
#[derive(SimpleObject)]
pub(crate) struct FireEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// The current state of the fire.
    fire: Fire,
}

/// An alert that changed.
#[derive(SimpleObject)]
pub(crate) struct AlertChangeEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// Null if the alert was withdrawn, because its event ended within the grace period of its
    /// rule.
    alert: Option<Alert>,
    /// The id of the alert, withdrawn or not.
    alert_id: Uuid,
}

/// A backfill that changed.
#[derive(SimpleObject)]
pub(crate) struct BackfillEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// The current state of the backfill.
    backfill: Backfill,
}
