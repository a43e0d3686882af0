//! Makes alert channels and rules match the module's file.
//!
//! The lock order is the same as everywhere: rules before channels, and channels before the feeds
//! that rules read.

use std::collections::{BTreeMap, HashMap};

use entity::{alert_channel, alert_rule};
use uuid::Uuid;

use super::{
    declared,
    deploy::{DeploymentContext, inside},
    difference::{MaskedDefinition, between},
    file::{ChannelEntry, RuleEntry},
    plan::{ObjectChange, PlanAction},
};
use crate::{
    commands::{
        BadInput, CommandError, Commands,
        alerts::{Aftermath, Draft, MAX_CHANNELS, MAX_RULES, spec_of},
    },
    store::{
        alerts::{channels, rules},
        modules::DeclaredKind,
        secrets,
    },
};

/// The part of a file about alerts.
#[derive(Debug, Default)]
pub(super) struct DeclaredAlerts {
    pub(super) channels: BTreeMap<String, ChannelEntry>,
    pub(super) rules: BTreeMap<String, RuleEntry>,
}

impl Commands {
    /// Applies channels before rules, because rules name channels. Removals happen in reverse
    /// order.
    pub(super) async fn apply_alerts(
        &self,
        site: &DeploymentContext<'_>,
        alerts: DeclaredAlerts,
        prune: bool,
        aftermath: &mut Aftermath,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let (tx, namespace, module) = (site.tx, site.namespace, site.module);
        let mut changes = Vec::new();
        let is_said = !alerts.channels.is_empty() || !alerts.rules.is_empty();
        let is_own = |owner: &Option<String>| owner.as_deref() == Some(module);
        let (there, ways) = (
            rules::list(tx, namespace, MAX_RULES).await?,
            channels::list(tx, namespace, MAX_CHANNELS).await?,
        );
        let is_there = there.iter().any(|row| is_own(&row.module))
            || ways.iter().any(|row| is_own(&row.module));
        // A deployment without alerts does not wait for the locks of another.
        if !is_said && !is_there {
            return Ok(changes);
        }
        let mut rules = rules::lock_all(tx, namespace).await?;
        secrets::lock_sealing(tx, self.store.dialect()).await?;
        let mut channels = channels::lock_all(tx, namespace).await?;
        // Locked in the order of their keys, reported in the order of their names.
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        channels.sort_by(|a, b| a.name.cmp(&b.name));
        let is_gone =
            |owner: &Option<String>, is_declared: bool| prune && is_own(owner) && !is_declared;
        for row in &rules {
            if is_gone(&row.module, alerts.rules.contains_key(&row.name)) {
                self.remove_rule(tx, site.who, row, aftermath).await?;
                changes.push(ObjectChange::gone("alert_rule", &row.name));
            }
        }
        let gone: Vec<_> = channels
            .iter()
            .filter(|row| is_gone(&row.module, alerts.channels.contains_key(&row.name)))
            .collect();
        let mut ids: HashMap<String, Uuid> =
            channels.iter().map(|row| (row.name.clone(), row.id)).collect();
        for row in &gone {
            ids.remove(&row.name);
        }
        let leaving = u64::try_from(gone.len()).unwrap_or_default();
        for (name, entry) in alerts.channels {
            let row = channels.iter().find(|row| row.name == name);
            let declared = self.declare_channel(site, &name, row, entry, leaving).await;
            let field = format!("alert_channels.{name}");
            let (id, change) = declared.map_err(|error| inside(error, &field))?;
            ids.insert(name, id);
            changes.push(change);
        }
        let names: HashMap<Uuid, String> = channels
            .iter()
            .map(|row| (row.id, row.name.clone()))
            .chain(ids.iter().map(|(name, id)| (*id, name.clone())))
            .collect();
        for (name, entry) in alerts.rules {
            let row = rules.iter().find(|row| row.name == name);
            let declared =
                self.declare_rule(site, &name, row, entry, &ids, &names, aftermath).await;
            let field = format!("alert_rules.{name}");
            changes.push(declared.map_err(|error| inside(error, &field))?);
        }
        for row in gone {
            self.remove_channel(tx, site.who, row).await?;
            changes.push(ObjectChange::gone("alert_channel", &row.name));
        }
        Ok(changes)
    }

    async fn declare_channel(
        &self,
        site: &DeploymentContext<'_>,
        name: &str,
        row: Option<&alert_channel::Model>,
        entry: ChannelEntry,
        leaving: u64,
    ) -> Result<(Uuid, ObjectChange), CommandError> {
        let kind = entry.kind;
        let missing = self.missing_secrets(site, &entry).await?;
        let Some(row) = row else {
            let draft = Draft { name, kind, input: entry.input(None)? };
            let id = self
                .add_channel(site.tx, site.who, site.namespace, Some(site.module), draft, leaving)
                .await?;
            let made = format!("made{missing}");
            return Ok((id, ObjectChange::new(PlanAction::Create, "alert_channel", name, made)));
        };
        let (kind_of, module) = (DeclaredKind::AlertChannel, row.module.as_deref());
        let adopted = self.own(site, "name", name, kind_of, row.id, module).await?;
        let there = ChannelEntry::of_shown(row.kind, &row.shown);
        let draft = Draft { name, kind, input: entry.input(Some(&there))? };
        let wanted = self.redrafted(row, draft)?;
        let is_other = wanted.before.as_ref() != Some(&wanted.way);
        let before = match &wanted.before {
            Some(way) => declared::channel(&ChannelEntry::of(way)),
            // No key of this server decrypts the stored channel, so it is written again.
            None => declared::channel(&there),
        };
        let fields = between(&before, &declared::channel(&ChannelEntry::of(&wanted.way)));
        if is_other {
            self.revise_channel(site.tx, site.who, row, wanted).await?;
        }
        let told = is_other.then(|| format!("changed{missing}"));
        Ok((row.id, ObjectChange::of(adopted, "alert_channel", name, told, fields)))
    }

    /// Names the secrets of a channel that are not set. Its messages will wait for these secrets.
    async fn missing_secrets(
        &self,
        site: &DeploymentContext<'_>,
        entry: &ChannelEntry,
    ) -> Result<String, CommandError> {
        let mut names = entry.secret_names();
        if !names.is_empty() {
            let found = secrets::of_names(site.tx, site.namespace, &names).await?;
            names.retain(|name| found.iter().all(|row| row.name != *name));
        }
        if names.is_empty() {
            return Ok(String::new());
        }
        Ok(format!("; its messages wait until these secrets are set: {}", names.join(", ")))
    }

    async fn declare_rule(
        &self,
        site: &DeploymentContext<'_>,
        name: &str,
        row: Option<&alert_rule::Model>,
        entry: RuleEntry,
        ids: &HashMap<String, Uuid>,
        names: &HashMap<Uuid, String>,
        aftermath: &mut Aftermath,
    ) -> Result<ObjectChange, CommandError> {
        let mut channels = Vec::with_capacity(entry.channels.len());
        for (index, channel) in entry.channels.iter().enumerate() {
            let found = ids.get(channel).copied().ok_or_else(|| {
                let field = format!("channels[{index}]");
                let help = "name an alert channel of this namespace, or declare it in this file";
                BadInput::new(field, channel, "does not exist", help)
            })?;
            channels.push(found);
        }
        let spec = entry.spec(name, channels);
        let Some(row) = row else {
            self.add_rule(site.tx, site.who, site.namespace, Some(site.module), &spec).await?;
            return Ok(ObjectChange::new(PlanAction::Create, "alert_rule", name, "made"));
        };
        let module = row.module.as_deref();
        let adopted = self.own(site, "name", name, DeclaredKind::AlertRule, row.id, module).await?;
        let before = pictured(row, names)?;
        let revised = self.revise_rule(site.tx, site.who, row, &spec, aftermath).await?;
        let fields = between(&before, &declared::rule(RuleEntry::of(spec, names)));
        let told = revised.then(|| "changed".to_owned());
        Ok(ObjectChange::of(adopted, "alert_rule", name, told, fields))
    }
}

/// A rule as a file would declare it.
pub(super) fn pictured(
    row: &alert_rule::Model,
    names: &HashMap<Uuid, String>,
) -> Result<MaskedDefinition, CommandError> {
    Ok(declared::rule(RuleEntry::of(spec_of(row)?, names)))
}
