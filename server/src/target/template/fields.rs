//! Which texts of a target may be templates. A script is none of them: what a template puts into a
//! script would be run by the shell. A script reads its environment instead.

use serde_json::Value;

use crate::target::{Secret, Target, TargetError};

/// What has to be filled in before a target can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateUse {
    /// Nothing: it acts as it stands.
    None,
    /// Some of its texts.
    Some {
        /// Whether they may ask for the fire before this one, which has to be looked up.
        previous_fire: bool,
    },
}

/// Says what becomes of the text in a field: None leaves it as it is.
type Replace<'a> = dyn FnMut(&str, &str) -> Result<Option<String>, TargetError> + 'a;

/// Asks `with` about each text that may be a template.
pub(super) fn replace(target: &mut Target, with: &mut Replace<'_>) -> Result<(), TargetError> {
    match target {
        Target::Http(http) => {
            text("http.url", &mut http.url, with)?;
            for (name, value) in &mut http.headers {
                secret(&format!("http.headers.{name}"), value, with)?;
            }
            http.body.as_mut().map_or(Ok(()), |body| json("http.body", body, with))
        }
        Target::Command(command) => {
            for (index, arg) in command.args.iter_mut().enumerate() {
                text(&format!("command.args[{index}]"), arg, with)?;
            }
            for (name, value) in &mut command.env {
                secret(&format!("command.env.{name}"), value, with)?;
            }
            let directory = command.directory.as_mut();
            directory.map_or(Ok(()), |directory| text("command.directory", directory, with))
        }
        Target::Noop(_) => Ok(()),
    }
}

fn text(field: &str, text: &mut String, with: &mut Replace<'_>) -> Result<(), TargetError> {
    if let Some(other) = with(field, text)? {
        *text = other;
    }
    Ok(())
}

fn secret(field: &str, value: &mut Secret, with: &mut Replace<'_>) -> Result<(), TargetError> {
    if let Some(other) = with(field, value.expose())? {
        *value = Secret::new(other);
    }
    Ok(())
}

/// The texts inside a JSON body; its keys stay as they are.
fn json(field: &str, value: &mut Value, with: &mut Replace<'_>) -> Result<(), TargetError> {
    match value {
        Value::String(string) => text(field, string, with),
        Value::Array(items) => items.iter_mut().try_for_each(|item| json(field, item, with)),
        Value::Object(members) => {
            members.iter_mut().try_for_each(|(_, member)| json(field, member, with))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

pub(super) fn template_use(target: &Target) -> TemplateUse {
    let mut found = TemplateUse::None;
    let mut look = |_: &str, text: &str| {
        if super::is_template(text) {
            let before = matches!(found, TemplateUse::Some { previous_fire: true });
            let previous_fire = before || text.contains("previous_fire");
            found = TemplateUse::Some { previous_fire };
        }
        Ok(None)
    };
    // It never refuses.
    let _ = replace(&mut target.clone(), &mut look);
    found
}

/// What stands in for a template while the rest of the target is judged.
pub(super) fn placeholder(field: &str, text: &str) -> Option<String> {
    match field {
        // Where only the scheme is fixed, the scheme can be judged.
        "http.url" => Some(fixed_part(text).map_or_else(
            || format!("{}://example.com/", scheme(text).unwrap_or("https")),
            str::to_owned,
        )),
        header if header.starts_with("http.headers.") => Some("x".to_owned()),
        _ => None,
    }
}

/// The scheme of a URL, if no template is a part of it.
fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    (!super::is_template(scheme)).then_some(scheme)
}

/// The part of a URL before its first template, if that settles to which server it leads.
pub(super) fn fixed_part(url: &str) -> Option<&str> {
    let end = ["{{", "{%", "{#"].iter().filter_map(|mark| url.find(mark)).min()?;
    let fixed = &url[..end];
    let authority = fixed.find("://")? + 3;
    fixed[authority..].contains(['/', '?', '#']).then_some(fixed)
}
