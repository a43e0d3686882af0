use std::{io::Write, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::database::program;

/// Rows per second that pgbench writes with `clients` clients, `batch` of them in each commit.
pub(super) async fn rows(
    url: &str,
    programs: Option<&Path>,
    clients: u32,
    batch: u32,
    time: Duration,
) -> Result<f64> {
    let mut script = tempfile::NamedTempFile::new().context("make a script for pgbench")?;
    script.write_all(insert(batch).as_bytes()).context("write a script for pgbench")?;
    let pgbench = program(programs, "pgbench");
    let output = Command::new(&pgbench)
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
        .arg(format!("--client={clients}"))
        .arg(format!("--time={}", time.as_secs().max(1)))
        .arg("--file")
        .arg(script.path())
        .arg(url)
        .output()
        .await
        .with_context(|| format!("start {}", pgbench.display()))?;
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "pgbench ended with {}: {err}", output.status);
    let commits = commits_per_second(&out).with_context(|| format!("no tps in: {out}"))?;
    Ok(commits * f64::from(batch))
}

/// The statement that inserts rows. It generates the rows itself, so that the limit is the
/// database's and not its client's.
fn insert(rows: u32) -> String {
    format!(
        "INSERT INTO fire (id, namespace_id, schedule_id, schedule_version, scheduled_at, due_at, \
         last_scheduled_at, count, kind, verdict, reason, claimed_by, claimed_at, \
         recovery_attempts) \
         SELECT gen_random_uuid(), '00000000-0000-0000-0000-000000000001', gen_random_uuid(), 1, \
         1763719200000, 1763719200000, 1763719200000, 1, 'normal', 'pending', \
         'awaiting_handoff', '00000000-0000-0000-0000-000000000002', 1763719200000, 0 \
         FROM generate_series(1, {rows});\n"
    )
}

fn commits_per_second(output: &str) -> Option<f64> {
    let figure = output.lines().find_map(|line| line.strip_prefix("tps = "))?;
    figure.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_read_from_what_pgbench_prints() {
        let output = "number of failed transactions: 0 (0.000%)\n\
            tps = 4711.25 (without initial connection time)\n";
        assert_eq!(commits_per_second(output), Some(4711.25));
        assert_eq!(commits_per_second("nothing"), None);
    }
}
