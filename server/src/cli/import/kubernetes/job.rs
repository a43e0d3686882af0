//! A job that kubectl creates from a CronJob for each fire.

use super::super::{gathered::Gathered, plain::quoted};
use crate::target::CommandTarget;

/// How long, in seconds, a job may wait for its pod in addition to its own deadline.
pub(super) const SLACK: i64 = 10 * 60;
/// Number of characters of the CronJob's name in a job's name, which also contains the run's id.
const MAX_NAME: usize = 45;

/// The CronJob to create jobs from.
pub(super) struct CronJob<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: Option<&'a str>,
    /// The service account of its pods.
    pub(super) account: Option<&'a str>,
}

/// The script of a run. A run has one job, which is named after the run. So a second attempt waits
/// for the first one's job instead of creating another. Cancelling the run ends the job.
const SCRIPT: &str = r#"set -eu
# A program has none of the variables by which kubectl finds the cluster of its own pod.
if [ -r /var/run/secrets/kubernetes.io/serviceaccount/token ]; then
    export KUBERNETES_SERVICE_HOST=kubernetes.default.svc KUBERNETES_SERVICE_PORT=443
fi
kube() { kubectl NAMESPACE "$@"; }
name=NAME
job="SHORT-$(printf %s "$CARILLON_RUN_ID" | tr -d - | tail -c 16)"
trap 'kube delete job "$job" --wait=false; exit 143' TERM INT
kube get job "$job" >/dev/null 2>&1 || kube create job "$job" --from="cronjob/$name"
status=1
lost=0
while :; do
    if state=$(kube get job "$job" -o 'jsonpath={range .status.conditions[?(@.status=="True")]}{.type} {end}'); then
        lost=0
    else
        lost=$((lost + 1))
        [ "$lost" -lt 30 ] || exit 1
    fi
    case " $state" in
        *" Complete "*) status=0; break ;;
        *" Failed "*) break ;;
    esac
    sleep 2 & wait $!
done
kube logs "job/$job" --all-containers || true
exit $status
"#;

impl CronJob<'_> {
    /// The command that creates a job from this CronJob and waits until the job ends.
    pub(super) fn command(&self, gathered: &mut Gathered) -> Result<CommandTarget, String> {
        if !is_name(self.name) || !self.namespace.is_none_or(is_name) {
            return Err("its name or namespace is not valid in Kubernetes".to_owned());
        }
        let place = self.namespace.map_or(String::new(), |name| format!("-n {}", quoted(name)));
        let short: String = self.name.chars().take(MAX_NAME).collect();
        let script = SCRIPT
            .replace("NAMESPACE", &place)
            .replace("SHORT", short.trim_end_matches(['-', '.']))
            .replace("name=NAME", &format!("name={}", quoted(self.name)));
        let of = self.namespace.map_or(String::new(), |name| format!(" -n {name}"));
        gathered.remark(format!(
            "suspend it in the cluster, or each of its fires occurs twice: kubectl{of} patch \
             cronjob {} -p '{{\"spec\":{{\"suspend\":true}}}}'",
            self.name
        ));
        let account = self.account.unwrap_or("default");
        gathered.remark(format!(
            "its pods keep their service account ({account}); kubectl on the node needs one, or a \
             kubeconfig, that may get cronjobs, create, get and delete jobs, get and list pods, \
             and get their logs{}",
            self.namespace.map_or(String::new(), |name| format!(" in {name}"))
        ));
        Ok(CommandTarget { script: Some(script), ..CommandTarget::default() })
    }
}

/// Whether a text is a valid Kubernetes name.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=253).contains(&name.len())
        && name.bytes().all(|byte| is_part(byte) || matches!(byte, b'-' | b'.'))
        && name.bytes().next().is_some_and(is_part)
}
