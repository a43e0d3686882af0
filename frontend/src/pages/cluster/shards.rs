//! The shards that the schedules are divided into, and the nodes that claim them.

use std::{collections::BTreeMap, time::Duration};

use leptos::prelude::*;

use crate::{
    api,
    components::{AsyncView, heading, panel, table},
    data::use_load,
    model::Shard,
    state::use_every,
};

const LOOK: Duration = Duration::from_secs(10);
/// Number of cells in a line of the map, and the size of a cell with the gap after it.
const LINE: usize = 32;
const CELL: usize = 10;
/// Shades of the map.
const SHADES: usize = 5;

/// The map, and its content in words.
#[component]
pub(super) fn Shards() -> impl IntoView {
    let shards = use_load(|| Some(api::cluster::shards()));
    let loading = shards.loading;
    use_every(LOOK, move || loading.refresh());
    let content = view! {
        <AsyncView loading=loading what="the shards">{shards.draw(|shards| map(shards))}</AsyncView>
    };
    panel("Shards", (), content)
}

/// The shards of which a node is the first owner, and those of which it is the second owner.
#[derive(Debug, Default, PartialEq, Eq)]
struct Share {
    first: Vec<i64>,
    second: Vec<i64>,
}

fn shares(shards: &[Shard]) -> BTreeMap<String, Share> {
    let mut shares = BTreeMap::<String, Share>::new();
    for shard in shards {
        if let Some(node) = &shard.first {
            shares.entry(node.clone()).or_default().first.push(shard.number);
        }
        if let Some(node) = &shard.second {
            shares.entry(node.clone()).or_default().second.push(shard.number);
        }
    }
    shares
}

/// Ranges of numbers in words: `0–3, 7`.
fn ranges(numbers: &[i64]) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for number in numbers.iter().copied() {
        let follows = ranges.last().is_some_and(|(_, to)| to + 1 == number);
        match ranges.last_mut().filter(|_| follows) {
            Some((_, to)) => *to = number,
            None => ranges.push((number, number)),
        }
    }
    let words = |(from, to): (i64, i64)| {
        if from == to { from.to_string() } else { format!("{from}–{to}") }
    };
    if ranges.is_empty() {
        return "–".to_owned();
    }
    ranges.into_iter().map(words).collect::<Vec<_>>().join(", ")
}

fn map(shards: &[Shard]) -> AnyView {
    let shares = shares(shards);
    let names: Vec<&String> = shares.keys().collect();
    // A shard that no node claims has no shade.
    let shade = |name: Option<&String>| {
        let place = name.and_then(|name| names.iter().position(|known| *known == name));
        place.map_or(0, |place| place % SHADES + 1)
    };
    let cell = |(at, shard): (usize, &Shard)| {
        let words = |name: &Option<String>| name.clone().unwrap_or_else(|| "no node".to_owned());
        let title =
            format!("{}: {}, then {}", shard.number, words(&shard.first), words(&shard.second));
        let (x, y) = (at % LINE * CELL, at / LINE * CELL);
        view! {
            <rect
                class="heat-cell"
                data-level=shade(shard.first.as_ref())
                x=x
                y=y
                width=CELL - 1
                height=CELL - 1
            >
                <title>{title}</title>
            </rect>
        }
        .into_any()
    };
    let cells: Vec<_> = shards.iter().enumerate().map(cell).collect();
    let row = |(name, share): (&String, &Share)| {
        view! {
            <tr data-testid="shard-row">
                <th scope="row" class="name-cell">
                    <svg class="shard-key" viewBox="0 0 9 9" aria-hidden="true">
                        <rect class="heat-cell" data-level=shade(Some(name)) width="9" height="9"/>
                    </svg>
                    {name.clone()}
                </th>
                <td class="number">{share.first.len()}</td>
                <td>{ranges(&share.first)}</td>
                <td class="wide">{ranges(&share.second)}</td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = shares.iter().map(row).collect();
    let headings = vec![
        heading("Node", ""),
        heading("Shards", "number"),
        heading("Claims at once", ""),
        heading("Claims if the first does not", "wide"),
    ];
    let (columns, lines) = (LINE * CELL - 1, shards.len().div_ceil(LINE) * CELL);
    view! {
        <svg
            class="shard-map"
            viewBox=format!("0 0 {columns} {lines}")
            role="img"
            aria-label="Shards by the node that claims them at once; the table below says the same"
        >
            {cells}
        </svg>
        {table("Shards of each node", "table", headings, rows.into_any())}
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: i64, first: Option<&str>, second: Option<&str>) -> Shard {
        let [first, second] = [first, second].map(|name| name.map(str::to_owned));
        Shard { number, first, second }
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0–2, 5, 7–8");
        assert_eq!(ranges(&[]), "–");
    }

    #[test]
    fn each_node_has_its_first_and_its_second_shards() {
        let shards = [
            shard(0, Some("a"), Some("b")),
            shard(1, Some("b"), Some("a")),
            shard(2, Some("a"), None),
            shard(3, None, None),
        ];
        let shares = shares(&shards);
        assert_eq!(shares["a"], Share { first: vec![0, 2], second: vec![1] });
        assert_eq!(shares["b"], Share { first: vec![1], second: vec![0] });
        assert_eq!(shares.len(), 2);
    }
}
