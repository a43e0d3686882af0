use serde_json::Value;

use crate::support::{Command, TestDatabase, on_both};

on_both!(keys_are_exchanged_while_both_open, a_server_without_the_key_does_not_begin);

fn key() -> String {
    Command::new(&["secret", "new-key"]).run().done().trim().to_owned()
}

fn carillon(database: &TestDatabase, args: &[&str], keys: &[(&str, &str)]) -> Command {
    let command = Command::new(args).on(database);
    keys.iter().fold(command, |command, (name, key)| command.env(name, key))
}

const KEY: &str = "CARILLON_SECRETS__KEY";
const PREVIOUS: &str = "CARILLON_SECRETS__PREVIOUS_KEY";

fn set(database: &TestDatabase, name: &str, keys: &[(&str, &str)]) {
    let set = ["secret", "set", name, "--reason", "first"];
    let told = carillon(database, &set, keys).input("open-sesame\n").run().done();
    assert!(told.contains(&format!("'{name}' in 'default'")), "{told}");
}

fn keys_in_use(database: &TestDatabase) -> Vec<Value> {
    let list = carillon(database, &["secret", "list", "--json"], &[]).run().done();
    let rows: Vec<Value> = serde_json::from_str(&list).unwrap();
    assert!(!list.contains("open-sesame"));
    rows.into_iter().map(|row| row["key"].clone()).collect()
}

async fn keys_are_exchanged_while_both_open(database: TestDatabase) {
    let (old, new) = (key(), key());
    for index in 0..3 {
        set(&database, &format!("s{index}"), &[(KEY, &old)]);
    }
    let before = keys_in_use(&database);
    // With the new key alone, the command cannot open any of the secrets.
    let alone = carillon(&database, &["secret", "rotate"], &[(KEY, &new)]).run();
    assert!(alone.err.contains("encrypted with the key") && alone.code == 1, "{alone:?}");
    assert_eq!(keys_in_use(&database), before);

    set(&database, "s3", &[(KEY, &new), (PREVIOUS, &old)]);
    let both = [(KEY, &*new), (PREVIOUS, &*old)];
    let told = carillon(&database, &["secret", "rotate"], &both).run().done();
    assert_eq!(told.trim(), "sealed 3 secrets and 0 alert channels with the current key");
    let after = keys_in_use(&database);
    assert!(after.iter().all(|key| *key == after[0] && !before.contains(key)), "{after:?}");
    let again = carillon(&database, &["secret", "rotate"], &[(KEY, &new)]).run().done();
    assert_eq!(again.trim(), "sealed 0 secrets and 0 alert channels with the current key");
    carillon(&database, &["secret", "delete", "s0"], &[]).run().done();
    assert_eq!(keys_in_use(&database).len(), 3);
    let audit = Command::new(&["audit", "--format", "jsonl"]).on(&database).run().done();
    assert!(audit.contains("secret.rotate") && audit.contains("secret.delete"), "{audit}");
    let kept = database.dump().await + &audit;
    for value in ["open-sesame", &*old, &*new] {
        assert!(!kept.contains(value));
    }
}

async fn a_server_without_the_key_does_not_begin(database: TestDatabase) {
    let (old, new) = (key(), key());
    let refused = carillon(&database, &["secret", "set", "a"], &[]).input("open-sesame").run();
    assert!(refused.refused(1).contains("set secrets.key_file"));
    set(&database, "a", &[(KEY, &old)]);
    // A different key is refused while secrets of the old one exist. Commands that need no key do
    // not ask for one.
    let refused = carillon(&database, &["secret", "set", "b"], &[(KEY, &new)]);
    let refused = refused.input("open-sesame").run();
    assert!(refused.refused(1).contains("the secret 'a': it is encrypted with the key"));
    let unread = [("CARILLON_SECRETS__KEY_FILE", "/nope/key")];
    carillon(&database, &["secret", "list"], &unread).run().done();
    carillon(&database, &["member", "list"], &unread).run().done();
    carillon(&database, &["secret", "delete", "a"], &unread).run().done();
    set(&database, "a", &[(KEY, &old)]);
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    for (keys, said) in [
        (vec![], "this server has none"),
        (vec![(KEY, &*new)], "give that key as secrets.previous_key_file"),
        (vec![(KEY, "secret but no key")], "use secrets.key as the key for secrets"),
        (vec![("CARILLON_SECRETS__KEY_FILE", "/nope/key")], "read secrets.key_file '/nope/key'"),
        (vec![(PREVIOUS, &*old)], "secrets.key_file"),
        (vec![(KEY, &*old), ("CARILLON_SECRETS__KEY_FILE", "k")], "given twice"),
    ] {
        let refused = carillon(&database, &serve, &keys).run();
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(said), "{said}: {}", refused.err);
        assert!(!refused.err.contains("secret but no key"), "{}", refused.err);
        assert!(!refused.err.contains(&old) && !refused.err.contains(&new), "{}", refused.err);
    }
}
