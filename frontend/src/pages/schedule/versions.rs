//! Who changed what.

use leptos::prelude::*;

use crate::{components::When, model::Version};

/// The latest versions, newest first.
#[component]
pub(super) fn Versions(versions: Signal<Vec<Version>>) -> impl IntoView {
    let row = |version: Version| {
        view! {
            <tr>
                <th scope="row" class="number">{version.version}</th>
                <td>{version.change}</td>
                <td>{version.by}</td>
                <td><When at=version.at/></td>
            </tr>
        }
    };
    view! {
        <div class="table-frame" tabindex="0" role="group" aria-label="Versions">
            <table class="table table-tight">
                <caption class="visually-hidden">"Versions"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="number">"No."</th>
                        <th scope="col">"Change"</th>
                        <th scope="col">"By"</th>
                        <th scope="col">"At"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || versions.get() key=|version| version.version children=row/>
                </tbody>
            </table>
        </div>
    }
}
