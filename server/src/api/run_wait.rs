//! The reasons why a run waits.

use async_graphql::{ComplexObject, Context, Enum, SimpleObject};
use entity::run;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{GroupLoad, GroupRow},
    page::DECLARED,
    run::Run,
    scalar::Instant,
};
use crate::{
    engine::{
        cluster::{Cluster, Fleet},
        places::{HeldBack, PlaceHolder},
    },
    store::groups,
};

/// Maximum number of runs that are listed as the cause of a wait.
const MAX_RUNS: u64 = 10;

/// The reason why a run waits.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunWaitReason {
    /// The next attempt is not due yet.
    NextAttempt,
    /// No live node may take the run.
    NoNode,
    /// The group's limit of concurrent runs is reached.
    Group,
    /// Runs with the same target origin use up that origin's share of the node's places.
    OriginShare,
    /// Runs of the same schedule use up the schedule's share of the node's places.
    ScheduleShare,
    /// Runs of the same namespace hold all places of the node except those reserved for other
    /// namespaces.
    NamespaceShare,
    /// The namespace's quota of concurrent runs is reached.
    Quota,
    /// All places of the nodes that may take the run are taken.
    NodesFull,
}

/// Something that a run waits for.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct RunWait {
    /// What the run waits for.
    reason: RunWaitReason,
    /// An explanation for people.
    text: String,
    /// When the wait will end, if known.
    until: Option<Instant>,
    /// The group's name, for `GROUP`.
    group: Option<String>,
    #[graphql(skip)]
    group_id: Option<Uuid>,
}

/// Something that a run waits for.
#[ComplexObject]
impl RunWait {
    /// The runs that hold the group's places, earliest start first; at most 10. Only for `GROUP`.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn runs(&self, cx: &Context<'_>) -> Result<Vec<Run>> {
        let Some(group) = self.group_id else { return Ok(Vec::new()) };
        let rows = groups::at_work(cx.store(), group, MAX_RUNS).await?;
        Ok(rows.into_iter().map(Run).collect())
    }
}

impl RunWait {
    fn new(reason: RunWaitReason, text: String) -> Self {
        Self { reason, text, until: None, group: None, group_id: None }
    }

    /// Whether it waits for anything other than a point in time.
    pub(super) fn is_stuck(&self) -> bool {
        self.reason != RunWaitReason::NextAttempt
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Everything that a run waits for; empty if it does not wait, or is about to be taken.
pub(super) async fn waits_for(cx: &Context<'_>, run: &run::Model) -> Result<Vec<RunWait>> {
    if !matches!(run.state, run::State::Queued | run::State::Retrying) {
        return Ok(Vec::new());
    }
    if run.available_at.utc() > cx.commands().clock.now() {
        let at = run.available_at.utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let text = format!("its next attempt is due at {at}");
        let until = Some(run.available_at.into());
        return Ok(vec![RunWait { until, ..RunWait::new(RunWaitReason::NextAttempt, text) }]);
    }
    let cluster = cx.data_unchecked::<Cluster>();
    let mut waits: Vec<RunWait> = node(cluster, run).into_iter().collect();
    waits.extend(group(cx, run).await?);
    waits.extend(share(cluster, run));
    if waits.is_empty() {
        waits.extend(full(cluster, run));
    }
    Ok(waits)
}

fn asked(run: &run::Model) -> &[String] {
    run.runs_on.as_ref().map_or(&[], |tags| &tags.0)
}

fn node(cluster: &Cluster, run: &run::Model) -> Option<RunWait> {
    let (asked, fleet) = (asked(run), cluster.seen());
    if fleet.has_place(asked) || fleet.members.is_empty() {
        return None;
    }
    let text = if asked.is_empty() {
        "no live node takes runs; start one with the role 'worker' (--roles)".to_owned()
    } else {
        let tags = asked.join(", ");
        format!("no live node has all of its tags ({tags}); start one with these node.tags")
    };
    Some(RunWait::new(RunWaitReason::NoNode, text))
}

async fn group(cx: &Context<'_>, run: &run::Model) -> Result<Option<RunWait>> {
    let Some(id) = run.group_id else { return Ok(None) };
    let Some(group) = cx.rows().load_one(GroupRow(id)).await? else { return Ok(None) };
    let running = cx.rows().load_one(GroupLoad(id)).await?.unwrap_or_default().running;
    if running < i64::from(group.max_runs) {
        return Ok(None);
    }
    let text =
        format!("group {}: {running} of {} runs are in progress", group.name, group.max_runs);
    let wait = RunWait::new(RunWaitReason::Group, text);
    Ok(Some(RunWait { group: Some(group.name), group_id: Some(id), ..wait }))
}

/// The shares of the places of the node that answers.
fn share(cluster: &Cluster, run: &run::Model) -> Option<RunWait> {
    let places = cluster.places();
    let is_of = |held: &HeldBack| match &held.holder {
        PlaceHolder::Origin(origin) => run.origin.as_deref() == Some(&**origin),
        PlaceHolder::Schedule(id) => run.schedule_id == Some(*id),
        PlaceHolder::Namespace(id) => run.namespace_id == *id,
    };
    let HeldBack { holder, held, is_quota, .. } = places.held_back().into_iter().find(is_of)?;
    let (capacity, name) = (places.capacity(), cluster.name());
    let share =
        |whose: &str| format!("{whose} holds {held} of {capacity} places of '{name}', its share");
    let (reason, text) = match holder {
        PlaceHolder::Origin(origin) => {
            (RunWaitReason::OriginShare, share(&format!("target origin {origin}")))
        }
        PlaceHolder::Schedule(_) => (RunWaitReason::ScheduleShare, share("its schedule")),
        PlaceHolder::Namespace(_) if !is_quota => {
            (RunWaitReason::NamespaceShare, share("its namespace"))
        }
        PlaceHolder::Namespace(_) => {
            let text = format!(
                "its namespace has as many live runs as its quota allows, {held} of them on '{name}'"
            );
            (RunWaitReason::Quota, text)
        }
    };
    Some(RunWait::new(reason, text))
}

fn full(cluster: &Cluster, run: &run::Model) -> Option<RunWait> {
    let fleet = cluster.seen();
    let (places, own) = (cluster.places(), cluster.name());
    let mut nodes = 0;
    for (name, held, capacity) in taking(&fleet, asked(run)) {
        let is_full =
            if name == own { places.held() >= places.capacity() } else { held >= capacity };
        if !is_full {
            return None;
        }
        nodes += 1;
    }
    let text = match nodes {
        0 => return None,
        1 => "all places of the only node that may take it are held".to_owned(),
        nodes => format!("all places of the {nodes} nodes that may take it are held"),
    };
    Some(RunWait::new(RunWaitReason::NodesFull, text))
}

/// The nodes that may take a run with these tags: name, occupied places, total places.
fn taking<'a>(fleet: &'a Fleet, asked: &'a [String]) -> impl Iterator<Item = (&'a str, i32, i32)> {
    let may = |tags: &[String]| asked.iter().all(|tag| tags.contains(tag));
    fleet
        .workers()
        .filter(move |member| may(&member.node.tags.0))
        .map(|member| (&*member.node.name, member.node.held, member.node.capacity))
}
