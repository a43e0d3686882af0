//! The notices in the corner. Both regions are always there, so that screen readers hear what comes into them.

use leptos::prelude::*;

use crate::{
    components::{Glyph, Icon},
    state::{Notice, use_notices},
};

/// What just happened.
#[component]
pub(crate) fn NoticeList() -> impl IntoView {
    let notices = use_notices();
    let show = move |is_error: bool| {
        let chosen = move || {
            notices.list.get().into_iter().filter(|n| n.is_error == is_error).collect::<Vec<_>>()
        };
        view! {
            <For each=chosen key=|notice| notice.id let(Notice { id, text, is_error: _ })>
                <div class="notice" data-state=if is_error { "failed" } else { "succeeded" }>
                    <p>{text}</p>
                    <button type="button" class="icon-button" aria-label="Dismiss" on:click=move |_| notices.dismiss(id)>
                        <Icon glyph=Glyph::Close/>
                    </button>
                </div>
            </For>
        }
    };
    view! {
        <div class="notices">
            <div role="status">{show(false)}</div>
            <div role="alert">{show(true)}</div>
        </div>
    }
}
