//! The receiver of a target, as far as its definition shows. Targets with the same receiver fail
//! together.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use url::Url;
use uuid::Uuid;

use super::{Target, command::CommandTarget, http};

/// Maximum length of an origin, in bytes. A host name has at most 253.
const MAX_ORIGIN: usize = 300;

/// The receiver of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A receiver that is the same for all namespaces: scheme, host and port of a URL, or a broker.
    Shared(Arc<str>),
    /// A receiver within one namespace: `command` and the program or script, or `worker` and the
    /// queue. Outside the namespace, nothing shows that two namespaces use the same program.
    OfNamespace(&'static str, Arc<str>),
}

impl Origin {
    /// The origin as the rows of the namespace's runs store it.
    pub fn within(&self, namespace: Uuid) -> Arc<str> {
        match self {
            Self::Shared(origin) => origin.clone(),
            Self::OfNamespace(kind, name) => format!("{kind}:{namespace}:{name}").into(),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Shared(text) | Self::OfNamespace(_, text) => text,
        }
    }
}

impl Target {
    /// The target's receiver. `None` if a template determines it, or if the target has no receiver.
    pub fn origin(&self) -> Option<Origin> {
        let origin = match self {
            Self::Http(definition) => of_address(&definition.url).map(shared),
            Self::Command(definition) => of_command(definition),
            Self::Publish(definition) => definition.to.origin().map(shared),
            Self::Worker(definition) => {
                Some(Origin::OfNamespace("worker", definition.queue.as_str().into()))
            }
            Self::Noop(_) => None,
        };
        origin.filter(|origin| {
            let text = origin.text();
            text.len() <= MAX_ORIGIN && !text.contains('\0')
        })
    }
}

fn shared(origin: String) -> Origin {
    Origin::Shared(origin.into())
}

fn of_address(address: &str) -> Option<String> {
    let behind_scheme = address.find("://")? + "://".len();
    let authority = address[behind_scheme..].split(['/', '?', '#']).next()?;
    if authority.contains('{') {
        return None;
    }
    let url = Url::parse(&address[..behind_scheme + authority.len()]).ok()?;
    Some(http::origin(&url))
}

/// The origin of a command: its program, or a hash of its script, because scripts are long and all
/// have the same shell.
fn of_command(command: &CommandTarget) -> Option<Origin> {
    let name = match &command.script {
        Some(script) => {
            let hash = format!("{:x}", Sha256::digest(script));
            format!("script-{}", &hash[..12])
        }
        None => command.program.clone().filter(|program| !program.contains('{'))?,
    };
    Some(Origin::OfNamespace("command", name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Http, Noop};

    fn within(target: &Target, namespace: u128) -> Option<String> {
        let origin = target.origin()?;
        Some(origin.within(Uuid::from_u128(namespace)).to_string())
    }

    fn of(address: &str) -> Option<String> {
        within(&Target::Http(Http::post(address)), 7)
    }

    #[test]
    fn an_address_has_the_origin_of_its_host_and_port() {
        let cases = [
            ("http://Example.org/a?b=c", "http://example.org"),
            ("https://example.org:443", "https://example.org"),
            ("https://example.org:8443/{{ schedule }}", "https://example.org:8443"),
            ("http://[::1]:9000?token=secret", "http://[::1]:9000"),
        ];
        for (address, origin) in cases {
            assert_eq!(of(address).as_deref(), Some(origin), "{address}");
        }
    }

    #[test]
    fn a_templated_host_or_an_invalid_address_has_no_origin() {
        for address in ["https://{{ context.host }}/a", "{{ context.url }}", "nothing", "://"] {
            assert_eq!(of(address), None, "{address}");
        }
        assert_eq!(of(&format!("http://{}.org/", "a".repeat(400))), None);
        assert_eq!(Target::Noop(Noop::default()).origin(), None);
    }

    #[test]
    fn a_command_has_its_program_or_script_in_its_namespace() {
        let program =
            CommandTarget { program: Some("backup".to_owned()), ..CommandTarget::default() };
        let program = Target::Command(program);
        let expected = format!("command:{}:backup", Uuid::from_u128(7));
        assert_eq!(within(&program, 7), Some(expected));
        assert_ne!(within(&program, 7), within(&program, 8));
        let script = |text: &str| {
            let script = Some(text.to_owned());
            Target::Command(CommandTarget { script, ..CommandTarget::default() })
        };
        let (one, other) = (script("exit 0"), script("exit 1"));
        let stored = within(&one, 7).unwrap();
        assert!(stored.starts_with(&format!("command:{}:script-", Uuid::from_u128(7))), "{stored}");
        assert_eq!(Some(stored), within(&script("exit 0"), 7));
        assert_ne!(within(&one, 7), within(&other, 7));
        assert_ne!(within(&one, 7), within(&one, 8));
    }
}
