//! Arguments that identify objects: names, ids, cursors.

use async_graphql::Context;
use uuid::Uuid;

use crate::{
    api::{context::ContextExt, error::Result},
    commands::BadInput,
    store::reads::within::Within,
};

/// The minimum cost of a root field, which needs a statement or a search of its own. Without it, a
/// request could contain the same field a thousand times under a thousand names.
pub(crate) const ROOT: usize = 100;

/// How an object is identified.
pub(super) enum IdOrName {
    Id(Uuid),
    Name(String),
}

/// Which of the two arguments the caller gave.
pub(super) fn one_of(id: Option<Uuid>, name: Option<String>) -> Result<IdOrName> {
    match (id, name) {
        (Some(id), None) => Ok(IdOrName::Id(id)),
        (None, Some(name)) => Ok(IdOrName::Name(name)),
        (Some(_), Some(name)) => {
            let help = "give one of the two";
            Err(BadInput::new("name", name, "is given together with 'id'", help).into())
        }
        (None, None) => Err(BadInput::new("id", "", "is missing", "give an id or a name").into()),
    }
}

/// The id of the namespace with this name.
pub(crate) async fn namespace_id(cx: &Context<'_>, name: &str) -> Result<Uuid> {
    let right = cx.viewer()?;
    Ok(cx.commands().namespace(cx.store().read(), right.permit(), name).await?)
}

/// The default namespace of lists.
pub(crate) fn usual() -> Option<String> {
    Some("default".to_owned())
}

/// The namespaces that a list is read from: the named one, or all that the caller may see.
pub(crate) async fn within(cx: &Context<'_>, name: Option<&str>) -> Result<Within> {
    if let Some(name) = name {
        return Ok(Within::One(namespace_id(cx, name).await?));
    }
    let right = cx.viewer()?;
    let grants = &right.who().grants;
    if grants.role_everywhere().is_none() {
        return Ok(Within::Some(grants.namespaces().map(|(id, _)| id).collect()));
    }
    // What is in deleted namespaces is hidden, until it is removed.
    Ok(if grants.hides_any() { Within::Live } else { Within::All })
}

/// The namespaces that a subscription follows: the named one, or all that the caller may see.
/// Unlike a list, a subscription outlives the deletion of a namespace.
pub(crate) async fn followed(cx: &Context<'_>, name: Option<&str>) -> Result<Within> {
    match within(cx, name).await? {
        Within::All => Ok(Within::Live),
        these @ (Within::One(_) | Within::Some(_) | Within::Live) => Ok(these),
    }
}

/// Maximum length of a text that names are searched for, in characters.
const MAX_TEXT: usize = 200;

/// A text that names are searched for; None if it is empty.
pub(crate) fn name_text(text: Option<String>) -> Result<Option<String>> {
    let text = text.filter(|text| !text.is_empty());
    match text {
        Some(text) if text.chars().count() > MAX_TEXT => {
            let help = format!("give at most {MAX_TEXT} characters");
            Err(BadInput::new("text", &text, "is too long", help).into())
        }
        text => Ok(text),
    }
}

/// The cursor of a list by name: the id, and the name as the list orders it.
pub(crate) fn name_cursor(id: Uuid, name: &str) -> String {
    format!("{}{}", id.simple(), name.to_lowercase())
}

/// Parses such a cursor.
pub(crate) fn name_key(cursor: &str) -> Option<(String, Uuid)> {
    let (id, name) = cursor.split_at_checked(32)?;
    Some((name.to_owned(), Uuid::try_parse(id).ok()?))
}
