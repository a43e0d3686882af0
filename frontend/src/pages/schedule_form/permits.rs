//! Whether the server runs programs for a namespace, so that the form does not begin with a target that is refused.

use crate::model::NamespaceTargets;

/// Whether the tasks of a namespace may run programs; yes for one that is not listed, because the server checks it
/// again.
pub(super) fn runs_programs(known: &[NamespaceTargets], namespace: &str) -> bool {
    let found = known.iter().find(|known| known.name == namespace);
    found.is_none_or(|found| found.runs_programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_runs_programs_unless_the_server_says_otherwise() {
        let one = |name: &str, runs_programs| NamespaceTargets {
            name: name.to_owned(),
            runs_programs,
            secrets_available: true,
        };
        let known = [one("default", false), one("batch", true)];
        let answers = ["default", "batch", "other"].map(|name| runs_programs(&known, name));
        assert_eq!(answers, [false, true, true]);
    }
}
