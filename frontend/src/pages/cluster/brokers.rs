//! The brokers to which the answering node publishes events.

use leptos::prelude::*;

use crate::{
    api,
    components::{AsyncView, badge_of, heading, live, panel, table, when_relative},
    data::use_load,
    model::{BrokerState, BrokerStatus},
    pages::kit::{none, note},
    state::{use_every, use_session},
    time::grouped,
};

/// A table of the brokers, for users who may see every namespace: tasks of all namespaces share the connections.
pub(super) fn brokers() -> AnyView {
    let session = use_session();
    let all = use_load(move || session.sees_all().then(api::workers::brokers));
    let loading = all.loading;
    use_every(super::IN_ANY_CASE, move || loading.refresh());
    live(move || {
        if !session.sees_all() {
            return ().into_any();
        }
        view! { <AsyncView loading=all.loading what="the brokers">{all.draw(|all| listed(all))}</AsyncView> }
            .into_any()
    })
}

fn listed(all: &[BrokerStatus]) -> AnyView {
    if all.is_empty() {
        return ().into_any();
    }
    let headings = vec![
        heading("Broker", ""),
        heading("State", ""),
        heading("Published", "number"),
        heading("Waiting", "number"),
        heading("Last error", ""),
    ];
    let rows: Vec<_> = all.iter().map(row).collect();
    let hint = view! { <span class="muted">"as the node that answers sees them"</span> };
    panel("Brokers", hint, table("Brokers", "table", headings, rows.into_any()))
}

fn row(broker: &BrokerStatus) -> AnyView {
    let since = broker.since.map(|at| {
        view! { <span class="cell-note">"since "{when_relative(at, None)}</span> }.into_any()
    });
    let failed = (broker.failed > 0).then(|| note(format!("{} failed", grouped(broker.failed))));
    let error = match (&broker.last_error, broker.last_error_at) {
        (Some(why), Some(at)) => {
            let at = view! { <span class="cell-note">{when_relative(at, None)}</span> };
            view! { {why.clone()}{at} }.into_any()
        }
        (Some(why), None) => why.clone().into_any(),
        (None, _) => none(),
    };
    view! {
        <tr data-testid="broker-row">
            <th scope="row" class="name-cell">{broker.address.clone()}{note(kind(&broker.kind))}</th>
            <td>{state(broker.state)}{since}</td>
            <td class="number">{grouped(broker.acknowledged)}<span class="card-word">" published"</span>{failed}</td>
            <td class="number">{grouped(broker.waiting)}<span class="card-word">" waiting"</span></td>
            <td class="break">{error}</td>
        </tr>
    }
    .into_any()
}

fn state(state: BrokerState) -> AnyView {
    match state {
        BrokerState::Connected => badge_of("alive", "Connected"),
        BrokerState::Unreachable => badge_of("dead", "Unreachable"),
        BrokerState::Idle => badge_of("left", "Not connected"),
    }
}

/// The name of a kind of brokers, as its makers write it.
fn kind(kind: &str) -> String {
    match kind {
        "kafka" => "Kafka",
        "nats" => "NATS",
        "rabbitmq" => "RabbitMQ",
        "redis" => "Redis",
        "sqs" => "SQS",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn a_kind_is_written_as_its_makers_write_it() {
        let kinds = ["kafka", "nats", "rabbitmq", "redis", "sqs"].map(kind);
        assert_eq!(kinds, ["Kafka", "NATS", "RabbitMQ", "Redis", "SQS"]);
    }
}
