//! The layout of a graph. The column of a node is the number of tasks that must end before it; within a column, each
//! node is near the nodes that it needs.

pub(super) const NODE_WIDTH: f64 = 168.0;
pub(super) const NODE_HEIGHT: f64 = 44.0;
const GAP_X: f64 = 56.0;
const GAP_Y: f64 = 20.0;
pub(super) const MARGIN: f64 = 16.0;
/// How often the columns are reordered by the positions of the neighbours on both sides.
const SWEEPS: usize = 4;

/// The top left corner of each node, and the size of the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) places: Vec<(f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Computes the layout. For each node, `needs` contains the nodes that must end before it.
pub(super) fn layout(needs: &[Vec<usize>]) -> Layout {
    let columns = in_order(columns(&depths(needs)), needs);
    let tallest = columns.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let height = (tallest * (NODE_HEIGHT + GAP_Y) - GAP_Y).max(NODE_HEIGHT) + 2.0 * MARGIN;
    let mut places = vec![(0.0, 0.0); needs.len()];
    for (column, nodes) in columns.iter().enumerate() {
        let own = nodes.len() as f64 * (NODE_HEIGHT + GAP_Y) - GAP_Y;
        let top = (height - own) / 2.0;
        for (row, node) in nodes.iter().enumerate() {
            if let Some(place) = places.get_mut(*node) {
                *place = (
                    MARGIN + column as f64 * (NODE_WIDTH + GAP_X),
                    top + row as f64 * (NODE_HEIGHT + GAP_Y),
                );
            }
        }
    }
    let width = columns.len() as f64 * (NODE_WIDTH + GAP_X) - GAP_X + 2.0 * MARGIN;
    Layout { places, width: width.max(NODE_WIDTH + 2.0 * MARGIN), height }
}

/// The longest path to each node. The server refuses cycles; if there is one anyway, the search ends after as many
/// steps as there are nodes.
fn depths(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut depths = vec![0_usize; needs.len()];
    for _ in 0..needs.len() {
        let mut is_still = true;
        for (node, before) in needs.iter().enumerate() {
            let deepest = before.iter().filter_map(|node| depths.get(*node)).max();
            let depth = deepest.map_or(0, |depth| depth + 1).min(needs.len());
            if let Some(known) = depths.get_mut(node).filter(|known| **known < depth) {
                *known = depth;
                is_still = false;
            }
        }
        if is_still {
            break;
        }
    }
    depths
}

fn columns(depths: &[usize]) -> Vec<Vec<usize>> {
    let mut columns = vec![Vec::new(); depths.iter().max().map_or(0, |depth| depth + 1)];
    for (node, depth) in depths.iter().enumerate() {
        if let Some(column) = columns.get_mut(*depth) {
            column.push(node);
        }
    }
    columns
}

/// Sorts each column by the average position of the nodes that it needs, and then by those that need it, so that
/// fewer lines cross.
fn in_order(mut columns: Vec<Vec<usize>>, needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (node, before) in needs.iter().enumerate() {
        for before in before {
            if let Some(behind) = needed_by.get_mut(*before) {
                behind.push(node);
            }
        }
    }
    for sweep in 0..SWEEPS {
        let beside: &[Vec<usize>] = if sweep.is_multiple_of(2) { needs } else { &needed_by };
        let rows = rows(&columns, needs.len());
        for column in &mut columns {
            let middle = |node: &usize| {
                let beside = beside.get(*node).map(Vec::as_slice).unwrap_or_default();
                let own = rows.get(*node).copied().unwrap_or_default();
                let places: Vec<f64> =
                    beside.iter().filter_map(|node| rows.get(*node)).copied().collect();
                if places.is_empty() {
                    own
                } else {
                    places.iter().sum::<f64>() / places.len() as f64
                }
            };
            column.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
        }
    }
    columns
}

/// The position of each node in its column, relative to the column's middle.
fn rows(columns: &[Vec<usize>], count: usize) -> Vec<f64> {
    let mut rows = vec![0.0; count];
    for column in columns {
        let middle = column.len() as f64 / 2.0;
        for (row, node) in column.iter().enumerate() {
            if let Some(place) = rows.get_mut(*node) {
                *place = row as f64 - middle;
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_comes_after_all_tasks_that_it_needs() {
        // The graph is fetch -> build -> ship, fetch -> ship.
        assert_eq!(depths(&[vec![], vec![0], vec![0, 1]]), [0, 1, 2]);
        let Layout { places, width, .. } = layout(&[vec![], vec![0], vec![0, 1]]);
        assert!(places[0].0 < places[1].0 && places[1].0 < places[2].0, "{places:?}");
        assert!(width >= places[2].0 + NODE_WIDTH);
    }

    #[test]
    fn no_two_tasks_overlap() {
        let needs = [vec![], vec![], vec![0], vec![0, 1], vec![1], vec![2, 3, 4]];
        let Layout { places, height, .. } = layout(&needs);
        for (index, a) in places.iter().enumerate() {
            assert!(a.1 >= MARGIN && a.1 + NODE_HEIGHT <= height, "{places:?}");
            for b in &places[index + 1..] {
                let apart = (a.0 - b.0).abs() >= NODE_WIDTH || (a.1 - b.1).abs() >= NODE_HEIGHT;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn lines_that_need_not_cross_do_not() {
        // The graph is two chains, 0 -> 3 and 1 -> 2, declared in an order in which their lines would cross.
        let places = layout(&[vec![], vec![], vec![1], vec![0]]).places;
        assert!((places[0].1 < places[1].1) == (places[3].1 < places[2].1), "{places:?}");
    }

    #[test]
    fn a_circle_and_nothing_at_all_come_to_an_end() {
        assert_eq!(layout(&[vec![1], vec![0]]).places.len(), 2);
        assert!(layout(&[]).places.is_empty());
    }
}
