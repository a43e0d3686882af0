//! The schema: its limits, what its resolvers reach, and its text.

use std::{sync::Arc, time::Duration};

use async_graphql::SDLExportOptions;

use super::{
    Mutation, Query, Subscription, aside::Asides, error::Codes, limits::Limits, loaders,
    metrics::Figures, node::Surroundings, watching::Healths,
};
use crate::{commands::Commands, config, engine::cluster::Cluster};

/// The control plane, ready to be asked. Cheap to clone.
pub type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

/// Counting is no work for each who looks.
const FIGURES: Duration = Duration::from_secs(10);
const HEALTH: Duration = Duration::from_secs(5);
/// For so long followers of one event come together.
const EVENT: Duration = Duration::from_secs(1);

/// The schema over these commands. A request brings its [`Viewer`](crate::access::Viewer)
/// as data; one without is answered with UNAUTHENTICATED.
pub fn schema(
    commands: Commands,
    health: config::Health,
    cluster: Cluster,
    introspection: config::Introspection,
) -> Schema {
    let rows = loaders::loader(commands.store.clone(), commands.clock.clone());
    let (figures, healths) = (Arc::new(Figures::new(FIGURES)), Arc::new(Healths::new(HEALTH)));
    let builder = builder()
        .data(introspection)
        .data(Asides::default())
        .data(rows)
        .data(commands)
        .data(health)
        .data(cluster);
    let surroundings = Arc::new(Surroundings::new(EVENT));
    builder.data(figures).data(healths).data(surroundings).finish()
}

/// The schema's text, as `server/schema.graphql` keeps it.
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
        // They are looked up for each unknown name of a document, of which there may be thousands.
        .disable_suggestions()
        // The first is the outermost: what the limits refuse gets its code, too.
        .extension(Codes)
        .extension(Limits)
}
