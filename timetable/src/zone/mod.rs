//! Time zones: their names, their rules, and their clock changes.
//!
//! A zone is named by its exact canonical IANA name. Its rules come from the newest available data:
//! the system's, the bundled data, or the data at a given path.
//! After the first use of a zone, no file is read for it. An instant is a number of unix seconds.
//!
//! - [`data`]: finds the newest zone data. This is the only IO of the crate.
//! - [`names`]: the valid names, and suggestions for invalid ones.
//! - [`span`]: the periods during which a zone's clock keeps one offset.

mod data;
mod names;
mod span;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use jiff::tz::TimeZone;

pub use data::{ZoneData, ZoneDataError, ZoneSource, is_later_release, use_zone_data, zone_data};
pub use names::zone_names;
pub(crate) use span::{HOUR, Span, TABULATED};

use crate::error::Fault;

/// A zone and its clock changes.
#[derive(Debug)]
pub(crate) struct Zone {
    name: &'static str,
    rules: TimeZone,
    /// Every span up to the end of this century, in order, without gaps.
    spans: Box<[Span]>,
}

/// All zones in use. They are few, and all timetables share them.
static ZONES: RwLock<Option<HashMap<&'static str, Arc<Zone>>>> = RwLock::new(None);

impl Zone {
    /// The zone with an exact canonical name.
    pub(crate) fn named(name: &str) -> Result<Arc<Zone>, Fault> {
        let name = names::canonical(name)?;
        // A poisoned lock only means that another thread panicked; the map itself is intact.
        let known = ZONES.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = known.as_ref().and_then(|zones| zones.get(name)) {
            return Ok(Arc::clone(zone));
        }
        drop(known);
        let rules = data::rules(name)?;
        let zone = Arc::new(Zone { name, spans: span::table(&rules), rules });
        let mut known = ZONES.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.get_or_insert_default().entry(name).or_insert(zone)))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the clock changes in every future year.
    pub(crate) fn keeps_changing(&self) -> bool {
        self.spans.last().is_some_and(|span| !span.is_last())
    }

    /// The last two clock changes of the table, as the spans that they begin,
    /// if the clock changes in every future year.
    pub(crate) fn yearly_changes(&self) -> Option<[Span; 2]> {
        match self.spans[..] {
            [.., first, second] if self.keeps_changing() => Some([first, second]),
            _ => None,
        }
    }

    /// The span that contains an instant.
    pub(crate) fn span_at(&self, instant: i64) -> Span {
        let index = self.spans.partition_point(|span| span.end <= instant);
        match self.spans.get(index) {
            Some(span) => *span,
            None => span::beyond(&self.rules, instant),
        }
    }
}
