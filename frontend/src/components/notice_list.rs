//! The notices in the corner. Both regions always exist, so that screen readers announce new notices in them.

use leptos::prelude::*;

use super::{Glyph, Look, button, icon_button};
use crate::state::{Notice, Notices, use_notices};

/// Notices of recent events.
#[component]
pub(crate) fn NoticeList() -> impl IntoView {
    let notices = use_notices();
    view! {
        <div class="notices">
            <div role="status">{move || shown(notices, false)}</div>
            <div role="alert">{move || shown(notices, true)}</div>
        </div>
    }
}

fn shown(notices: Notices, errors: bool) -> Vec<AnyView> {
    let all = notices.list.get();
    let chosen = all.into_iter().filter(|notice| notice.is_error == errors);
    let view = |notice: Notice| {
        let state = if errors { "failed" } else { "succeeded" };
        let dismiss = move || notices.dismiss(notice.id);
        let link =
            notice.said.link.map(|(words, href)| view! { <a href=href>{words}</a> }.into_any());
        let undo = notice.said.undo.map(|undo| {
            let undone = move || {
                notices.dismiss(notice.id);
                undo();
            };
            button(Look::Plain, None, "Undo", undone)
        });
        view! {
            <div class="notice" data-state=state>
                <p>{notice.said.text}</p>
                {link}{undo}
                {icon_button(Glyph::Close, "Dismiss", "Dismiss".to_owned(), dismiss)}
            </div>
        }
        .into_any()
    };
    chosen.map(view).collect()
}
