//! Refuses literal credentials in a definition.
//!
//! A definition is stored in plain text, in every version and every backup; only secrets are
//! encrypted. So a text whose name suggests a credential must refer to a secret.

use super::context::{is_secret, is_secret_of_request};
use crate::{
    model::BadInput,
    target::{SecretText, Target, TargetError, is_filled_from_elsewhere},
};

/// Refuses a task if one of its credentials does not refer to a secret. `task` is the field of the
/// task.
pub(in crate::commands) fn check(task: &str, target: &Target) -> Result<(), BadInput> {
    match literals(target).into_iter().next() {
        None => Ok(()),
        Some(field) => {
            let problem = "contains a credential in plain text, and definitions are stored as they \
                           are";
            let help = "keep it as a secret (`carillon secret set NAME`), and write \
                        `{{ secrets.NAME }}` in its place";
            Err(BadInput::target(task, TargetError::invalid(field, problem, help)))
        }
    }
}

/// The paths of a target's fields that contain a credential in plain text.
pub(in crate::commands) fn literals(target: &Target) -> Vec<String> {
    let literal = places(target).into_iter().filter(|(_, text)| is_literal(text));
    literal.map(|(field, _)| field).collect()
}

/// Whether a text is literal, that is, does not take its value from a template.
fn is_literal(text: &str) -> bool {
    !text.is_empty() && !is_filled_from_elsewhere(text)
}

/// The texts that are credentials because of their position, with their fields.
fn places(target: &Target) -> Vec<(String, String)> {
    match target {
        Target::Http(http) => {
            let signing = http.signing_secret.iter();
            let signing = signing.map(|key| ("http.signing_secret".to_owned(), key.expose()));
            let headers = named("http.headers", http.headers.iter(), is_secret_of_request);
            let own = signing.chain(headers).map(|(field, text)| (field, text.to_owned()));
            own.chain(parameters(&http.url)).collect()
        }
        Target::Command(command) => {
            let named = named("command.env", command.env.iter(), is_secret);
            named.map(|(field, text)| (field, text.to_owned())).collect()
        }
        Target::Publish(publish) => {
            let mut to = publish.to.clone();
            let broker = to.name();
            let own = to.secrets_mut().into_iter().map(|(name, secret)| {
                (format!("publish.to.{broker}.{name}"), secret.expose().to_owned())
            });
            let own: Vec<(String, String)> = own.collect();
            // Keys in events are often not credentials, so only names of headers are judged.
            let headers = named("publish.event.headers", publish.event.headers.iter(), is_secret);
            own.into_iter().chain(headers.map(|(field, text)| (field, text.to_owned()))).collect()
        }
        Target::Worker(_) | Target::Noop(_) => Vec::new(),
    }
}

/// The texts whose names suggest a credential.
fn named<'a>(
    field: &str,
    texts: impl Iterator<Item = (&'a String, &'a SecretText)>,
    is_secret: fn(&str) -> bool,
) -> impl Iterator<Item = (String, &'a str)> {
    let telling = texts.filter(move |(name, _)| is_secret(name));
    telling.map(move |(name, text)| (format!("{field}.{name}"), text.expose()))
}

/// The values of a URL's parameters whose names suggest a credential.
fn parameters(url: &str) -> impl Iterator<Item = (String, String)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let telling = pairs.filter(|(name, _)| is_secret_of_request(name));
    telling
        .map(|(_, value)| {
            // An ampersand inside a template does not end the parameter.
            let is_cut = value.matches("{{").count() != value.matches("}}").count();
            ("http.url".to_owned(), if is_cut { query } else { value }.to_owned())
        })
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(target: &Value) -> Option<String> {
        let target: Target = serde_json::from_value(target.clone()).unwrap();
        check("task", &target).err().map(|error| error.field)
    }

    #[test]
    fn a_literal_credential_is_refused_with_its_position() {
        let http = |more: Value| {
            let mut http = json!({ "url": "https://a.example/x" });
            http.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ "http": http })
        };
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let sqs = json!({
            "queue_url": "https://sqs.eu.example/1/q", "region": "eu", "access_key_id": "id",
            "secret_access_key": "hush",
        });
        for (target, field) in [
            (http(json!({ "signing_secret": key })), "http.signingSecret"),
            (
                http(json!({ "headers": { "Authorization": "Bearer x" } })),
                "http.headers.Authorization",
            ),
            (http(json!({ "headers": { "X-Api-Key": "x" } })), "http.headers.X-Api-Key"),
            (http(json!({ "headers": { "apikey": "x" } })), "http.headers.apikey"),
            (http(json!({ "headers": { "X-Auth-Key": "x" } })), "http.headers.X-Auth-Key"),
            (
                http(json!({ "headers": { "Ocp-Apim-Subscription-Key": "x" } })),
                "http.headers.Ocp-Apim-Subscription-Key",
            ),
            (
                http(json!({ "headers": { "Authorization": "Bearer abc{{ '' }}" } })),
                "http.headers.Authorization",
            ),
            (
                http(json!({ "headers": { "Authorization": "Bearer abc{{ run_id }}" } })),
                "http.headers.Authorization",
            ),
            (
                http(json!({ "headers": { "Authorization": "Bearer abc{# secrets.a #}" } })),
                "http.headers.Authorization",
            ),
            (http(json!({ "url": "https://a.example/x?key=x" })), "http.url"),
            (http(json!({ "url": "https://a.example/x?n=1&sig=x" })), "http.url"),
            (http(json!({ "url": "https://a.example/x?apikey=x" })), "http.url"),
            (
                json!({ "command": { "program": "/bin/true", "env": { "AWS_ACCESS_KEY": "x" } } }),
                "command.environment.AWS_ACCESS_KEY",
            ),
            (
                json!({ "command": { "program": "/bin/true", "env": { "PGPASS": "x" } } }),
                "command.environment.PGPASS",
            ),
            (http(json!({ "url": "https://a.example/x?n=1&access_token=x#a" })), "http.url"),
            (
                json!({ "command": { "program": "/bin/true", "env": { "DB_PASSWORD": "x" } } }),
                "command.environment.DB_PASSWORD",
            ),
            (json!({ "publish": { "to": { "sqs": sqs } } }), "publish.to.sqs.secretAccessKey"),
        ] {
            assert_eq!(refused(&target), Some(format!("task.target.{field}")), "{target}");
        }
    }

    #[test]
    fn the_name_of_a_secret_and_what_is_none_pass() {
        let target = json!({ "http": {
            "url": "https://a.example/x?page=2&token={{ secrets.token }}",
            "headers": { "Authorization": "Bearer {{ secrets.token }}", "X-Team": "billing", "Cookie": "" },
            "signing_secret": "{{ secrets.old }} {{ secrets.new }}",
        } });
        assert_eq!(refused(&target), None);
        let target = json!({ "command": { "program": "/bin/true", "env": {
            "REGION": "eu", "AUTH_URL": "https://a.example", "SORT_KEY": "name", "key": "n",
            "API_KEY": "{{ context.key }}", "ACCESS_TOKEN": "{{ tasks.login.output.token }}",
        } } });
        assert_eq!(refused(&target), None);
        let target = json!({ "http": {
            "url": "https://a.example/x?monkey=1&sort_key=n&key={{ idempotency_key }}",
            "headers": { "Idempotency-Key": "nightly", "X-Request-Key": "{{ run_id }}" },
        } });
        assert_eq!(refused(&target), None);
        let target = json!({ "http": {
            "url": "https://a.example/x?token={{ 'a&b' ~ secrets.token }}&n=1",
        } });
        assert_eq!(refused(&target), None);
        let nats = json!({ "connection": { "servers": ["nats"] }, "subject": "a" });
        let target = json!({ "publish": {
            "to": { "nats": nats }, "event": { "headers": { "X-Key": "a" } },
        } });
        assert_eq!(refused(&target), None);
    }
}
