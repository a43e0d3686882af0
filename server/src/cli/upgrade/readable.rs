//! Reads each stored text with the parser that the server uses for it.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use entity::{Keys, Strings, alert_channel, calendar, user::GivenElsewhere};
use sea_orm::ActiveEnum;
use serde::de::DeserializeOwned;
use serde_json::Value;
use timetable::{DstPolicy, Timetable};

use crate::{
    cli::timing::definition,
    commands::{
        PersonalSettings,
        modules::{check_declared, file::WorkflowEntry},
    },
    engine::alerting::alerts::{ChannelConfig, Rule},
    model::{Definition, OwnQuotas, Ping, Spec, calendars, definition::CompiledDefinition},
    store::stored::{StoredKind, StoredText},
};

/// Why this version cannot use the text, as the parser says; `None` if it can.
pub(super) fn problem(kind: StoredKind, row: &StoredText, now: DateTime<Utc>) -> Option<String> {
    let read = serde_json::from_str(&row.json).map_err(text);
    read.and_then(|json| check(kind, row, json, now)).err()
}

fn check(
    kind: StoredKind,
    row: &StoredText,
    json: Value,
    now: DateTime<Utc>,
) -> Result<(), String> {
    let about = row.about.as_deref().unwrap_or_default();
    match kind {
        StoredKind::Schedule => timing(json, about, now),
        StoredKind::ScheduleTags | StoredKind::TokenQueues => parsed::<Strings>(json).map(drop),
        StoredKind::ScheduleCalendars => parsed::<Keys>(json).map(drop),
        StoredKind::Ping => parsed::<Ping>(json).map(drop),
        StoredKind::ScheduleVersion => parsed::<Spec>(json).map(drop),
        StoredKind::Workflow => workflow(json),
        StoredKind::Calendar | StoredKind::CalendarVersion => {
            let mode = calendar::Mode::try_from_value(&about.to_owned()).map_err(text)?;
            calendars::of_definition(&row.name, mode, &json).map(drop).map_err(text)
        }
        StoredKind::Module => check_declared(json).map_err(text),
        StoredKind::AlertRule => alert_rule(json, now),
        StoredKind::AlertChannel => {
            let kind = alert_channel::Kind::try_from_value(&about.to_owned()).map_err(text)?;
            ChannelConfig::check_shown(kind, &json).map_err(text)
        }
        StoredKind::Quotas => parsed::<OwnQuotas>(json).map(drop),
        StoredKind::UserSettings => parsed::<PersonalSettings>(json).map(drop),
        StoredKind::UserGrants => parsed::<GivenElsewhere>(json).map(drop),
    }
}

fn parsed<T: DeserializeOwned>(json: Value) -> Result<T, String> {
    serde_json::from_value(json).map_err(text)
}

fn text(error: impl Display) -> String {
    error.to_string()
}

fn timing(json: Value, zone: &str, now: DateTime<Utc>) -> Result<(), String> {
    let Strings(expressions) = parsed(json)?;
    match Timetable::new(&definition(&expressions, zone, now, DstPolicy::default())) {
        Ok(_) => Ok(()),
        // The timing still had fires when it was saved.
        Err(error) if error.never_fires => Ok(()),
        Err(error) => Err(text(error)),
    }
}

fn workflow(json: Value) -> Result<(), String> {
    let definition: Definition = parsed(json)?;
    let compiled = CompiledDefinition::new(definition).map(drop);
    compiled.ok_or_else(|| "tasks: there is none, or no order in which they can run".to_owned())
}

fn alert_rule(json: Value, now: DateTime<Utc>) -> Result<(), String> {
    let (rule, _) = Rule::read(json).map_err(text)?;
    match rule.quiet {
        Some(quiet) => quiet.is_at(now).map(drop).map_err(|error| format!("quiet hours: {error}")),
        None => Ok(()),
    }
}

/// The fields of a workflow that contain a credential in plain text. An earlier version stored
/// them, and servers refuse them at the next change.
pub(super) fn credentials(kind: StoredKind, row: &StoredText) -> Vec<String> {
    if kind != StoredKind::Workflow {
        return Vec::new();
    }
    let definition = serde_json::from_str::<Definition>(&row.json);
    definition.map_or_else(
        |_| Vec::new(),
        |definition| WorkflowEntry::of(&definition).literal_credentials(),
    )
}

/// The displayed name of the object that the text belongs to.
pub(super) fn subject(kind: StoredKind, row: &StoredText) -> String {
    let StoredText { id, version, name, namespace, about, .. } = row;
    let what = match kind {
        StoredKind::Schedule | StoredKind::ScheduleVersion => "schedule",
        StoredKind::ScheduleTags => "tags of the schedule",
        StoredKind::ScheduleCalendars => "calendars of the schedule",
        StoredKind::Ping => "ping of the schedule",
        StoredKind::Workflow => "workflow",
        StoredKind::Calendar | StoredKind::CalendarVersion => "calendar",
        StoredKind::Module => "module",
        StoredKind::AlertRule => "alert rule",
        StoredKind::AlertChannel => "alert channel",
        StoredKind::Quotas => "quotas of the namespace",
        StoredKind::UserSettings => "settings of the user",
        StoredKind::UserGrants => "groups of the user",
        // A token's name is unique only among its owner's tokens.
        StoredKind::TokenQueues => return format!("queues of the token {name} ({id})"),
    };
    let place = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    // Objects with several versions show a version number, except for their current version.
    let is_numbered = match kind {
        StoredKind::Workflow => about.is_none(),
        StoredKind::ScheduleVersion | StoredKind::CalendarVersion => true,
        StoredKind::Schedule
        | StoredKind::ScheduleTags
        | StoredKind::ScheduleCalendars
        | StoredKind::Ping
        | StoredKind::Calendar
        | StoredKind::Module
        | StoredKind::AlertRule
        | StoredKind::AlertChannel
        | StoredKind::Quotas
        | StoredKind::UserSettings
        | StoredKind::UserGrants
        | StoredKind::TokenQueues => false,
    };
    let version = if is_numbered { format!(" version {version}") } else { String::new() };
    format!("{what} {place}{name}{version}")
}

/// The word under which the report counts a text; `None` for texts of a schedule or workflow, which
/// is itself counted.
pub(super) fn counted(kind: StoredKind) -> Option<&'static str> {
    match kind {
        StoredKind::Calendar => Some("calendars"),
        StoredKind::Module => Some("modules"),
        StoredKind::AlertRule => Some("alert_rules"),
        StoredKind::AlertChannel => Some("alert_channels"),
        StoredKind::Quotas => Some("quotas"),
        StoredKind::UserSettings => Some("user_settings"),
        StoredKind::UserGrants => Some("user_groups"),
        StoredKind::TokenQueues => Some("token_queues"),
        StoredKind::Schedule
        | StoredKind::ScheduleTags
        | StoredKind::ScheduleCalendars
        | StoredKind::Ping
        | StoredKind::ScheduleVersion
        | StoredKind::Workflow
        | StoredKind::CalendarVersion => None,
    }
}
