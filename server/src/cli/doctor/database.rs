//! Checks the database, its schema, its users and its nodes.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::ExposeSecret;

use super::{
    Finding, channels,
    keys::{self, Samples},
};
use crate::{
    app,
    clock::Clock,
    config::{Config, NodeRole},
    store::{
        MigrationState, Migrations, Options, Store, StoreError, alerts, backup,
        claims::MAX_OFFSET_MS,
        inspect::{self, Inspection},
        reads::feed,
        secrets, users,
    },
};

/// The oldest PostgreSQL that supports the change feed.
const OLDEST: (i64, &str) = (130_000, "13");
/// Clock offsets from this value on produce a warning, before they are large enough for an error.
const NOTICED_MS: i64 = 1_000;
/// Number of connections that a node briefly opens in addition to its pool.
const BESIDE_POOL: i64 = 3;

/// All findings about the database.
pub(super) async fn examine(config: &Config, clock: &Clock) -> Vec<Finding> {
    let options = app::database(config);
    if let Ok(file) = backup::file_of(config.database.url.expose_secret())
        && !file.exists()
    {
        let found = format!("'{}' does not exist yet; the first start creates it", file.display());
        return vec![
            Finding::ok("database", found),
            keys::examine(config, Some(&Samples::default())),
        ];
    }
    let asked = clock.now();
    let look = match inspect::look(&options).await {
        Ok(look) => look,
        Err(error) => return vec![unreachable(&error), keys::examine(config, None)],
    };
    let answered = clock.now();
    let mut found = vec![version(&look), writes(&look)];
    if look.kind == "postgres" {
        found.push(time(asked, look.now.utc(), answered));
        found.push(safety(&look));
        found.extend(room(&look, config.database.connections));
    }
    let is_current = look.schema.as_ref().is_ok_and(|schema| schema.pending.is_empty());
    found.push(schema(look.schema, config.database.migrate));
    if is_current {
        found.extend(what_is_in_it(config, &options).await);
    } else {
        found.push(keys::examine(config, None));
    }
    found
}

fn unreachable(error: &StoreError) -> Finding {
    let text = error.to_string();
    let help = "check database.url, that the database runs, and that its user may connect";
    Finding::error("database", format!("failed to {text}"), help)
}

fn version(look: &Inspection) -> Finding {
    let Inspection { kind, version, .. } = look;
    let (least, named) = OLDEST;
    if *kind == "postgres" && look.version_number < least {
        let found = format!("PostgreSQL {version} is too old");
        return Finding::error("database", found, format!("use PostgreSQL {named} or later"));
    }
    let name = if *kind == "postgres" { "PostgreSQL" } else { "SQLite" };
    Finding::ok("database", format!("{name} {version} answers"))
}

fn writes(look: &Inspection) -> Finding {
    match &look.refuses {
        None => Finding::ok("writing", "the database accepts writes"),
        Some(why) => {
            let help = "give the server's user the right to write there: to the file and its \
                        folder, or by GRANT on the schema and its tables";
            Finding::error("writing", why.clone(), help)
        }
    }
}

/// Compares this clock with the database's, by the smallest difference that the query's start and
/// end allow.
fn time(asked: DateTime<Utc>, database: DateTime<Utc>, answered: DateTime<Utc>) -> Finding {
    let offset = TimeDelta::zero().clamp(asked - database, answered.max(asked) - database);
    let ms = offset.num_milliseconds();
    let found = format!("this machine's clock is {ms} ms ahead of the database's");
    let help = "let both machines follow a time server (chrony, systemd-timesyncd)";
    if ms.abs() > MAX_OFFSET_MS {
        let limit = MAX_OFFSET_MS / 1_000;
        let found = format!("{found}; a node with more than {limit} s does not schedule");
        Finding::error("clock", found, help)
    } else if ms.abs() > NOTICED_MS {
        Finding::warning("clock", found, help)
    } else {
        Finding::ok("clock", found)
    }
}

fn safety(look: &Inspection) -> Finding {
    if look.unsafe_settings.is_empty() {
        return Finding::ok("durability", "an acknowledged commit is on the disk");
    }
    let found = format!("{}: a crash can lose what was committed", look.unsafe_settings.join(", "));
    Finding::warning("durability", found, "turn them on in PostgreSQL's configuration")
}

fn room(look: &Inspection, own: u32) -> Option<Finding> {
    let (used, most) = look.connections?;
    let needed = i64::from(own) + BESIDE_POOL;
    let found = format!("{used} of {most} connections are open, and a node takes up to {needed}");
    Some(if used + needed > most {
        let help = "raise max_connections, or lower database.connections. A server that runs \
                    already is counted among those that are open";
        Finding::warning("connections", found, help)
    } else {
        Finding::ok("connections", found)
    })
}

fn schema(schema: Result<MigrationState, StoreError>, migrates: bool) -> Finding {
    const CHECK: &str = "schema";
    match schema {
        Err(error) => {
            let help = "run the version of Carillon that made it, or a later one";
            Finding::error(CHECK, format!("failed to {error}"), help)
        }
        Ok(MigrationState { applied, pending }) if pending.is_empty() => {
            let last = applied.last().map(String::as_str).unwrap_or_default();
            Finding::ok(CHECK, format!("it is up to date ({last})"))
        }
        Ok(MigrationState { pending, .. }) => {
            let found = format!("{} migrations are pending", pending.len());
            if migrates {
                let help = "the next start applies them; make a backup first";
                Finding::warning(CHECK, found, help)
            } else {
                let found = format!("{found}, and database.migrate is false");
                Finding::error(CHECK, found, "make a backup, then run 'carillon migrate'")
            }
        }
    }
}

async fn what_is_in_it(config: &Config, options: &Options) -> Vec<Finding> {
    let options = Options { migrations: Migrations::Refuse, connections: 2, ..options.clone() };
    let seen = async {
        let store = Store::open(&options).await?;
        let nobody = users::is_empty(store.read()).await?;
        let living = store.living_nodes().await?;
        let keys = Samples {
            secrets: secrets::samples(store.read()).await?,
            channels: alerts::sealed::samples(store.read()).await?,
        };
        let is_ahead = feed::is_ahead(&store).await?;
        let told = channels::look(config, &store).await?;
        store.close().await?;
        Ok::<_, StoreError>((nobody, living, keys, is_ahead, told))
    };
    let (nobody, living, keys, is_ahead, told) = match seen.await {
        Ok(seen) => seen,
        Err(error) => return vec![unreachable(&error)],
    };
    let expiry = config.engine.heartbeat_expiry.0;
    let living: Vec<_> = living.into_iter().filter(|life| !life.is_over(expiry)).collect();
    let roles = living.iter().flat_map(|life| life.node.roles.0.iter().map(String::as_str));
    let zone_data = living.iter().map(|life| (life.node.name.as_str(), &*life.node.zone_data));
    let mut found = vec![
        stamps(is_ahead),
        people(nobody),
        keys::examine(config, Some(&keys)),
        nodes(config.node.roles.words().collect(), roles.collect()),
        zones(&timetable::zone_data().version, zone_data.collect()),
    ];
    found.extend(channels::examine(&told));
    found
}

fn stamps(are_ahead: bool) -> Finding {
    if are_ahead {
        let found = "rows came with a dump of another PostgreSQL cluster, whose transaction ids were \
                     higher: subscriptions, alerts and charts stand still";
        let help = "stop all nodes, and run the statements of docs/operations.md, under Backups, \
                    PostgreSQL";
        return Finding::error("stamps", found, help);
    }
    Finding::ok("stamps", "changes can be followed")
}

fn people(nobody: bool) -> Finding {
    if nobody {
        let help = "add one: 'carillon user add NAME --role admin' with the same --config or \
                    --database-url, or 'carillon serve --init-admin'";
        return Finding::warning("people", "there is no user yet, so nobody can sign in", help);
    }
    Finding::ok("people", "there are users")
}

/// Judges the roles of the live nodes together with those of this configuration.
fn nodes(own: BTreeSet<&str>, living: Vec<&str>) -> Finding {
    let needed = [NodeRole::Api, NodeRole::Scheduler, NodeRole::Worker].map(NodeRole::word);
    let missing: Vec<&str> =
        needed.into_iter().filter(|role| !own.contains(role) && !living.contains(role)).collect();
    if missing.is_empty() {
        return Finding::ok("roles", "a node has each of the roles api, scheduler and worker");
    }
    let missing = missing.join(", ");
    let found = format!("no live node has the role {missing}, and this configuration has not");
    Finding::warning("roles", found, "start a node with it: --roles, or node.roles")
}

fn zones(own: &str, living: Vec<(&str, &str)>) -> Finding {
    let others: Vec<String> = living
        .into_iter()
        .filter(|(_, version)| *version != own)
        .map(|(name, version)| format!("'{name}' has {version}"))
        .collect();
    if others.is_empty() {
        return Finding::ok("nodes", "all live nodes have the zone data of this machine");
    }
    let found = format!("the zone data here is {own}, but {}", others.join(", "));
    Finding::warning("nodes", found, "update tzdata on all machines, and restart the nodes")
}

#[cfg(test)]
mod tests {
    use super::{super::Level, *};

    #[test]
    fn a_clock_is_judged_by_the_least_that_it_can_be_away() {
        let at = |ms: i64| DateTime::from_timestamp_millis(1_800_000_000_000 + ms).unwrap();
        assert_eq!(time(at(0), at(4), at(9)).level, Level::Ok);
        assert_eq!(time(at(0), at(-1_400), at(9)).level, Level::Warning);
        assert_eq!(time(at(0), at(60_000), at(9)).level, Level::Error);
        // A slow response does not mean a wrong clock.
        assert_eq!(time(at(0), at(19_000), at(20_000)).level, Level::Ok);
    }

    #[test]
    fn roles_without_a_node_are_named() {
        let finding = nodes(BTreeSet::from(["api"]), vec!["worker"]);
        assert_eq!(finding.level, Level::Warning);
        assert!(finding.found.contains("the role scheduler,"), "{finding:?}");
        assert_eq!(nodes(BTreeSet::from(["api"]), vec!["scheduler", "worker"]).level, Level::Ok);
    }

    #[test]
    fn pending_migrations_are_an_error_if_nothing_applies_them() {
        let pending = || Ok(MigrationState { applied: vec![], pending: vec!["m0001".to_owned()] });
        assert_eq!(schema(pending(), true).level, Level::Warning);
        assert_eq!(schema(pending(), false).level, Level::Error);
    }
}
