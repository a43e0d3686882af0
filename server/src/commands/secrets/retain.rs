//! The inverse of masking: replaces the masks in a target from a form or a file by the secrets
//! behind them.

use super::mask::{masked_url, origin};
use crate::{
    commands::BadInput,
    model::naming,
    target::{Http, MAX_REDIRECTS, Publish, SecretText, Target, leads_elsewhere},
    vault::MASK,
};

/// Stands for a number of redirects: keeps the current number, or uses the default.
pub(crate) const KEPT_REDIRECTS: u8 = u8::MAX;

/// Completes the target that a form sent with the data that the form does not have: secrets that it
/// received only masked, and fields that it does not show.
///
/// A secret is restored only for the origin that it was entered for. For another origin, the user
/// must enter it again; otherwise, editing a URL would be a way to read the secret.
pub(crate) fn retain(target: &mut Target, old: Option<&Target>) -> Result<(), BadInput> {
    match (target, old) {
        (Target::Http(new), old) => {
            let old = match old {
                Some(Target::Http(old)) => Some(old),
                Some(
                    Target::Command(_) | Target::Publish(_) | Target::Worker(_) | Target::Noop(_),
                )
                | None => None,
            };
            retain_http(new, old)
        }
        (Target::Command(new), Some(Target::Command(old))) => {
            // Programs are treated like origins: through another program, a user could read the
            // secrets that were given to this one. The directory, the user and some variables
            // determine what a path and a name stand for, also those that the new definition drops.
            let is_kept = |name: &String| match new.env.get(name) {
                Some(value) => value.expose() == MASK || old.env.get(name) == Some(value),
                None => false,
            };
            let other_code = new
                .env
                .keys()
                .chain(old.env.keys())
                .any(|name| leads_elsewhere(name) && !is_kept(name));
            let same_program = new.program == old.program
                && new.script == old.script
                && (new.args == old.args || new.program.is_none())
                && (&new.directory, &new.user) == (&old.directory, &old.user)
                && !other_code;
            for (name, value) in &mut new.env {
                if value.expose() == MASK {
                    let field = format!("task.target.command.environment.{name}");
                    let kept = old.env.get(name).filter(|_| same_program);
                    *value = kept.cloned().ok_or_else(|| unknown(field))?;
                }
            }
            Ok(())
        }
        (Target::Command(new), _) => {
            match new.env.iter().find(|(_, value)| value.expose() == MASK) {
                Some((name, _)) => Err(unknown(format!("task.target.command.environment.{name}"))),
                None => Ok(()),
            }
        }
        (Target::Publish(new), old) => {
            let old = match old {
                Some(Target::Publish(old)) => Some(&**old),
                Some(
                    Target::Http(_) | Target::Command(_) | Target::Worker(_) | Target::Noop(_),
                )
                | None => None,
            };
            retain_publish(new, old)
        }
        (Target::Worker(_) | Target::Noop(_), _) => Ok(()),
    }
}

/// Restores secrets that a module's file contains only as masks, if the mask is in its original
/// position. Unlike a form, a file is complete: values that it leaves out are not kept. A mask
/// without a counterpart stays, and the check of the definition refuses it.
pub(crate) fn unmask(target: &mut Target, old: &Target) {
    let mut tried = target.clone();
    if let Target::Http(http) = &mut tried {
        http.signing_secret.get_or_insert_with(|| SecretText::new(""));
    }
    if retain(&mut tried, Some(old)).is_err() {
        return;
    }
    if let (Target::Http(tried), Target::Http(said)) = (&mut tried, &*target) {
        tried.expected_body.clone_from(&said.expected_body);
        tried.max_redirects = said.max_redirects;
        tried.client_certificate.clone_from(&said.client_certificate);
    }
    *target = tried;
}

fn retain_http(new: &mut Http, old: Option<&Http>) -> Result<(), BadInput> {
    let masked = old.filter(|old| new.url.contains(MASK) && masked_url(&old.url) == new.url);
    if let Some(old) = masked {
        new.url.clone_from(&old.url);
    } else if new.url.contains(MASK) {
        return Err(unknown("task.target.http.url".to_owned()));
    }
    let same_origin = old.filter(|old| origin(&old.url) == origin(&new.url));
    for (name, value) in &mut new.headers {
        if value.expose() == MASK {
            let field = format!("task.target.http.headers.{name}");
            let kept = same_origin.and_then(|old| old.headers.get(name));
            *value = kept.cloned().ok_or_else(|| unknown(field))?;
        }
    }
    match new.signing_secret.as_ref().map(SecretText::expose) {
        Some("") => new.signing_secret = None,
        Some(MASK) | None => match (old, same_origin) {
            (_, Some(old)) => new.signing_secret.clone_from(&old.signing_secret),
            (Some(old), None) if old.signing_secret.is_some() => {
                return Err(unknown("task.target.http.signingSecret".to_owned()));
            }
            _ if new.signing_secret.is_some() => {
                return Err(unknown("task.target.http.signingSecret".to_owned()));
            }
            _ => {}
        },
        Some(_) => {}
    }
    // The certificate is not masked, because it only names a secret.
    match new.client_certificate.as_ref().map(SecretText::expose) {
        Some("") => new.client_certificate = None,
        Some(_) => {}
        None => new.client_certificate = old.and_then(|old| old.client_certificate.clone()),
    }
    match new.expected_body.as_deref() {
        Some("") => new.expected_body = None,
        Some(_) => {}
        None => new.expected_body = old.and_then(|old| old.expected_body.clone()),
    }
    if new.max_redirects == KEPT_REDIRECTS {
        new.max_redirects = old.map_or(MAX_REDIRECTS, |old| old.max_redirects);
    }
    Ok(())
}

/// Restores the secrets of a publish target. Brokers are treated like origins: a secret is restored
/// only for the broker that it was entered for.
fn retain_publish(new: &mut Publish, old: Option<&Publish>) -> Result<(), BadInput> {
    let mut old = old.filter(|old| old.to.is_same_place(&new.to)).cloned();
    let broker = new.to.name();
    for (name, secret) in new.to.secrets_mut() {
        if secret.expose() == MASK {
            let mut kept = old.iter_mut().flat_map(|old| old.to.secrets_mut());
            let kept = kept.find(|(known, _)| *known == name).map(|(_, kept)| kept.clone());
            let field = format!("task.target.publish.to.{broker}.{}", naming::in_api(name));
            *secret = kept.ok_or_else(|| unknown(field))?;
        }
    }
    for (name, value) in &mut new.event.headers {
        if value.expose() == MASK {
            let kept = old.as_ref().and_then(|old| old.event.headers.get(name)).cloned();
            let field = format!("task.target.publish.event.headers.{name}");
            *value = kept.ok_or_else(|| unknown(field))?;
        }
    }
    Ok(())
}

fn unknown(field: String) -> BadInput {
    let problem = "is the mask of a secret that is not known for this target";
    BadInput::new(field, MASK, problem, "type the value again, or leave it out (empty for none)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{commands::secrets::masked, target::CommandTarget};

    fn http(url: &str, headers: &[(&str, &str)]) -> Target {
        let mut http = Http::post(url);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), SecretText::new(*value));
        http.headers = headers.iter().map(owned).collect();
        Target::Http(http)
    }

    #[test]
    fn secrets_in_an_address_are_masked_and_kept() {
        for (url, shown) in [
            ("https://a/x", "https://a/x"),
            ("https://u:p@a/x?token=1&plain#f", "https://***@a/x?token=***&plain#f"),
            ("https://a?k=v", "https://a?k=***"),
            ("https://a?k={{ secrets.a }}&v={{ 1 }}", "https://a?k={{ secrets.a }}&v=***"),
        ] {
            assert_eq!(masked(&http(url, &[])), http(shown, &[]));
            let mut new = http(shown, &[]);
            retain(&mut new, Some(&http(url, &[]))).unwrap();
            assert_eq!(new, http(url, &[]));
        }
        let mut moved = http("https://evil/x?token=***", &[]);
        assert!(retain(&mut moved, Some(&http("https://a/x?token=1", &[]))).is_err());
    }

    #[test]
    fn a_variable_does_not_follow_to_another_program() {
        let command = |script: &str, value: &str| {
            let env = [("SMTP_PASS".to_owned(), SecretText::new(value))].into();
            let script = Some(script.to_owned());
            Target::Command(CommandTarget { script, env, ..CommandTarget::default() })
        };
        assert_eq!(masked(&command("a", "1")), command("a", MASK));
        let mut same = command("a", MASK);
        retain(&mut same, Some(&command("a", "1"))).unwrap();
        assert_eq!(same, command("a", "1"));
        let mut other = command("echo $SMTP_PASS", MASK);
        assert!(retain(&mut other, Some(&command("a", "1"))).is_err());
    }

    #[test]
    fn a_variable_does_not_follow_to_where_its_program_is_another() {
        let command = |value: &str| {
            let env = [("SMTP_PASS".to_owned(), SecretText::new(value))].into();
            let program = Some("./report".to_owned());
            CommandTarget { program, env, ..CommandTarget::default() }
        };
        let set = |name: &str| {
            let mut changed = command(MASK);
            changed.env.insert(name.to_owned(), SecretText::new("/tmp"));
            changed
        };
        let moved = CommandTarget { directory: Some("/tmp".to_owned()), ..command(MASK) };
        let other = CommandTarget { user: Some("eve".to_owned()), ..command(MASK) };
        let old = Target::Command(command("1"));
        for changed in [moved, other, set("PATH")] {
            let error = retain(&mut Target::Command(changed), Some(&old)).unwrap_err();
            assert_eq!(error.field, "task.target.command.environment.SMTP_PASS");
        }
        retain(&mut Target::Command(set("LANG")), Some(&old)).unwrap();
    }

    #[test]
    fn a_variable_does_not_follow_to_the_program_that_a_dropped_path_reveals() {
        let command = |env: &[(&str, &str)]| {
            let owned =
                |(name, value): &(&str, &str)| ((*name).to_owned(), SecretText::new(*value));
            let env = env.iter().map(owned).collect();
            let program = Some("report".to_owned());
            Target::Command(CommandTarget { program, env, ..CommandTarget::default() })
        };
        let secret = ("SMTP_PASS", "1");
        let hidden = ("SMTP_PASS", MASK);
        for dropped in ["PATH", "LD_PRELOAD"] {
            let old = command(&[secret, (dropped, "/opt/ours")]);
            let error = retain(&mut command(&[hidden]), Some(&old)).unwrap_err();
            assert_eq!(error.field, "task.target.command.environment.SMTP_PASS");
            let mut same = command(&[hidden, (dropped, MASK)]);
            retain(&mut same, Some(&old)).unwrap();
            assert_eq!(same, old);
        }
        let old = command(&[secret, ("LANG", "C")]);
        retain(&mut command(&[hidden]), Some(&old)).unwrap();
    }

    #[test]
    fn a_password_does_not_follow_to_another_broker() {
        let publish = |server: &str, password: &str| {
            let connection = serde_json::json!({
                "servers": [server], "username": "a", "password": password,
            });
            let to = serde_json::json!({ "nats": { "connection": connection, "subject": "a" } });
            let publish = serde_json::json!({ "publish": { "to": to } });
            serde_json::from_value::<Target>(publish).unwrap()
        };
        let old = publish("nats", "hush");
        assert_eq!(masked(&old), publish("nats", MASK));
        let named = publish("nats", "{{ secrets.nats }}");
        assert_eq!(masked(&named), named);
        let mut same = publish("nats", MASK);
        retain(&mut same, Some(&old)).unwrap();
        assert_eq!(same, old);
        let error = retain(&mut publish("evil", MASK), Some(&old)).unwrap_err();
        assert_eq!(error.field, "task.target.publish.to.nats.connection.password");
    }

    #[test]
    fn a_mask_given_back_keeps_the_secret() {
        let old = http("https://a/x", &[("Authorization", "Bearer 1")]);
        let mut new = http("https://a/y", &[("Authorization", MASK)]);
        retain(&mut new, Some(&old)).unwrap();
        assert_eq!(new, http("https://a/y", &[("Authorization", "Bearer 1")]));
    }

    #[test]
    fn a_mask_in_a_file_keeps_its_stored_secret_and_nothing_else() {
        let mut old = Http::post("https://a/x?k=1");
        old.headers = [("Authorization".to_owned(), SecretText::new("Bearer 1"))].into();
        old.signing_secret = Some(SecretText::new("whsec_1"));
        old.expected_body = Some("ok".to_owned());
        let old = Target::Http(old);
        let mut same = masked(&old);
        unmask(&mut same, &old);
        assert_eq!(same, old);

        let mut less = http("https://a/x?k=***", &[]);
        unmask(&mut less, &old);
        assert_eq!(less, http("https://a/x?k=1", &[]));
        let elsewhere = http("https://evil/x", &[("Authorization", MASK)]);
        let mut tried = elsewhere.clone();
        unmask(&mut tried, &old);
        assert_eq!(tried, elsewhere);
    }

    #[test]
    fn a_secret_does_not_follow_to_another_origin() {
        let old = http("https://a/x", &[("Authorization", "Bearer 1")]);
        let mut new = http("https://evil/x", &[("Authorization", MASK)]);
        let error = retain(&mut new, Some(&old)).unwrap_err();
        assert_eq!(error.field, "task.target.http.headers.Authorization");
        let mut fresh = http("https://a/x", &[("Authorization", MASK)]);
        assert!(retain(&mut fresh, None).is_err());
    }

    #[test]
    fn a_signature_is_kept_unless_it_is_emptied() {
        let signed = |secret: Option<&str>| {
            let mut http = Http::post("https://a/x");
            http.signing_secret = secret.map(SecretText::new);
            Target::Http(http)
        };
        for (sent, kept) in [(None, Some("k")), (Some(MASK), Some("k")), (Some(""), None)] {
            let mut new = signed(sent);
            retain(&mut new, Some(&signed(Some("k")))).unwrap();
            assert_eq!(new, signed(kept), "{sent:?}");
        }
    }
}
