//! A titled part of a page, and the facts in it.

use leptos::prelude::*;

/// A section with a heading; what stands beside the heading goes in `aside`.
#[component]
pub(crate) fn Panel(
    title: &'static str,
    #[prop(optional)] class: &'static str,
    #[prop(into, optional)] aside: ViewFn,
    children: Children,
) -> impl IntoView {
    let id = format!("panel-{}", title.to_lowercase().replace(' ', "-"));
    view! {
        <section class=format!("panel {class}") aria-labelledby=id.clone()>
            <header class="panel-head"><h2 id=id.clone()>{title}</h2>{aside.run()}</header>
            {children()}
        </section>
    }
}

/// A name and a value in a `<dl class="facts">`.
#[component]
pub(crate) fn Fact(name: &'static str, children: Children) -> impl IntoView {
    view! { <div class="fact"><dt>{name}</dt><dd>{children()}</dd></div> }
}
