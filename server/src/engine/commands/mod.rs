//! The write side of the control plane: what people and tools may order.
//!
//! Promises: a command changes everything it names or nothing; it is in the audit log with who,
//! from where and why; repeated with the same idempotency key it answers and does nothing. Each
//! takes the right that it needs as its first value, so none can be called without. It knows
//! nothing of GraphQL: the API, the CLI and tests call the same functions.
//!
//! A command is one transaction on one row at a time and says why it refused in a
//! [`CommandError`] that names the field. Rules of the database (a name is unique) are not asked
//! for beforehand: the write is made, and the broken rule becomes the error.
//!
//! - `rights`: who is asking, and what that lets them do
//! - `error`: why a command was refused
//! - `check`: the small rules that many inputs share
//! - `spec`: a schedule's definition, wherever it came from
//! - `schedules`: create, update, delete; `bulk`: create many at once
//! - `together`: calls at the same moment in one transaction
//! - `making`, `writing`: the rows that these and modules write
//! - `rollback`: a definition as it was
//! - `pause`: pause, resume, what a resume would do; `skip`: leave out the next fires
//! - `calendars`: what suppresses fires, shared by schedules; `suppression`: what a schedule
//!   names of them
//! - `buffer`: fires that wait, reordered and purged
//! - `groups`: limits that schedules share
//! - `workflows`: the tasks that schedules and modules bring along
//! - `secrets`: masked when shown, kept when the mask comes back
//! - `standalone`: workflows made, changed and deleted by themselves
//! - `retention`: how long a namespace keeps its history
//! - `runs`: trigger, retry, cancel
//! - `backfills`: instants of the past: preview, order, pause, resume, cancel
//! - `modules`: what a file declares, deployed
//! - `cursor`: where a schedule stands after an edit
//! - `naming`: fields as each surface spells them
//! - `change`: what an edit changed, in words
//! - `audit`: who did what
//! - `idempotency`: a repeated call is answered

mod audit;
mod backfills;
mod buffer;
mod bulk;
mod calendars;
mod change;
pub(crate) mod check;
mod cursor;
mod error;
pub(crate) mod groups;
mod idempotency;
mod making;
mod modules;
mod naming;
mod pause;
mod retention;
mod rights;
mod rollback;
mod runs;
mod schedules;
pub(crate) mod secrets;
mod skip;
pub(crate) mod spec;
mod standalone;
pub(crate) mod suppression;
mod together;
mod workflows;
mod writing;

use std::sync::Arc;

pub use backfills::{Looked, Manner, OrderedBackfill, Preview, Wanted};
pub use buffer::Rearranged;
pub use calendars::{CalendarEdit, CalendarSpec, NewCalendar, SavedCalendar};
pub use error::{BadInput, CommandError};
pub use groups::{GroupEdit, Grouped};
pub use idempotency::Call;
pub use modules::{Action, Change, Deployment};
pub use pause::{ResumeChoice, ResumePreview};
pub use retention::Kept;
pub use rights::{Admin, Editor, Operator, Reader, Viewer, ViewerKind};
pub use rollback::Rollback;
pub(in crate::engine) use runs::laid_over;
pub use runs::{ByHand, Ordered};
pub use schedules::{Edit, NewSchedule, Saved};
pub use skip::Skipped;
pub use spec::{Misfire, Spec, Timing};
pub use standalone::{NewWorkflow, Revision};
use together::Gathering;
pub use workflows::Work;

use super::{
    Retention, Signals,
    calendars::Calendars,
    cluster::{Cluster, Standing, describe},
};
use crate::{clock::Clock, store::Store, target::Executor};

/// Carries out commands. Cheap to clone.
#[derive(Clone)]
pub struct Commands {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) cache: Arc<timetable::Cache>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) signals: Signals,
    pub(crate) calendars: Arc<Calendars>,
    pub(crate) retention: Retention,
    /// Whether the clock here may be believed.
    cluster: Cluster,
    /// Orders that come at the same time.
    gathering: Arc<Gathering>,
}

impl Commands {
    /// The commands over these.
    pub fn new(
        store: Store,
        clock: Clock,
        cache: Arc<timetable::Cache>,
        executor: Arc<Executor>,
        signals: Signals,
    ) -> Self {
        let retention = Retention::default();
        let (calendars, gathering) = (Arc::default(), Arc::default());
        let cluster = Cluster::default();
        Self { store, clock, cache, executor, signals, calendars, retention, cluster, gathering }
    }

    /// The same commands on a server that keeps history otherwise.
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// The same commands on a node that knows how its clock stands.
    pub fn with_cluster(self, cluster: Cluster) -> Self {
        Self { cluster, ..self }
    }

    /// Refuses what would move cursors by a clock that is wrong.
    fn has_right_clock(&self) -> Result<(), CommandError> {
        match self.cluster.standing(&self.clock) {
            Standing::ClockOff(offset) => {
                let problem = format!("the clock of this node is {}", describe(offset));
                let help = "ask another node, or try again when its clock is right";
                Err(CommandError::conflict(problem, help))
            }
            Standing::Ready | Standing::Draining | Standing::Usurped => Ok(()),
        }
    }
}
