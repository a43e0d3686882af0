use chrono::SecondsFormat;
use serde::Serialize;
use timetable::{Fire, FireKind, Warning};

use crate::cli::{CliError, output};

/// A fire in the JSON format of `carillon preview`.
#[derive(Debug, Serialize)]
pub(super) struct PreviewFire {
    /// The instant, as RFC 3339 in UTC.
    at: String,
    /// The local time in the zone, without its offset.
    local: String,
    /// The UTC offset, such as `+02:00`.
    offset: String,
    kind: FireKind,
}

impl From<Fire> for PreviewFire {
    fn from(fire: Fire) -> Self {
        Self {
            at: fire.at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
            local: fire.local.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
            offset: fire.offset.to_string(),
            kind: fire.kind,
        }
    }
}

/// The output of `carillon preview --json`.
#[derive(Debug, Serialize)]
pub(super) struct Printed {
    pub(super) description: String,
    pub(super) fires: Vec<PreviewFire>,
    pub(super) warnings: Vec<Warning>,
}

impl Printed {
    /// Prints the fires and warnings for people.
    pub(super) fn print(&self) -> Result<(), CliError> {
        output::line(&self.description)?;
        if self.fires.is_empty() {
            output::line("no fire is left")?;
        }
        for PreviewFire { at, local, offset, kind } in &self.fires {
            let local = local.replacen('T', " ", 1);
            let note = match kind {
                FireKind::Normal => "",
                FireKind::Shifted => "  the clock skips the requested time: right after the gap",
                FireKind::FirstOfTwo => "  this time occurs twice: the first",
                FireKind::SecondOfTwo => "  this time occurs twice: the second",
            };
            output::line(format!("{local} {offset}  {at}{note}"))?;
        }
        self.warnings.iter().try_for_each(warn)
    }
}

/// A warning for people.
pub(in crate::cli) fn warn(warning: &Warning) -> Result<(), CliError> {
    let suggestion = warning.suggestion.as_ref();
    let suggestion = suggestion.map_or(String::new(), |text| format!("; write '{text}'"));
    output::line(format!("warning: {}{suggestion}", warning.message))
}
