//! The text twin of a shape: the same figures as a table, for users who cannot see the shape or want exact numbers.

use leptos::prelude::*;

/// Figures in rows, each with a heading and optionally a link.
pub(crate) struct Twin {
    /// The caption of the table.
    pub(crate) caption: &'static str,
    pub(crate) headings: Vec<&'static str>,
    pub(crate) rows: Vec<TwinRow>,
}

/// One row.
pub(crate) struct TwinRow {
    pub(crate) name: String,
    pub(crate) href: Option<String>,
    pub(crate) cells: Vec<String>,
}

/// Draws the table. It is collapsed at first; opening it needs no script.
pub(super) fn twin(twin: Twin) -> AnyView {
    let heading = |words: &'static str| view! { <th scope="col">{words}</th> }.into_any();
    let rows: Vec<AnyView> = twin.rows.into_iter().map(row).collect();
    view! {
        <details class="twin">
            <summary>"As a table"</summary>
            <div class="twin-frame" tabindex="0" role="group" aria-label=twin.caption>
                <table class="table table-tight">
                    <caption class="visually-hidden">{twin.caption}</caption>
                    <thead><tr>{twin.headings.into_iter().map(heading).collect::<Vec<_>>()}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

fn row(row: TwinRow) -> AnyView {
    let name = match row.href {
        Some(href) => view! { <a href=href>{row.name}</a> }.into_any(),
        None => row.name.into_any(),
    };
    let cell = |text: String| view! { <td class="number">{text}</td> }.into_any();
    view! { <tr><th scope="row">{name}</th>{row.cells.into_iter().map(cell).collect::<Vec<_>>()}</tr> }
        .into_any()
}
