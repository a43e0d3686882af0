//! A cluster of three brokers whose errors, delays and leaders the test decides: the mock cluster
//! of librdkafka, in the copy that confluent-kafka brings along. It keeps what it acknowledges, but
//! does not recognise a batch that it is sent twice, so no test here loses an acknowledgement
//! (`kafka` and `kafka_duplicates` do).

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use carillon::target::AttemptOutcome;
use serde_json::{Value, json};

use crate::support::tool;

use super::{
    super::support::{executor, failed, open, succeeded, target},
    faults::{EVENTS, Load, assert_nothing_lost, attempt},
    kafka,
    kafka_duplicates::{INIT_PRODUCER_ID, PRODUCE},
};

const NO_LEADER: i16 = 5;
const NOT_LEADER: i16 = 6;
const NOT_CONFIRMED_IN_TIME: i16 = 7;
const TOO_FEW_REPLICAS: i16 = 19;
const NOT_AUTHORISED: i16 = 29;
const MAY_NOT_USE_CLUSTER: i16 = 31;
const OUT_OF_ORDER: i16 = 45;
const FORGOTTEN: i16 = 47;
const INVALID_RECORD: i16 = 87;
/// No answer of a broker: librdkafka closes the connection instead of accepting the request.
const CLOSES: i16 = -195;

const LIMIT: Duration = Duration::from_secs(20);

/// Starts the cluster with the topic `orders`, whose three partitions have one leader. Prints the
/// brokers' addresses. Then carries out each order on its standard input, a line each, and prints
/// the result.
const MOCK: &str = r#"
import ctypes, glob, json, os, sys
import confluent_kafka

[path] = glob.glob(os.path.dirname(confluent_kafka.__file__) + ".libs/librdkafka-*")
library = ctypes.CDLL(path)
pointer, text = ctypes.c_void_p, ctypes.c_char_p
integer, short, size = ctypes.c_int, ctypes.c_int16, ctypes.c_size_t

def function(name, result, *arguments):
    found = getattr(library, "rd_kafka_" + name)
    found.restype, found.argtypes = result, arguments
    return found

conf_new = function("conf_new", pointer)
new = function("new", pointer, integer, pointer, text, size)
cluster_new = function("mock_cluster_new", pointer, pointer, integer)
bootstraps = function("mock_cluster_bootstraps", text, pointer)
topic_create = function("mock_topic_create", integer, pointer, text, integer, integer)
push = function("mock_push_request_errors_array", None, pointer, short, size,
    ctypes.POINTER(integer))
set_leader = function("mock_partition_set_leader", integer, pointer, text, integer, integer)
set_rtt = function("mock_broker_set_rtt", integer, pointer, integer, integer)
set_down = function("mock_broker_set_down", integer, pointer, integer)

problem = ctypes.create_string_buffer(512)
client = new(0, conf_new(), problem, len(problem))
assert client, problem.value
cluster = cluster_new(client, 3)
assert cluster
assert topic_create(cluster, b"orders", 3, 3) == 0

def errors(key, codes):
    push(cluster, key, len(codes), (integer * len(codes))(*codes))
    return 0

def leader(broker):
    return sum(set_leader(cluster, b"orders", partition, broker) != 0 for partition in range(3))

orders = {
    "errors": errors,
    "leader": leader,
    "delay": lambda broker, milliseconds: set_rtt(cluster, broker, milliseconds),
    "down": lambda broker: set_down(cluster, broker),
}
assert leader(1) == 0
print(json.dumps(bootstraps(cluster).decode().split(",")), flush=True)
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(orders[name](*arguments), flush=True)
"#;

/// The mock cluster. Dropping it ends it.
struct Cluster {
    process: Child,
    orders: ChildStdin,
    results: BufReader<ChildStdout>,
    servers: Vec<String>,
}

impl Cluster {
    fn start() -> Self {
        // If the test is killed, the kernel stops the cluster.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(tool("python3")).args(["-c", MOCK]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("start python3 (scripts/python-tools brokers)");
        let orders = process.stdin.take().unwrap();
        let results = BufReader::new(process.stdout.take().unwrap());
        let mut cluster = Self { process, orders, results, servers: Vec::new() };
        cluster.servers = serde_json::from_value(cluster.result()).unwrap();
        cluster
    }

    /// Orders something of the cluster, which has done it when this returns.
    #[track_caller]
    fn order(&mut self, order: &Value) {
        writeln!(self.orders, "{order}").unwrap();
        assert_eq!(self.result(), 0, "{order}");
    }

    #[track_caller]
    fn result(&mut self) -> Value {
        let mut line = String::new();
        self.results.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Answers the next requests of this kind with these errors, one each. A request that is
    /// answered with an error changes nothing.
    fn inject(&mut self, kind: i16, errors: &[i16]) {
        self.order(&json!(["errors", kind, errors]));
    }

    /// Makes a broker, numbered from 1, the leader of the topic.
    fn move_leader(&mut self, broker: i32) {
        self.order(&json!(["leader", broker]));
    }

    /// Delays each answer of every broker.
    fn delay(&mut self, delay: Duration) {
        let milliseconds = u64::try_from(delay.as_millis()).unwrap();
        for broker in 1..=self.servers.len() {
            self.order(&json!(["delay", broker, milliseconds]));
        }
    }

    /// Closes a broker's connections and its port.
    fn take_down(&mut self, broker: i32) {
        self.order(&json!(["down", broker]));
    }

    /// Publishes to the first partition.
    fn definition(&self) -> Value {
        let to = json!({ "connection": { "servers": self.servers }, "partition": 0 });
        kafka::definition("", &to, json!({}))
    }

    /// The ids of the events that it has, in order.
    fn stored(&self) -> Vec<String> {
        let id = |message: &Value| message["body"]["id"].as_str().unwrap().to_owned();
        kafka::read(&self.servers.join(","), &[]).iter().map(id).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn errors_that_pass_are_waited_out_within_one_attempt() {
    let mut cluster = Cluster::start();
    let (executor, target) = (executor(open()), target(cluster.definition()));
    cluster.inject(PRODUCE, &[NO_LEADER, NOT_LEADER, CLOSES, TOO_FEW_REPLICAS]);
    let output = succeeded(attempt(&executor, &target, "a-1", 1, LIMIT).await);
    assert_eq!(output["offset"], 0);
    succeeded(attempt(&executor, &target, "a-2", 1, LIMIT).await);
    assert_eq!(cluster.stored(), ["a-1", "a-2"]);
}

#[tokio::test]
async fn an_error_that_does_not_pass_fails_the_attempt_and_not_the_next() {
    let mut cluster = Cluster::start();
    let (executor, target) = (executor(open()), target(cluster.definition()));
    let mut expected = Vec::new();
    for code in [NOT_AUTHORISED, OUT_OF_ORDER, FORGOTTEN] {
        let id = format!("a-{code}");
        cluster.inject(PRODUCE, &[code]);
        let (message, _) = failed(attempt(&executor, &target, &id, 1, LIMIT).await);
        assert!(message.ends_with(&format!("(error {code})")), "{message}");
        // A batch that was refused for good is followed by another producer.
        cluster.inject(INIT_PRODUCER_ID, &[MAY_NOT_USE_CLUSTER]);
        let (message, _) = failed(attempt(&executor, &target, &id, 2, LIMIT).await);
        assert_eq!(message, "this client may not use the cluster (error 31)");
        succeeded(attempt(&executor, &target, &id, 3, LIMIT).await);
        expected.push(id);
    }
    // A record that is refused for what it contains leaves the producer as it was.
    let id = format!("a-{INVALID_RECORD}");
    cluster.inject(PRODUCE, &[INVALID_RECORD]);
    let (message, _) = failed(attempt(&executor, &target, &id, 1, LIMIT).await);
    assert!(message.ends_with(&format!("(error {INVALID_RECORD})")), "{message}");
    succeeded(attempt(&executor, &target, &id, 2, LIMIT).await);
    expected.push(id);
    assert_eq!(cluster.stored(), expected);
}

#[tokio::test]
async fn a_leader_that_moves_or_can_no_longer_be_reached_is_followed() {
    let mut cluster = Cluster::start();
    let (own, other) = (executor(open()), executor(open()));
    let target = target(cluster.definition());
    let publish = async |id: &str| succeeded(attempt(&own, &target, id, 1, LIMIT).await);
    publish("a-1").await;
    cluster.move_leader(2);
    publish("a-2").await;
    cluster.take_down(2);
    cluster.move_leader(3);
    // While another client publishes, this one notices that its connection is closed.
    succeeded(attempt(&other, &target, "a-3", 1, LIMIT).await);
    // So nothing is sent to the old leader, whose port is closed, and the new one is looked up at
    // once.
    publish("a-4").await;
    // The client connected to this broker first.
    cluster.take_down(1);
    publish("a-5").await;
    assert_eq!(cluster.stored(), ["a-1", "a-2", "a-3", "a-4", "a-5"]);
}

#[tokio::test]
async fn an_event_is_doubled_only_by_another_attempt() {
    let mut cluster = Cluster::start();
    let (executor, target) = (executor(open()), target(cluster.definition()));
    succeeded(attempt(&executor, &target, "a-1", 1, LIMIT).await);
    // Slow, but within the time limit.
    cluster.delay(Duration::from_millis(200));
    let output = succeeded(attempt(&executor, &target, "a-2", 1, LIMIT).await);
    assert!(output["duration_ms"].as_f64().unwrap() >= 200.0, "{output}");
    // The event is stored, and the attempt does not learn of it.
    cluster.delay(Duration::from_secs(60));
    let outcome = attempt(&executor, &target, "a-3", 1, Duration::from_millis(500)).await;
    let AttemptOutcome::TimedOut { message, .. } = outcome else { panic!("{outcome:?}") };
    assert!(message.ends_with("did not acknowledge the event within 0.5 s"), "{message}");
    cluster.delay(Duration::ZERO);
    succeeded(attempt(&executor, &target, "a-3", 2, LIMIT).await);
    let stored = cluster.stored();
    assert_eq!(stored[..2], ["a-1", "a-2"]);
    assert!((1..=2).contains(&stored[2..].len()), "more than the attempts: {stored:?}");
    assert!(stored[2..].iter().all(|id| id == "a-3"), "{stored:?}");
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_by_a_cluster_full_of_faults() {
    let mut cluster = Cluster::start();
    let mut load = Load::start(cluster.definition(), LIMIT);
    load.reach(EVENTS / 8).await;
    cluster.inject(PRODUCE, &[NOT_LEADER, NOT_CONFIRMED_IN_TIME, CLOSES]);
    load.reach(EVENTS / 8 * 2).await;
    cluster.move_leader(2);
    load.reach(EVENTS / 8 * 3).await;
    cluster.inject(PRODUCE, &[NOT_AUTHORISED]);
    load.reach(EVENTS / 8 * 4).await;
    cluster.delay(Duration::from_millis(20));
    cluster.move_leader(3);
    load.reach(EVENTS / 8 * 5).await;
    cluster.inject(PRODUCE, &[FORGOTTEN, TOO_FEW_REPLICAS]);
    load.reach(EVENTS / 8 * 6).await;
    cluster.delay(Duration::ZERO);
    cluster.move_leader(1);
    let attempts = load.finish().await;
    let stored = cluster.stored();
    assert_nothing_lost(&attempts, &stored);
    assert_eq!(stored.len(), EVENTS, "attempts that failed have stored something");
}
