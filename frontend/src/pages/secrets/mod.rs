//! The secrets of a namespace. Only their names are shown, never their values.
//!
//! - `users`: the objects that name a secret

mod users;

use leptos::prelude::*;

use super::{
    cursors,
    kit::{self, Asked, Change, empty, form, of, use_asked},
    place,
};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Field, Heading, Look, button, heading, live, pager, rows,
        silent_heading, table, when_relative,
    },
    data::{Loading, use_listing},
    model::Secret,
    route::Route,
    state::{use_address, use_session, use_title},
};

const SIZE: usize = 100;

/// The list of secrets.
#[component]
pub(crate) fn Secrets() -> impl IntoView {
    use_title(|| "Secrets".to_owned());
    let namespace = kit::use_picked();
    let new = RwSignal::new(false);
    let (session, key) = (use_session(), kit::use_known_secrets_key());
    // The server checks each change again.
    let has_key = Memo::new(move |_| key.get().unwrap_or(true));
    let add = move || {
        let (may, has_key) = (session.administers_in(&namespace.get()), has_key.get());
        (may && has_key).then(|| button(Look::Primary, None, "New secret", move || new.set(true)))
    };
    view! {
        <header class="page-head">
            <h1>"Secrets"</h1>
            <p class="muted">"Values that tasks use as "<code>"{{ secrets.name }}"</code>" and nobody can read."</p>
            <div class="actions">{move || add()}</div>
        </header>
        {kit::picker("Secrets of", namespace)}
        <div role="status">{move || (!has_key.get()).then(|| kit::no_secrets_key("none can be set."))}</div>
        // The rows and dialogs of another namespace must not stay, because they could change a secret of the same
        // name here.
        {live(move || {
            new.set(false);
            let shown = namespace.get();
            let asked = shown.clone();
            // A link opens the dialog only once it is known that a secret can be set.
            let may = move || session.administers_in(&asked) && key.get() == Some(true);
            kit::open_if_asked(new, Route::Secrets, may);
            list(shown, has_key, new)
        })}
    }
}

/// The secrets of one namespace. `new` opens the dialog that adds one.
fn list(namespace: String, has_key: Memo<bool>, new: RwSignal<bool>) -> AnyView {
    let address = use_address();
    let asked = namespace.clone();
    let secrets =
        use_listing(SIZE, move || api::settings::secrets(asked.clone(), place(address), SIZE));
    let loading = secrets.load.loading;
    let (change, remove) = (use_asked::<Secret>(), use_asked::<Secret>());
    let (drawn, changed, removed) = (namespace.clone(), namespace.clone(), namespace.clone());
    let lines = move || {
        let namespace = drawn.clone();
        rows(secrets.list, move |row| line(row, &namespace, has_key, change, remove))
    };
    view! {
        <AsyncView
            loading=loading
            what="secrets"
            is_empty=Signal::derive(move || secrets.list.is_empty())
            empty=|| empty("No secret yet", "Passwords, tokens and keys that tasks need. Administrators of the namespace set them.")
        >
            {table("Secrets", "table", headings(), lines())}
            {pager(secrets.beside(), "secrets", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        <Dialog open=new title="New secret">{set_form(None, new, &namespace, loading)}</Dialog>
        {change.dialog("New value", move |row| set_form(Some(row.name.clone()), change.open, &changed, loading))}
        {remove.dialog("Delete secret", move |row| remove_form(&row, remove, &removed, loading))}
    }
    .into_any()
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Name", ""),
        heading("Value", "wide"),
        heading("Set", ""),
        heading("By", "wide"),
        heading("Used by", "wide"),
        heading("Sealed with", "wide"),
        silent_heading("Actions"),
    ]
}

fn line(
    row: &Secret,
    namespace: &str,
    has_key: Memo<bool>,
    change: Asked<Secret>,
    remove: Asked<Secret>,
) -> AnyView {
    let actions = use_session().administers_in(namespace).then(|| {
        let changed = row.clone();
        let new_value = move || {
            has_key.get().then(|| button(Look::Plain, None, "New value", change.ask(&changed)))
        };
        view! {
            {new_value}
            {button(Look::Danger, None, "Delete", remove.ask(row))}
        }
        .into_any()
    });
    view! {
        <tr data-testid="secret-row">
            <th scope="row" class="name-cell"><code>{row.name.clone()}</code></th>
            <td class="wide muted">{format!("version {}", row.version)}</td>
            <td>{when_relative(row.updated_at, None)}</td>
            <td class="wide">{row.set_by.clone()}</td>
            <td class="wide">{users::first(&row.used_by, namespace)}</td>
            <td class="wide"><code>{row.key_id.clone()}</code></td>
            <td class="actions-cell"><div class="row-actions">{actions}</div></td>
        </tr>
    }
    .into_any()
}

/// The form for a new secret, or for a new value of an existing one.
fn set_form(
    known: Option<String>,
    open: RwSignal<bool>,
    namespace: &str,
    loading: Loading,
) -> AnyView {
    let namespace = namespace.to_owned();
    let wrong = RwSignal::new(None);
    let name = RwSignal::new(known.clone().unwrap_or_default());
    let value = RwSignal::new(String::new());
    let name_field = match &known {
        Some(name) => {
            view! { <p>"Attempts that start from now on get it as "<code>{format!("secrets.{name}")}</code>"."</p> }.into_any()
        }
        None => Field::new("secret-name", "Name", name).code().first().required().error(of(wrong, "name"))
            .hint("Letters, digits and _.").text(),
    };
    let value_field = Field::new("secret-value", "Value", value)
        .kind("password")
        .autocomplete("new-password")
        .required()
        .error(of(wrong, "value"))
        .hint("At least 6 bytes. It is never shown again.");
    let value_field = if known.is_some() { value_field.first() } else { value_field };
    let plan = move |key| {
        let name = name.get_untracked().trim().to_owned();
        let said = format!("{name} is set.");
        let ask = api::settings::set_secret(namespace.clone(), name, value.get_untracked(), key);
        Ok(Change { ask, said })
    };
    let fields = view! { {name_field}{value_field.text()} };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, "Set"), wrong, fields.into_any(), plan, done)
}

fn remove_form(row: &Secret, remove: Asked<Secret>, namespace: &str, loading: Loading) -> AnyView {
    let (name, here) = (row.name.clone(), namespace.to_owned());
    let fields = view! {
        <p>"Attempts at tasks that use "<code>{format!("{{{{ secrets.{name} }}}}")}</code>" fail from now on. The value is gone for good."</p>
        {users::all(&row.used_by, namespace)}
    };
    let plan = move |_| {
        let ask = api::settings::delete_secret(here.clone(), name.clone());
        Ok(Change { ask, said: format!("{name} is deleted.") })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Delete"), RwSignal::new(None), fields.into_any(), plan, done)
}
