use super::Finding;
use crate::{
    app,
    config::Config,
    engine::alerting::alerts::Checkup,
    store::{Store, StoreError},
};

const CHECK: &str = "alert channels";

/// Maximum number of channels that are named individually.
const MAX_NAMED: usize = 20;

/// Checks the alert channels. Returns no findings if the keys cannot be read, because the check of
/// the keys reports that.
pub(super) async fn look(config: &Config, store: &Store) -> Result<Vec<Checkup>, StoreError> {
    match app::vault(config) {
        Ok(vault) => Checkup::of_all(store, &vault).await,
        Err(_) => Ok(Vec::new()),
    }
}

/// The findings about alert channels.
pub(super) fn examine(channels: &[Checkup]) -> Vec<Finding> {
    let mut found: Vec<Finding> = channels.iter().filter_map(judge).collect();
    let more = found.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        found.truncate(MAX_NAMED);
        let text = format!("{more} more channels have the same problem");
        found.push(Finding::warning(CHECK, text, "fix those above first, and check again"));
    }
    if found.is_empty() {
        let text = match channels.len() {
            0 => "there are none to check".to_owned(),
            1 => "the only channel can be decrypted, and its last message was accepted".to_owned(),
            many => format!("all {many} can be decrypted, and their last messages were accepted"),
        };
        found.push(Finding::ok(CHECK, text));
    }
    found
}

fn judge(channel: &Checkup) -> Option<Finding> {
    let Checkup { namespace, name, locked, failures, error } = channel;
    if let Some(error) = locked {
        let found = format!("'{name}' in {namespace}: failed to {error}");
        let help = "its messages wait. Give the key that docs/secrets.md has you keep apart from \
                    the database, or set its address again";
        return Some(Finding::error(CHECK, found, help));
    }
    if *failures == 0 {
        return None;
    }
    let what = match failures {
        1 => "its last message was not accepted".to_owned(),
        many => format!("its last {many} messages were not accepted"),
    };
    let why = error.as_deref().unwrap_or("it was given up");
    let found = format!("'{name}' in {namespace}: {what}: {why}");
    let help = format!(
        "fix what it says, or the channel's address; 'carillon alerts test {name} --namespace \
         {namespace}' sends a message to try it. What was given up can be sent again \
         (docs/alerts.md)"
    );
    Some(Finding::warning(CHECK, found, help))
}

#[cfg(test)]
mod tests {
    use super::{super::Level, *};
    use crate::vault::VaultError;

    fn channel(name: &str, failures: usize) -> Checkup {
        let error = (failures > 0).then(|| "it answered 410".to_owned());
        let (namespace, name) = ("default".to_owned(), name.to_owned());
        Checkup { namespace, name, locked: None, failures, error }
    }

    #[test]
    fn an_unreachable_channel_is_named_with_advice() {
        assert_eq!(examine(&[])[0].level, Level::Ok);
        assert_eq!(examine(&[channel("ops", 0)])[0].level, Level::Ok);
        let found = examine(&[channel("ops", 0), channel("team", 2)]);
        assert_eq!((found.len(), found[0].level), (1, Level::Warning));
        assert!(found[0].found.contains("'team'") && found[0].found.contains("410"), "{found:?}");
        assert!(found[0].help.as_ref().unwrap().contains("alerts test team"), "{found:?}");
        let locked = Checkup { locked: Some(VaultError::NoKey), ..channel("ops", 2) };
        assert_eq!(examine(&[locked])[0].level, Level::Error);
    }

    #[test]
    fn many_are_not_named_one_by_one() {
        let many: Vec<_> = (0..50).map(|number| channel(&number.to_string(), 1)).collect();
        let found = examine(&many);
        assert_eq!(found.len(), MAX_NAMED + 1);
        assert!(found.last().unwrap().found.starts_with("30 more"), "{found:?}");
    }
}
