//! A change that is applied to many schedules: policies, and objects that they share.

use entity::schedule::Overlap;

use crate::{
    commands::BadInput,
    model::{
        Misfire, Spec, check,
        spec::{MAX_TAGS, buffer_limit},
    },
};

/// A change for many schedules. `None` leaves a field as it is; for optional fields, `Some(None)`
/// removes the value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManyEdit {
    /// Tags to add after the existing ones.
    pub add_tags: Vec<String>,
    /// Tags to remove.
    pub remove_tags: Vec<String>,
    /// The zone in which to read the unchanged expressions.
    pub zone: Option<String>,
    /// The complete list of calendars, by name.
    pub calendars: Option<Vec<String>>,
    /// The workflow to run, by name.
    pub workflow: Option<String>,
    /// The policy for missed fires.
    pub misfire: Option<Misfire>,
    /// The policy for a fire that is due while a run is alive.
    pub overlap: Option<Overlap>,
    /// The maximum number of waiting fires.
    pub buffer_limit: Option<Option<i64>>,
    /// The concurrency group, by name.
    pub group: Option<Option<String>>,
    /// The priority: of the waiting runs, those with a higher one are taken first.
    pub priority: Option<i64>,
    /// A fire that has not started this long after it was due is skipped.
    pub start_deadline_seconds: Option<Option<i64>>,
    /// How many days settled history is kept.
    pub retention_days: Option<Option<i64>>,
}

impl ManyEdit {
    /// Applies the change to one schedule.
    pub fn apply(&self, spec: &mut Spec) {
        fn set<T: Clone>(place: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                place.clone_from(value);
            }
        }
        spec.tags.retain(|tag| !self.remove_tags.contains(tag));
        for tag in &self.add_tags {
            if !spec.tags.contains(tag) {
                spec.tags.push(tag.clone());
            }
        }
        set(&mut spec.timing.zone, self.zone.as_ref());
        set(&mut spec.calendars, self.calendars.as_ref());
        set(&mut spec.misfire, self.misfire.as_ref());
        set(&mut spec.overlap, self.overlap.as_ref());
        if spec.overlap != Overlap::BufferAll {
            // The new policy has no limit. A change with both this policy and a limit is refused.
            spec.buffer_limit = None;
        }
        set(&mut spec.buffer_limit, self.buffer_limit.as_ref());
        spec.buffer_limit = buffer_limit(spec.overlap, spec.buffer_limit);
        set(&mut spec.group, self.group.as_ref());
        set(&mut spec.priority, self.priority.as_ref());
        set(&mut spec.start_deadline_seconds, self.start_deadline_seconds.as_ref());
        set(&mut spec.retention_days, self.retention_days.as_ref());
    }

    /// Refuses a change that no schedule could accept, before any schedule is changed.
    pub(in crate::commands) fn check(&self) -> Result<(), BadInput> {
        if *self == Self::default() {
            let help = "name what to change, such as addTags or priority";
            return Err(BadInput::new("change", "", "changes nothing", help));
        }
        for (list, tags) in [("addTags", &self.add_tags), ("removeTags", &self.remove_tags)] {
            if tags.len() > MAX_TAGS {
                let field = format!("change.{list}");
                let problem = format!("has {} tags; the limit is {MAX_TAGS}", tags.len());
                return Err(BadInput::new(field, tags.len(), problem, "use fewer"));
            }
            for (index, tag) in tags.iter().enumerate() {
                check::name(&format!("change.{list}[{index}]"), tag)?;
            }
        }
        if let Some(zone) = &self.zone
            && !timetable::zone_names().any(|name| name == zone)
        {
            let help = "give the canonical IANA name, such as Europe/Berlin";
            return Err(BadInput::new("change.zone", zone, "is not a time zone", help));
        }
        let mut spec = Spec::on("any", "@daily");
        if self.overlap.is_none() && self.buffer_limit.is_some() {
            // A schedule that keeps another policy refuses the limit when it is changed.
            spec.overlap = Overlap::BufferAll;
        }
        self.apply(&mut spec);
        spec.check().map_err(|bad| bad.inside("change"))
    }
}
