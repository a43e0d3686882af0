//! Invalid answers: whatever a receiver sends, the attempt ends with a message about the answer.

use std::time::Duration;

use carillon::{
    clock::Clock,
    target::{AttemptOutcome, Invocation, Policy},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::support::{executor, invocation, open, target};

const CASES: u64 = 2_000;

const OUTPUT_LIMIT: usize = 10_000;

/// A generator of numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn of<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

/// Bytes that may or may not be a valid answer.
fn answer(numbers: &mut Numbers) -> Vec<u8> {
    if numbers.below(8) == 0 {
        return numbers.bytes(3_000);
    }
    let starts = ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200\r\n", "HTTP/1.0 200 OK\r\n"];
    let odd =
        ["HTTP/1.1 999 X\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", "HTTP/9\n"];
    let start = if numbers.below(4) == 0 { numbers.of(&odd) } else { numbers.of(&starts) };
    let mut made = start.as_bytes().to_vec();
    for _ in 0..numbers.below(6) {
        match numbers.below(6) {
            0 => made.extend(format!("X: {}\r\n", "h".repeat(numbers.below(600_000))).bytes()),
            1 => {
                (0..numbers.below(300)).for_each(|at| made.extend(format!("X{at}: y\r\n").bytes()))
            }
            2 => made.extend(numbers.bytes(60)),
            3 => made.extend(numbers.of(&["Location: \u{1}\r\n", "Location: /\r\n"]).bytes()),
            4 => made.extend(b"Content-Type: application/json\r\n"),
            _ => made.extend(
                numbers
                    .of(&[
                        "Content-Length: 18446744073709551615\r\n",
                        "Content-Length: -1\r\n",
                        "Content-Length: 5\r\nContent-Length: 6\r\n",
                        "Transfer-Encoding: chunked\r\n",
                        "Transfer-Encoding: gzip, chunked\r\n",
                        "Content-Encoding: gzip\r\n",
                    ])
                    .bytes(),
            ),
        }
    }
    made.extend(b"\r\n");
    for _ in 0..numbers.below(4) {
        match numbers.below(5) {
            0 => made.extend(
                numbers.of(&["5\r\nhello\r\n", "0\r\n\r\n", "ffffffffffffffff\r\n"]).bytes(),
            ),
            1 => made.extend(numbers.of(&["-5\r\n", "5;", "zz\r\n", "5\r\nhel"]).bytes()),
            2 => made.extend("[".repeat(numbers.below(200_000)).bytes()),
            3 => made.extend(numbers.bytes(2_000)),
            _ => made.extend("{\"a\":\"\\u0000\"}".bytes()),
        }
    }
    made
}

#[tokio::test]
async fn no_answer_of_any_shape_breaks_an_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let receiver = tokio::spawn(async move {
        let mut numbers = Numbers(7);
        loop {
            let Ok((mut socket, _)) = listener.accept().await else { return };
            let answer = answer(&mut numbers);
            let mut head = [0; 4_096];
            let _ = socket.read(&mut head).await;
            // A client that refuses an answer may hang up before its end.
            let _ = socket.write_all(&answer).await;
            let _ = socket.shutdown().await;
        }
    });
    let executor = executor(Policy { output_limit_bytes: OUTPUT_LIMIT, ..open() });
    let sent = target(json!({ "http": { "url": format!("http://{address}/") } }));
    let invocation = Invocation { timeout: Duration::from_secs(20), ..invocation() };
    let mut ended = [0, 0];
    for case in 0..CASES {
        let (lines, mut received) = mpsc::channel(1_000);
        let work = executor.execute(&sent, &invocation, lines, CancellationToken::new());
        let outcome = Clock::system().timeout(Duration::from_secs(30), work).await;
        let (index, message, output) = match outcome {
            Ok(AttemptOutcome::Succeeded { output }) => (0, String::new(), output),
            Ok(AttemptOutcome::Failed { message, output }) => (1, message, output),
            other => panic!("case {case}: {other:?}"),
        };
        ended[index] += 1;
        assert!(message.len() < 1_000, "case {case}: {message}");
        let stored = output.to_string().len();
        assert!(stored < 20 * OUTPUT_LIMIT, "case {case}: {stored} bytes are stored");
        while let Ok(line) = received.try_recv() {
            assert!(line.text.len() <= 16 * 1024, "case {case}");
        }
    }
    assert!(ended[0] > 50 && ended[1] > 500, "{ended:?}");
    receiver.abort();
}
