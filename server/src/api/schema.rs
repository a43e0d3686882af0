//! The schema: its limits, the data of its resolvers, and its text.

use std::{sync::Arc, time::Duration};

use async_graphql::SDLExportOptions;

use super::{
    Mutation, Query, Subscription, aside::Asides, error::Codes, limits::RequestLimits, loaders,
    metrics::MetricsCache, node::NodeFactsCache, status_feeds::HealthCache,
};
use crate::{commands::Commands, config, engine::cluster::Cluster};

/// The control plane's schema, ready to execute requests. Cheap to clone.
pub type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

/// How long counts are cached, so that not every caller counts again.
const FIGURES: Duration = Duration::from_secs(10);
const HEALTH: Duration = Duration::from_secs(5);
/// How long subscribers share one computation for the same event.
const EVENT: Duration = Duration::from_secs(1);

/// The schema over these commands. A request must contain its [`Viewer`](crate::access::Viewer) as
/// data; without one, the answer is UNAUTHENTICATED.
pub fn schema(
    commands: Commands,
    health: config::Health,
    cluster: Cluster,
    introspection: config::Introspection,
) -> Schema {
    let rows = loaders::loader(commands.store.clone(), commands.clock.clone());
    let (figures, healths) =
        (Arc::new(MetricsCache::new(FIGURES)), Arc::new(HealthCache::new(HEALTH)));
    let builder = builder()
        .data(introspection)
        .data(Asides::new(commands.clock.clone()))
        .data(rows)
        .data(commands)
        .data(health)
        .data(cluster);
    let surroundings = Arc::new(NodeFactsCache::new(EVENT));
    builder.data(figures).data(healths).data(surroundings).finish()
}

/// The schema's text, as kept in `server/schema.graphql`.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .include_specified_by()
        .prefer_single_line_descriptions()
        .use_space_ident();
    builder().finish().sdl_with_options(options)
}

fn builder() -> async_graphql::SchemaBuilder<Query, Mutation, Subscription> {
    Schema::build(Query::default(), Mutation::default(), Subscription::default())
        .limit_directives(10)
        // Suggestions are looked up for each unknown name of a document, and there may be
        // thousands.
        .disable_suggestions()
        // The first extension is the outermost, so that refusals by the limits get their code, too.
        .extension(Codes)
        .extension(RequestLimits)
}
