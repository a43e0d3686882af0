//! A titled part of a page, and the facts in it.

use leptos::prelude::*;

/// A section with a heading; `aside` is shown beside the heading.
pub(crate) fn panel(
    title: &'static str,
    aside: impl IntoView + 'static,
    content: impl IntoView + 'static,
) -> AnyView {
    titled(title, aside.into_any(), content.into_any())
}

fn titled(title: &'static str, aside: AnyView, content: AnyView) -> AnyView {
    let id = format!("panel-{}", title.to_ascii_lowercase().replace(' ', "-"));
    view! {
        <section class="panel" aria-labelledby=id.clone()>
            <header class="panel-head"><h2 id=id.clone()>{title}</h2>{aside}</header>
            {content}
        </section>
    }
    .into_any()
}

/// A name and a value in a `<dl class="facts">`.
pub(crate) fn fact(name: &'static str, value: impl IntoView + 'static) -> AnyView {
    named(name, value.into_any())
}

fn named(name: &'static str, value: AnyView) -> AnyView {
    view! { <div class="fact"><dt>{name}</dt><dd>{value}</dd></div> }.into_any()
}
