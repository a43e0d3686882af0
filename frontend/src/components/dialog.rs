//! A modal dialog on the platform's own `<dialog>`: it holds the focus, Esc closes it, and the focus goes back to where it
//! came from.

use leptos::{html, prelude::*};

use crate::components::{Glyph, Icon};

/// Shows its children while `open` is set; they are made anew each time.
#[component]
pub(crate) fn Dialog(
    open: RwSignal<bool>,
    /// Its accessible name, and its heading.
    title: &'static str,
    children: ChildrenFn,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = node.get() else { return };
        if open.get() && !dialog.open() {
            let _shown = dialog.show_modal();
        } else if !open.get() && dialog.open() {
            dialog.close();
        }
    });
    let id = format!("dialog-{}", title.to_lowercase().replace(' ', "-"));
    view! {
        <dialog class="dialog" node_ref=node aria-labelledby=id.clone() on:close=move |_| open.set(false)>
            <div class="dialog-head">
                <h2 id=id.clone()>{title}</h2>
                <button type="button" class="icon-button" aria-label="Close" on:click=move |_| open.set(false)>
                    <Icon glyph=Glyph::Close/>
                </button>
            </div>
            {move || open.get().then(|| children())}
        </dialog>
    }
}
