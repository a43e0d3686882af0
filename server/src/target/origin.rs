//! The receiver of a target, as far as its definition shows: targets with the same one fail
//! together.

use url::Url;

use super::{Target, command::Command, http};

/// Maximum length of a distinguished origin, in bytes: a host name has at most 253.
const MAX_ORIGIN: usize = 300;

impl Target {
    /// Scheme, host and port of a URL, `command:` and the program, or `worker:` and the queue.
    /// `None` if a template decides it, and for a target without a receiver.
    pub fn origin(&self) -> Option<String> {
        let origin = match self {
            Self::Http(definition) => of_address(&definition.url),
            Self::Command(definition) => of_command(definition),
            Self::Publish(definition) => definition.to.origin(),
            Self::Worker(definition) => Some(format!("worker:{}", definition.queue)),
            Self::Noop(_) => None,
        };
        origin.filter(|origin| origin.len() <= MAX_ORIGIN && !origin.contains('\0'))
    }
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

fn of_command(command: &Command) -> Option<String> {
    let program = match &command.script {
        Some(_) => "/bin/sh",
        None => command.program.as_deref().filter(|program| !program.contains('{'))?,
    };
    Some(format!("command:{program}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Http, Noop};

    fn of(address: &str) -> Option<String> {
        Target::Http(Http::post(address)).origin()
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
    fn what_a_template_decides_and_what_is_no_address_has_none() {
        for address in ["https://{{ context.host }}/a", "{{ context.url }}", "nothing", "://"] {
            assert_eq!(of(address), None, "{address}");
        }
        assert_eq!(of(&format!("http://{}.org/", "a".repeat(400))), None);
        assert_eq!(Target::Noop(Noop::default()).origin(), None);
    }

    #[test]
    fn a_command_has_its_program() {
        let program = Command { program: Some("backup".to_owned()), ..Command::default() };
        assert_eq!(Target::Command(program).origin().as_deref(), Some("command:backup"));
        let script = Command { script: Some("exit 0".to_owned()), ..Command::default() };
        assert_eq!(Target::Command(script).origin().as_deref(), Some("command:/bin/sh"));
    }
}
