use entity::calendar_feed::{ActiveModel, Kind, Model};
use sea_orm::{ActiveEnum, ActiveModelTrait};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    access::{Viewer, ViewerKind, check_name, tokens::random},
    commands::{
        BadInput, Call, CommandError, Commands, audit::AuditEntry, bulk::query::sought, feeds,
    },
    model::check,
    random::new_id,
    search::SearchedList,
    store::{Constraint, StoreError, feeds as rows, schedules, users},
};

/// Maximum number of feeds of one owner.
pub const MAX_FEEDS: u64 = 50;

/// A calendar feed or a badge to create.
#[derive(Debug)]
pub struct NewFeed {
    /// The kind of feed that the address shows.
    pub kind: Kind,
    /// The name, unique among its owner's feeds.
    pub name: String,
    /// The namespace whose schedules the feed shows, by name.
    pub namespace: String,
    /// The only schedule that the feed shows, by name.
    pub schedule: Option<String>,
    /// A search for the schedules to show.
    pub search: Option<String>,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// A feed that was created.
#[derive(Debug, Serialize, Deserialize)]
pub struct MadeFeed {
    /// The feed's key.
    pub id: Uuid,
    /// The secret part of the feed's address. It is not stored, so a repeated call is answered
    /// without it.
    #[serde(skip)]
    pub text: Option<SecretString>,
}

fn shown(row: &Model) -> Value {
    let kind = row.kind.to_value();
    json!({ "kind": kind, "scheduleId": row.schedule_id, "search": row.search })
}

impl Commands {
    /// Creates a feed for the caller.
    pub async fn create_calendar_feed(
        &self,
        who: &Viewer,
        new: &NewFeed,
        call: &Call,
    ) -> Result<MadeFeed, CommandError> {
        let right = who.viewer()?;
        check_name("name", &new.name)?;
        check::optional_reason(new.reason.as_deref())?;
        if who.kind == ViewerKind::Token {
            return Err(CommandError::Denied {
                problem: "a token cannot create calendar feeds",
                help: "sign in and create one",
            });
        }
        if let (Some(_), Some(search)) = (&new.schedule, &new.search) {
            let help = "name a schedule, or give a search";
            return Err(
                BadInput::new("search", search, "is given together with a schedule", help).into()
            );
        }
        if let Some(search) = &new.search {
            sought(&self.clock, SearchedList::Schedules, search, false)?;
        }
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        let schedule = match &new.schedule {
            None => None,
            Some(name) => {
                let found = schedules::by_name(&tx, namespace, name).await?;
                Some(found.ok_or_else(|| CommandError::not_found("schedule", name))?.id)
            }
        };
        let owner = users::by_id(&tx, who.id).await?;
        let owner = owner.ok_or_else(|| CommandError::not_found("user", &who.name))?;
        if rows::count_of(&tx, owner.id).await? >= MAX_FEEDS {
            let problem = format!("you have {MAX_FEEDS} feeds, the maximum");
            return Err(CommandError::conflict(problem, "revoke those that are not used"));
        }
        let text = random(feeds::PREFIX)?;
        let row = Model {
            id: new_id(now),
            user_id: owner.id,
            name: new.name.clone(),
            hash: feeds::hashed(&text),
            kind: new.kind,
            namespace_id: namespace,
            schedule_id: schedule,
            search: new.search.clone(),
            created_at: now.into(),
            used_at: None,
        };
        let insert = ActiveModel::from(row.clone()).reset_all();
        rows::insert(&tx, insert).await.map_err(|error| name_taken(error, &new.name))?;
        let entry = AuditEntry {
            action: "feed.create",
            namespace: Some(namespace),
            subject_id: Some(row.id),
            subject: &row.name,
            reason: new.reason.as_deref(),
            before: None,
            after: Some(shown(&row)),
        };
        self.audit(&tx, who, entry).await?;
        let made = MadeFeed { id: row.id, text: Some(text.into()) };
        self.remember(&tx, who, call, &made).await?;
        self.store.commit(tx).await?;
        Ok(made)
    }

    /// Revokes a feed: the caller's own, or anyone's for an administrator of the instance.
    pub async fn revoke_calendar_feed(
        &self,
        who: &Viewer,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let missing = || CommandError::not_found("calendar feed", id);
        let row = rows::by_id(&tx, id).await?.ok_or_else(missing)?;
        if row.user_id != who.id && who.owner().is_err() {
            return Err(missing());
        }
        rows::delete(&tx, id).await?;
        let entry = AuditEntry {
            action: "feed.revoke",
            namespace: Some(row.namespace_id),
            subject_id: Some(id),
            subject: &row.name,
            reason,
            before: Some(shown(&row)),
            after: None,
        };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    if matches!(error, StoreError::Broken { constraint: Constraint::FeedName }) {
        let problem = "is the name of another of your calendar feeds";
        return BadInput::new("name", name, problem, "choose another name").into();
    }
    error.into()
}
