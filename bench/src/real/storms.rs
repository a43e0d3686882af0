use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    target::{CommandTarget, Http, Target},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process,
    task::JoinSet,
};

use super::Arguments;
use crate::{
    database::Kind,
    goals,
    process::ended_children_seconds,
    receiver::ReceiverProcess,
    storm::{self, Round},
    table::Table,
};

/// The program of the tasks: it does nothing and exits.
const PROGRAM: &str = "/bin/true";

/// The connections of the plain client, and the body of its requests: as large as the usual one.
const CONNECTIONS: usize = 64;
const BODY_BYTES: usize = 400;

/// The rounds of each kind.
struct Rounds {
    nothing: Round,
    requests: Round,
    /// The seconds from the due instant to the last arrival.
    arrived_seconds: f64,
    /// The seconds that a plain client takes for as many requests.
    plain_seconds: f64,
    programs: Round,
    xargs: Xargs,
}

/// The cost of the same number of programs when `xargs` starts them.
#[derive(Clone, Copy, Debug)]
struct Xargs {
    seconds: f64,
    cpu: f64,
}

/// Measures storms on one database.
pub(super) async fn measure(arguments: &Arguments, kind: Kind) -> Result<[Table; 2]> {
    let mut all = Vec::new();
    for _ in 0..arguments.place.rounds {
        all.push(round(arguments, kind).await?);
    }
    Ok([requests(arguments, kind, &all), programs(arguments, kind, &all)])
}

async fn round(arguments: &Arguments, kind: Kind) -> Result<Rounds> {
    let fresh = || arguments.place.fresh(kind);
    let nothing = storm::one(fresh().await?, arguments.requests, None).await?;

    let receiver = ReceiverProcess::start().await?;
    let target = Target::Http(Http::post(receiver.url()));
    let requests = storm::one(fresh().await?, arguments.requests, Some(&target)).await?;
    let arrivals = receiver.stop().await?;
    ensure!(
        arrivals.len() == arguments.requests,
        "of {} requests {} arrived",
        arguments.requests,
        arrivals.len()
    );
    let last = arrivals.iter().map(|arrival| arrival.at_ms).max().context("nothing arrived")?;
    let plain_seconds = plain(arguments.requests).await?;

    let program = Some(PROGRAM.to_owned());
    let target = Target::Command(CommandTarget { program, ..CommandTarget::default() });
    let programs = storm::one(fresh().await?, arguments.programs, Some(&target)).await?;
    let xargs = xargs(arguments.programs).await?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a storm")]
    let arrived_seconds = (last - requests.due_ms) as f64 / 1_000.0;
    Ok(Rounds { nothing, requests, arrived_seconds, plain_seconds, programs, xargs })
}

/// Sends `count` requests to a receiver over a few persistent connections, each with one request at
/// a time. Nothing is recorded about them: it is the limit of this machine.
async fn plain(count: usize) -> Result<f64> {
    let receiver = ReceiverProcess::start().await?;
    let address = receiver.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {BODY_BYTES}\r\n\r\n{}",
        "x".repeat(BODY_BYTES)
    );
    let began = Clock::system().instant();
    let mut callers = JoinSet::new();
    for caller in 0..CONNECTIONS {
        let share = count / CONNECTIONS + usize::from(caller < count % CONNECTIONS);
        callers.spawn(send(address.clone(), request.clone(), share));
    }
    while let Some(sent) = callers.join_next().await {
        sent??;
    }
    let seconds = began.elapsed().as_secs_f64();
    receiver.stop().await?;
    Ok(seconds)
}

/// Sends a request again and again over one connection.
async fn send(address: String, request: String, count: usize) -> Result<()> {
    let stream = TcpStream::connect(&address).await.context("reach the receiver")?;
    stream.set_nodelay(true)?;
    let (mut stream, mut line) = (BufReader::new(stream), String::new());
    for _ in 0..count {
        stream.get_mut().write_all(request.as_bytes()).await?;
        // The answer is a status line and an empty line.
        for _ in 0..2 {
            line.clear();
            ensure!(stream.read_line(&mut line).await? > 0, "the receiver hung up");
        }
    }
    Ok(())
}

/// Starts the program `count` times, 16 at once.
async fn xargs(count: usize) -> Result<Xargs> {
    let (clock, cpu) = (Clock::system(), ended_children_seconds()?);
    let began = clock.instant();
    let mut child = process::Command::new("xargs")
        .args(["-P", "16", "-n", "1", PROGRAM])
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("start xargs")?;
    let mut stdin = child.stdin.take().context("the input of xargs")?;
    stdin.write_all("x\n".repeat(count).as_bytes()).await?;
    drop(stdin);
    ensure!(child.wait().await?.success(), "xargs failed");
    let seconds = began.elapsed().as_secs_f64();
    Ok(Xargs { seconds, cpu: ended_children_seconds()? - cpu })
}

#[expect(clippy::cast_precision_loss, reason = "a count of requests")]
fn requests(arguments: &Arguments, kind: Kind, all: &[Rounds]) -> Table {
    let n = arguments.requests as f64;
    let of = |figure: fn(&Rounds) -> f64| all.iter().map(figure);
    let (rate, per_cpu) = (
        |round: &Rounds| n / round.arrived_seconds,
        |round: &Rounds| n / round.requests.cpu.total(),
    );
    Table::new(format!("{}: storm of {} requests", kind.name(), arguments.requests))
        .line("deliveries/s, by the receiver", all.iter().map(rate))
        .line("requests/s of a plain client", all.iter().map(|round| n / round.plain_seconds))
        .line("exec/s of a storm of nothing", all.iter().map(|round| n / round.nothing.seconds))
        .goal("the one over the other", of(|r| r.nothing.seconds / r.arrived_seconds), goals::P21)
        .line("deliveries per CPU-s", all.iter().map(per_cpu))
        .goal(
            "over that of nothing",
            of(|round| round.nothing.cpu.total() / round.requests.cpu.total()),
            goals::P22,
        )
        .line("seconds to the last record", of(|round| round.requests.seconds))
        .line("peak memory, MB", of(|round| round.requests.memory_mb))
}

#[expect(clippy::cast_precision_loss, reason = "a count of programs")]
fn programs(arguments: &Arguments, kind: Kind, all: &[Rounds]) -> Table {
    let n = arguments.programs as f64;
    let of = |figure: fn(&Rounds) -> f64| all.iter().map(figure);
    Table::new(format!("{}: storm of {} programs", kind.name(), arguments.programs))
        .line("programs/s", all.iter().map(|round| n / round.programs.seconds))
        .line("programs/s of xargs -P 16", all.iter().map(|round| n / round.xargs.seconds))
        .goal(
            "the one over the other",
            of(|round| round.xargs.seconds / round.programs.seconds),
            goals::P23,
        )
        .line("CPU ms each", all.iter().map(|round| round.programs.cpu.total() * 1_000.0 / n))
        .line("CPU ms each of xargs", all.iter().map(|round| round.xargs.cpu * 1_000.0 / n))
        .goal(
            "the one over the other",
            of(|round| round.programs.cpu.total() / round.xargs.cpu),
            goals::P23_CPU,
        )
        .line("peak memory, MB", of(|round| round.programs.memory_mb))
}
