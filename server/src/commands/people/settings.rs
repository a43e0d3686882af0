//! A user's console settings: appearance, saved views, favourites. Each user has their own,
//! whatever their role; a token has none.

use chrono::{DateTime, Utc};
use entity::user_setting::Model;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::locked_user;
use crate::{
    access::{Reader, Viewer, ViewerKind},
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry, stored},
    model::check,
    random::new_id,
    store::{DatabaseTransaction, schedules, user_settings},
};

/// Maximum number of saved views of one user.
const MAX_VIEWS: usize = 100;
/// Maximum number of favourites of one user.
const MAX_FAVOURITES: usize = 200;

/// The console's colour scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    /// The setting of the browser's system.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// The height of the rows in the console's lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Density {
    /// Tall rows.
    Comfortable,
    /// Short rows.
    #[default]
    Compact,
}

/// A saved view of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Key.
    pub id: Uuid,
    /// The page that the view belongs to.
    pub page: String,
    /// Unique among the views of the page.
    pub name: String,
    /// The parameters of the page.
    pub query: String,
}

/// A user's console settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonalSettings {
    /// See [`Theme`]. `None` until the user has chosen: then the browser decides.
    pub theme: Option<Theme>,
    /// See [`Density`]. `None` until the user has chosen.
    pub density: Option<Density>,
    /// The user has seen all events up to this instant.
    pub seen_until: Option<DateTime<Utc>>,
    /// The user's saved views, sorted by page and name.
    pub views: Vec<View>,
    /// The user's favourite schedules, in the order in which they were added.
    pub favourites: Vec<Uuid>,
}

/// A change of appearance. `None` leaves a field as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct SettingsChange {
    /// See [`Theme`].
    pub theme: Option<Theme>,
    /// See [`Density`].
    pub density: Option<Density>,
    /// The user has seen all events up to this instant; now if it is in the future. It never moves
    /// back.
    pub seen_until: Option<DateTime<Utc>>,
}

/// A view to save.
#[derive(Clone, Debug)]
pub struct NewView {
    /// The page that the view belongs to.
    pub page: String,
    /// The view's name.
    pub name: String,
    /// The parameters of the page.
    pub query: String,
}

impl PersonalSettings {
    /// Parses the settings in a row.
    pub fn read(row: &Model) -> Result<Self, CommandError> {
        stored::read(row.settings.clone(), || "settings of a person".to_owned())
    }
}

impl Commands {
    /// Changes the caller's appearance settings, and the instant up to which they have seen all
    /// events. A change of that instant alone is not audited, because the console sets it at each
    /// visit.
    pub async fn change_settings(
        &self,
        who: &Viewer,
        change: SettingsChange,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let mut settings = self.own_settings(&tx, who).await?;
        let SettingsChange { theme, density, seen_until } = change;
        settings.theme = theme.or(settings.theme);
        settings.density = density.or(settings.density);
        // A browser sends the time of its own clock, which may be ahead.
        let seen_until = seen_until.map(|at| at.min(self.clock.now()));
        settings.seen_until = settings.seen_until.max(seen_until);
        if theme.is_some() || density.is_some() {
            let after = json!({ "theme": settings.theme, "density": settings.density });
            self.audit_settings(&tx, who, "user.settings", &who.name, after).await?;
        }
        self.keep_settings(tx, who, &settings, call, &who.id).await?;
        Ok(who.id)
    }

    /// Saves a view. The view replaces one of the same page with the same name, and keeps its key.
    pub async fn save_view(
        &self,
        who: &Viewer,
        new: NewView,
        call: &Call,
    ) -> Result<View, CommandError> {
        for (field, value, most) in
            [("page", &new.page, 40), ("name", &new.name, 80), ("query", &new.query, 2_000)]
        {
            check::text(field, value, most)?;
            if value.trim().is_empty() && field != "query" {
                return Err(BadInput::new(field, value, "is empty", "give it a name").into());
            }
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let mut settings = self.own_settings(&tx, who).await?;
        let NewView { page, name, query } = new;
        let is_same = |view: &View| view.page == page && view.name == name;
        let id = settings.views.iter().find(|view| is_same(view)).map(|view| view.id);
        settings.views.retain(|view| !is_same(view));
        if settings.views.len() >= MAX_VIEWS {
            let problem = format!("{MAX_VIEWS} views are kept already");
            return Err(CommandError::conflict(problem, "delete one of them first"));
        }
        let id = id.unwrap_or_else(|| new_id(self.clock.now()));
        let view = View { id, page, name, query };
        settings.views.push(view.clone());
        settings
            .views
            .sort_by(|one, other| (&one.page, &one.name).cmp(&(&other.page, &other.name)));
        let after = json!({ "page": view.page, "query": view.query });
        self.audit_settings(&tx, who, "user.view.save", &view.name, after).await?;
        self.keep_settings(tx, who, &settings, call, &view).await?;
        Ok(view)
    }

    /// Deletes one of the caller's saved views.
    pub async fn delete_view(
        &self,
        who: &Viewer,
        id: Uuid,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let mut settings = self.own_settings(&tx, who).await?;
        let place = settings.views.iter().position(|view| view.id == id);
        let place = place.ok_or_else(|| CommandError::not_found("view", id))?;
        let view = settings.views.remove(place);
        let after = json!({ "page": view.page, "deleted": true });
        self.audit_settings(&tx, who, "user.view.delete", &view.name, after).await?;
        self.keep_settings(tx, who, &settings, call, &id).await?;
        Ok(id)
    }

    /// Adds a schedule to the caller's favourites, or removes it.
    pub async fn set_favourite(
        &self,
        right: &Reader,
        schedule: Uuid,
        is_favourite: bool,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let row = schedules::by_id(&tx, schedule).await?.filter(|row| row.deleted_at.is_none());
        let row = row.ok_or_else(|| CommandError::not_found("schedule", schedule))?;
        right.permit().over(row.namespace_id, "schedule", schedule)?;
        let mut settings = self.own_settings(&tx, who).await?;
        let had = settings.favourites.contains(&schedule);
        settings.favourites.retain(|id| *id != schedule || is_favourite);
        if is_favourite && !had {
            if settings.favourites.len() >= MAX_FAVOURITES {
                let problem = format!("{MAX_FAVOURITES} schedules are favourites already");
                return Err(CommandError::conflict(problem, "remove one of them first"));
            }
            settings.favourites.push(schedule);
        }
        if had != is_favourite {
            let after = json!({ "favourite": is_favourite });
            self.audit_settings(&tx, who, "user.favourite", &row.name, after).await?;
        }
        self.keep_settings(tx, who, &settings, call, &schedule).await?;
        Ok(schedule)
    }

    /// The caller's settings, with their row locked, so that concurrent changes happen one after
    /// the other.
    async fn own_settings(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
    ) -> Result<PersonalSettings, CommandError> {
        if who.kind != ViewerKind::User {
            return Err(CommandError::Denied {
                problem: "a token has no settings",
                help: "sign in to change yours",
            });
        }
        locked_user(tx, who.id).await?;
        let row = user_settings::by_users(tx, &[who.id]).await?.pop();
        row.as_ref().map_or_else(|| Ok(PersonalSettings::default()), PersonalSettings::read)
    }

    async fn keep_settings<A: Serialize + Sync>(
        &self,
        tx: DatabaseTransaction,
        who: &Viewer,
        settings: &PersonalSettings,
        call: &Call,
        answer: &A,
    ) -> Result<(), CommandError> {
        let kept = serde_json::to_value(settings)
            .map_err(|source| CommandError::Unreadable { what: "settings".to_owned(), source })?;
        user_settings::put(&tx, who.id, kept, self.clock.now().into()).await?;
        self.remember(&tx, who, call, answer).await?;
        Ok(self.store.commit(tx).await?)
    }

    async fn audit_settings(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        action: &'static str,
        subject: &str,
        after: serde_json::Value,
    ) -> Result<(), CommandError> {
        let entry = AuditEntry {
            action,
            subject_id: Some(who.id),
            subject,
            after: Some(after),
            ..AuditEntry::default()
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}
