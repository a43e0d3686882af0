use async_graphql::{Context, Enum, InputObject, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use crate::{
    access::ViewerKind,
    api::{
        call::call,
        context::ContextExt,
        error::Result,
        loaders::{ScheduleRow, SettingsOf},
        page::DECLARED,
        payload::{DeletePayload, schedule},
        scalar::Instant,
        schedule::Schedule,
    },
    commands::{self, Call, NewView, PersonalSettings, SettingsChange},
};

/// Mutations of a user's own settings.
#[derive(Default)]
pub(crate) struct SettingsMutation;

/// Mutations of a user's own settings.
#[Object]
impl SettingsMutation {
    /// Changes the settings that the console keeps for you. Absent fields keep their current
    /// values.
    async fn update_my_settings(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The settings to change.")] input: UpdateMySettingsInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ViewerSettingsPayload> {
        let who = cx.signed_in()?;
        let call = call("updateMySettings", &input, idempotency_key)?;
        let change = SettingsChange {
            theme: input.theme.map(Into::into),
            density: input.density.map(Into::into),
            seen_until: input.seen_until.map(|at| at.0),
        };
        cx.commands().change_settings(who, change, &call).await?;
        Ok(ViewerSettingsPayload { settings: own(cx).await?.unwrap_or_default() })
    }

    /// Saves a view for you. It replaces a view of the same page with the same name.
    async fn save_view(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The view to save.")] input: SaveViewInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SavedViewPayload> {
        let who = cx.signed_in()?;
        let call = call("saveView", &input, idempotency_key)?;
        let SaveViewInput { page, name, query } = input;
        let view = cx.commands().save_view(who, NewView { page, name, query }, &call).await?;
        Ok(SavedViewPayload { view: view.into() })
    }

    /// Deletes one of your saved views.
    async fn delete_view(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The view's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let who = cx.signed_in()?;
        let call = Call::new("deleteView", &json!([id]).to_string(), idempotency_key)?;
        Ok(DeletePayload { id: cx.commands().delete_view(who, id, &call).await? })
    }

    /// Adds a schedule to your favourites, or removes it.
    async fn set_favourite(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "True adds the schedule, to at most 200 favourites; false removes it.")]
        is_favourite: bool,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<FavouritePayload> {
        let right = cx.viewer()?;
        let arguments = json!([schedule_id, is_favourite]).to_string();
        let call = Call::new("setFavourite", &arguments, idempotency_key)?;
        let id = cx.commands().set_favourite(&right, schedule_id, is_favourite, &call).await?;
        Ok(FavouritePayload { schedule: schedule(cx, id).await? })
    }
}

/// A user's console settings.
#[derive(Default)]
pub(crate) struct ViewerSettings(PersonalSettings);

/// The caller's settings; None for a token.
pub(crate) async fn own(cx: &Context<'_>) -> Result<Option<ViewerSettings>> {
    let who = cx.signed_in()?;
    if who.kind != ViewerKind::User {
        return Ok(None);
    }
    let row = cx.rows().load_one(SettingsOf(who.id)).await?;
    let settings = row.as_ref().map(PersonalSettings::read).transpose()?;
    Ok(Some(ViewerSettings(settings.unwrap_or_default())))
}

/// The caller's favourite schedules; none for a token.
pub(crate) async fn favourites(cx: &Context<'_>) -> Result<Vec<Uuid>> {
    Ok(own(cx).await?.map(|settings| settings.0.favourites).unwrap_or_default())
}

/// A user's console settings.
#[Object]
impl ViewerSettings {
    /// How the console looks; null until the user has chosen.
    async fn theme(&self) -> Option<Theme> {
        self.0.theme.map(Into::into)
    }

    /// How densely the console shows lists; null until the user has chosen.
    async fn density(&self) -> Option<Density> {
        self.0.density.map(Into::into)
    }

    /// The user has seen all events up to this instant.
    async fn seen_until(&self) -> Option<Instant> {
        self.0.seen_until.map(Into::into)
    }

    /// Saved views by page and name; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn views(&self) -> Vec<SavedView> {
        self.0.views.iter().cloned().map(Into::into).collect()
    }

    /// Favourite schedules that the user may still see, in the order in which they were added; at
    /// most 200.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn favourites(&self, cx: &Context<'_>) -> Result<Vec<Schedule>> {
        let keys = self.0.favourites.iter().copied().map(ScheduleRow);
        let mut rows = cx.rows().load_many(keys.clone()).await?;
        let rows = keys.filter_map(|key| rows.remove(&key));
        let seen = |row: &entity::schedule::Model| {
            row.deleted_at.is_none() && cx.is_home(row.namespace_id)
        };
        Ok(rows.filter(seen).map(Schedule).collect())
    }
}

/// How the console looks.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::Theme")]
pub(crate) enum Theme {
    /// Follows the operating system.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// How densely the console shows lists.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::Density")]
pub(crate) enum Density {
    /// Tall rows.
    Comfortable,
    /// Short rows.
    Compact,
}

/// A saved view of a page.
#[derive(SimpleObject)]
pub(crate) struct SavedView {
    id: Uuid,
    /// The page that the view belongs to, such as `schedules`.
    page: String,
    name: String,
    /// The view's parameters: the part of the page's URL after `?`.
    query: String,
}

impl From<commands::View> for SavedView {
    fn from(view: commands::View) -> Self {
        let commands::View { id, page, name, query } = view;
        Self { id, page, name, query }
    }
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateMySettingsInput {
    /// How the console looks.
    theme: Option<Theme>,
    /// How densely the console shows lists.
    density: Option<Density>,
    /// You have seen all events up to this instant; now if it is in the future. It never moves back.
    seen_until: Option<Instant>,
}

/// A view to save.
#[derive(InputObject)]
pub(crate) struct SaveViewInput {
    /// The page that the view belongs to, such as `schedules`: 1 to 40 characters.
    page: String,
    /// The view's name, 1 to 80 characters.
    name: String,
    /// The view's parameters, the part of the page's URL after `?`: at most 2,000 characters.
    query: String,
}

/// A user's settings after a mutation.
#[derive(SimpleObject)]
pub(crate) struct ViewerSettingsPayload {
    settings: ViewerSettings,
}

/// A saved view after a mutation.
#[derive(SimpleObject)]
pub(crate) struct SavedViewPayload {
    view: SavedView,
}

/// A schedule that was added to the favourites or removed from them.
#[derive(SimpleObject)]
pub(crate) struct FavouritePayload {
    schedule: Schedule,
}
