//! Secrets in tasks: the target gets them unchanged, and they are masked in everything that is
//! stored.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use carillon::{
    model::Definition,
    target::{CommandTarget, SecretText, Target},
    vault::{EncryptionKey, SecretScope, Vault},
};
use entity::{run, secret};
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use serde_json::json;
use uuid::Uuid;

use super::{
    gate::Gate,
    world::{World, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_secret_reaches_its_receiver_and_nothing_that_is_kept,
    an_error_keeps_no_part_of_a_long_secret,
    without_its_secret_nothing_is_sent,
);

const VALUE: &str = "p@ss/wörd 7?&";

pub(super) fn vault(key: &str) -> Vault {
    Vault::new(EncryptionKey::read(&key.repeat(32)).unwrap(), None)
}

async fn keep(world: &World, vault: &Vault, name: &str) {
    keep_value(world, vault, name, VALUE).await;
}

pub(super) async fn keep_value(world: &World, vault: &Vault, name: &str, value: &str) {
    let place = SecretScope::Secret { namespace: world.namespace, name };
    let sealed = vault.seal(place, &value.into()).unwrap();
    let row = secret::Model {
        id: Uuid::now_v7(),
        namespace_id: world.namespace,
        name: name.to_owned(),
        key_id: sealed.key_id,
        sealed: sealed.text,
        version: 1,
        set_by: "ada".to_owned(),
        created_at: world.clock.now().into(),
        updated_at: world.clock.now().into(),
    };
    let tx = world.database.store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
}

async fn a_secret_reaches_its_receiver_and_nothing_that_is_kept(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.vault = vault("ab");
    keep(&world, &world.settings.vault.clone(), "smtp").await;
    let mut gate = Gate::open().await;
    let mut asked = gate.step("ask", &["tell"]);
    let Target::Http(http) = &mut asked.target else { panic!("a step is a request") };
    http.body = Some(json!({ "password": "{{ secrets.smtp }}" }));
    http.headers.insert("X-Key".to_owned(), SecretText::new("{{ secrets.smtp | urlencode }}"));
    // The task prints its secret in many encodings, and returns it to later tasks.
    let script = r#"
        printf '%s\n' "as it is: $PASS"; printf '%s' "user:$PASS" | base64 -w0; echo
        printf '%s' "$PASS" | od -An -tx1 | tr -d ' \n' >&2; echo >&2
        printf '{"given": "%s", "b64": "%s"}' "$PASS" "$(printf '%s' "$PASS" | base64 -w0)" \
            > "$CARILLON_OUTPUT"
        exit $STATUS"#;
    let shell = |status: &str| CommandTarget {
        script: Some(script.to_owned()),
        env: [
            ("PASS".to_owned(), SecretText::new("{{ secrets.smtp }}")),
            ("STATUS".to_owned(), SecretText::new(status)),
        ]
        .into(),
        ..CommandTarget::default()
    };
    let mut tell = task(Target::Command(shell("0")));
    tell.name = "tell".to_owned();
    let schedule = world.due_now(Definition::of(vec![tell, asked]), |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    assert_eq!(arrival.body["password"], VALUE);
    // The receiver's answer contains the secret.
    let echo = json!({ "you_sent": VALUE, "as": STANDARD.encode(VALUE), "rows": 7 });
    arrival.answer_with(200, echo);
    let done = world.settled_run(schedule.id).await;
    assert_eq!((done.state, done.error), (run::State::Succeeded, None));
    let lines = world.database.store.lines_after(done.id, 0, 100).await.unwrap();
    assert!(lines.iter().any(|line| line.text == "as it is: ***"), "{lines:?}");
    let attempts = world.attempts(done.id).await;
    let told = attempts.iter().find(|row| row.task == "tell").unwrap().output.clone().unwrap();
    assert_eq!(told["result"], json!({ "given": "***", "b64": "***" }));

    // The error message of a task contains the secret as well, and is masked.
    let failing = world.due_now(task(Target::Command(shell("3"))), |_| {}).await;
    let failed = world.settled_run(failing.id).await;
    assert_eq!(failed.state, run::State::Failed);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    let dump = world.database.dump().await;
    assert!(dump.contains("as it is") && dump.contains("you_sent"));
    let base64 = STANDARD.encode(VALUE);
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [VALUE, "p@ss/w", &base64, &base64[..10], &hex, "p%40ss", "\\u00f6rd 7"] {
        assert!(!dump.contains(form), "{form} is in the database");
    }
}

async fn an_error_keeps_no_part_of_a_long_secret(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.vault = vault("ab");
    let long: String = (0..100).map(|number| format!("{number:03}")).collect();
    let huge: String = (0..5_000).map(|number| format!("{number:04}")).collect();
    keep_value(&world, &world.settings.vault.clone(), "long", &long).await;
    keep_value(&world, &world.settings.vault.clone(), "huge", &huge).await;
    let mut runs = Vec::new();
    for name in ["long", "huge"] {
        let command = CommandTarget {
            script: Some("printf 'refused: %s\\n' \"$KEY\" >&2; exit 3".to_owned()),
            env: [("KEY".to_owned(), SecretText::new(format!("{{{{ secrets.{name} }}}}")))].into(),
            ..CommandTarget::default()
        };
        runs.push(world.due_now(task(Target::Command(command)), |_| {}).await);
    }
    let engine = world.engine().await;
    for schedule in runs {
        let run = world.settled_run(schedule.id).await;
        assert_eq!(run.error.as_deref(), Some("exited with code 3: refused: ***"));
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let dump = world.database.dump().await;
    for part in ["000001002", "097098099", "000000010002", "49984999"] {
        assert!(!dump.contains(part), "{part} is in the database");
    }
}

async fn without_its_secret_nothing_is_sent(database: TestDatabase) {
    let mut world = World::new(database).await;
    keep(&world, &vault("ab"), "smtp").await;
    let gate = Gate::open().await;
    for (here, name, said) in [
        (Vault::default(), "smtp", "encrypted with the key"),
        (vault("cd"), "smtp", "encrypted with the key"),
        (vault("ab"), "nope", "the namespace has none of that name"),
    ] {
        world.settings.vault = here.clone();
        let mut asked = gate.task();
        let Target::Http(http) = &mut asked.target else { panic!("it is a request") };
        http.body = Some(json!({ "password": format!("{{{{ secrets.{name} }}}}") }));
        let schedule = world.due_now(asked, |_| {}).await;
        let engine = world.engine().await;
        let run = world.settled_run(schedule.id).await;
        assert_eq!(run.state, run::State::Failed);
        let error = run.error.unwrap();
        assert!(error.contains(said) && error.contains(&format!("'{name}'")), "{error}");
        engine.shutdown(Duration::from_secs(5)).await.unwrap();
        // On such a database a server does not start.
        let begins = here.check(&world.database.store).await;
        assert_eq!(begins.is_ok(), said.contains("none of that name"), "{begins:?}");
    }
    assert!(!gate.has_more());
}
