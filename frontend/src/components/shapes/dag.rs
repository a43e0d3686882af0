//! Tasks and their dependencies, as a graph that can be panned and zoomed; with a minimap above 30 tasks.

use leptos::{ev::KeyboardEvent, html, prelude::*};

use super::dag_layout::{Layout, NODE_HEIGHT, NODE_WIDTH, layout};

const MAP_FROM: usize = 30;
const STEP: f64 = 1.25;
const NAME_LENGTH: usize = 21;
/// The minimum visible width, so that a graph of one task is not scaled up to the width of the page.
const LEAST_WIDTH: f64 = 2.5 * NODE_WIDTH;

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DagNode {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    /// The node's state, in words.
    pub(crate) word: String,
    /// The names of the nodes that this node needs.
    pub(crate) needs: Vec<String>,
}

/// The pan and zoom of the graph. It outlives the graph's data, which changes while tasks run.
#[derive(Clone, Copy)]
pub(crate) struct DagView {
    zoom: RwSignal<f64>,
    /// The distance by which the graph is panned, in its own units.
    moved: RwSignal<(f64, f64)>,
    held: StoredValue<Option<(i32, i32)>>,
}

/// Creates the view state of one graph.
pub(crate) fn use_dag_view() -> DagView {
    DagView {
        zoom: RwSignal::new(1.0),
        moved: RwSignal::new((0.0, 0.0)),
        held: StoredValue::new(None),
    }
}

impl DagView {
    fn zoom_by(self, factor: f64) {
        self.zoom.update(|zoom| *zoom = (*zoom * factor).clamp(0.25, 4.0));
    }

    fn reset(self) {
        self.zoom.set(1.0);
        self.moved.set((0.0, 0.0));
    }

    fn move_by(self, x: f64, y: f64) {
        self.moved.update(|moved| *moved = (moved.0 + x, moved.1 + y));
    }

    /// The visible part of a graph: its corner and its size.
    fn window(self, width: f64, height: f64) -> (f64, f64, f64, f64) {
        let (zoom, (x, y)) = (self.zoom.get(), self.moved.get());
        let (seen_width, seen_height) = (width.max(LEAST_WIDTH) / zoom, height / zoom);
        (x + (width - seen_width) / 2.0, y + (height - seen_height) / 2.0, seen_width, seen_height)
    }
}

/// Draws the graph. The selection is a node's name, or nothing.
pub(crate) fn dag(
    nodes: &[DagNode],
    chosen: &str,
    choose: Callback<String>,
    look: DagView,
) -> AnyView {
    let needs = needs(nodes);
    let layout = layout(&needs);
    let (width, height) = (layout.width, layout.height);
    let edges = needs.iter().enumerate().flat_map(|(node, before)| {
        let layout = &layout;
        let nodes = &nodes;
        before.iter().filter_map(move |before| {
            let d = edge(*layout.places.get(*before)?, *layout.places.get(node)?);
            let state = nodes.get(*before)?.state;
            Some(view! { <path class="dag-edge" data-state=state d=d/> }.into_any())
        })
    });
    let edges: Vec<_> = edges.collect();
    let drawn =
        nodes.iter().zip(&layout.places).map(|(node, &(x, y))| box_of(node, x, y, chosen, choose));
    let drawn: Vec<_> = drawn.collect();
    let map = (nodes.len() > MAP_FROM).then(|| map(nodes, &layout, look));
    let frame = NodeRef::<html::Div>::new();
    let view_box = move || {
        let (x, y, width, height) = look.window(width, height);
        format!("{x} {y} {width} {height}")
    };
    // The size of a screen pixel in the graph's units.
    let scale = move || {
        let frame = frame.get_untracked()?;
        let (.., seen, _) = untrack(|| look.window(width, height));
        Some(seen / f64::from(frame.client_width().max(1)))
    };
    let drag = move |event: leptos::ev::PointerEvent| {
        let Some((x, y)) = look.held.get_value() else { return };
        if let Some(scale) = scale() {
            let (to_x, to_y) = (event.client_x(), event.client_y());
            look.move_by(f64::from(x - to_x) * scale, f64::from(y - to_y) * scale);
            look.held.set_value(Some((to_x, to_y)));
        }
    };
    let tool = |label: &'static str, words: &'static str, factor: f64| {
        let pressed = move |_| if factor == 0.0 { look.reset() } else { look.zoom_by(factor) };
        view! { <button type="button" class="button" aria-label=label title=label on:click=pressed>{words}</button> }
            .into_any()
    };
    view! {
        <div class="dag">
            <div class="dag-tools">
                {tool("Enlarge", "+", STEP)}
                {tool("Make smaller", "−", 1.0 / STEP)}
                {tool("Fit all", "Fit", 0.0)}
            </div>
            <div
                class="dag-frame"
                node_ref=frame
                on:pointerdown=move |event| look.held.set_value(Some((event.client_x(), event.client_y())))
                on:pointermove=drag
                on:pointerup=move |_| look.held.set_value(None)
                on:pointerleave=move |_| look.held.set_value(None)
            >
                <svg viewBox=move || view_box() preserveAspectRatio="xMidYMid meet" role="group" aria-label="Tasks and what each of them needs">
                    {edges}
                    {drawn}
                </svg>
            </div>
            {map}
        </div>
    }
    .into_any()
}

/// For each node, the indices of the nodes that it needs.
fn needs(nodes: &[DagNode]) -> Vec<Vec<usize>> {
    let place = |name: &String| nodes.iter().position(|node| node.name == *name);
    nodes.iter().map(|node| node.needs.iter().filter_map(place).collect()).collect()
}

/// The path of a line from the right side of one node to the left side of another.
fn edge(from: (f64, f64), to: (f64, f64)) -> String {
    let (x1, y1) = (from.0 + NODE_WIDTH, from.1 + NODE_HEIGHT / 2.0);
    let (x2, y2) = (to.0, to.1 + NODE_HEIGHT / 2.0);
    let middle = (x1 + x2) / 2.0;
    format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}")
}

fn box_of(node: &DagNode, x: f64, y: f64, chosen: &str, choose: Callback<String>) -> AnyView {
    let is_chosen = node.name == chosen;
    let to = if is_chosen { String::new() } else { node.name.clone() };
    let key = to.clone();
    let pressed = move |event: KeyboardEvent| {
        if matches!(event.key().as_str(), "Enter" | " ") {
            event.prevent_default();
            choose.run(key.clone());
        }
    };
    view! {
        <g
            class="dag-node"
            data-state=node.state
            role="button"
            tabindex="0"
            aria-pressed=if is_chosen { "true" } else { "false" }
            aria-label=label(node)
            on:click=move |_| choose.run(to.clone())
            on:keydown=pressed
        >
            <title>{node.name.clone()}</title>
            <rect x=x y=y width=NODE_WIDTH height=NODE_HEIGHT rx="7"/>
            <circle cx=x + 15.0 cy=y + 16.0 r="4"/>
            // The trailing space separates this text from the next one. The label repeats the visible text.
            <text class="dag-name" x=x + 26.0 y=y + 20.0>{format!("{} ", cut(&node.name))}</text>
            <text class="dag-word" x=x + 26.0 y=y + 35.0>{node.word.clone()}</text>
        </g>
    }
    .into_any()
}

/// The accessible label of a node. It begins with the visible text, so that voice control finds it.
fn label(node: &DagNode) -> String {
    let needs = if node.needs.is_empty() {
        "needs nothing".to_owned()
    } else {
        format!("needs {}", node.needs.join(", "))
    };
    let shown = cut(&node.name);
    let full = if shown == node.name { String::new() } else { format!("in full {}; ", node.name) };
    format!("{shown}, {}; {full}{needs}", node.word.to_ascii_lowercase())
}

/// A name, shortened to fit into a node.
fn cut(name: &str) -> String {
    if name.chars().count() <= NAME_LENGTH {
        return name.to_owned();
    }
    let short: String = name.chars().take(NAME_LENGTH - 1).collect();
    format!("{short}…")
}

/// A minimap of the whole graph, with the visible part marked.
fn map(nodes: &[DagNode], layout: &Layout, look: DagView) -> AnyView {
    let (width, height) = (layout.width, layout.height);
    let dots = nodes.iter().zip(&layout.places).map(|(node, (x, y))| {
        view! { <rect class="chart-part" data-state=node.state x=*x y=*y width=NODE_WIDTH height=NODE_HEIGHT/> }
            .into_any()
    });
    let dots: Vec<_> = dots.collect();
    let seen = move || {
        let (x, y, width, height) = look.window(width, height);
        view! { <rect class="dag-seen" x=x y=y width=width height=height/> }.into_any()
    };
    view! {
        <svg class="dag-map" viewBox=format!("0 0 {width} {height}") aria-hidden="true">
            {dots}
            {move || seen()}
        </svg>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, needs: &[&str]) -> DagNode {
        DagNode {
            name: name.to_owned(),
            state: "queued",
            word: "Waiting".to_owned(),
            needs: needs.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn needs_are_found_by_name_and_strangers_are_left_out() {
        let nodes = [node("fetch", &[]), node("build", &["fetch", "gone"])];
        assert_eq!(needs(&nodes), [vec![], vec![0]]);
    }

    #[test]
    fn a_node_says_what_it_needs() {
        assert_eq!(label(&node("build", &["fetch"])), "build, waiting; needs fetch");
        assert_eq!(label(&node("fetch", &[])), "fetch, waiting; needs nothing");
        let long = label(&node("a-name-that-is-too-long-for-it", &["fetch"]));
        let wanted =
            "a-name-that-is-too-l…, waiting; in full a-name-that-is-too-long-for-it; needs fetch";
        assert_eq!(long, wanted);
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        assert_eq!(cut("short"), "short");
        let cut = cut("ein-sehr-länglicher-Aufgabenname");
        assert_eq!(cut.chars().count(), NAME_LENGTH);
        assert!(cut.ends_with('…'));
    }
}
