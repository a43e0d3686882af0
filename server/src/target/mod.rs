//! Targets: the actions of tasks.
//!
//! One attempt at one task is one call of [`Executor::execute`]. The call gets the definition, the
//! invocation, a channel for log lines, and a token that stops it; it returns how the attempt
//! ended. It always ends: on its own, by the invocation's time limit, or by the token. When its
//! future is dropped, nothing of the attempt continues. This layer knows nothing of the store, of
//! schedules or of retries: other layers decide the consequences of an outcome.
//!
//! The node's policy decides what a target may do, not the definition: programs run only where they
//! are allowed, and requests go only where the egress guard permits. [`Executor::check`] makes the
//! same checks when a target is saved, and names the field that has to change.
//!
//! Everything from outside is bounded: lines to 16 KiB, output to the policy's limit (for a
//! program's output the beginning and the end are kept), redirects to five. No message, log line or
//! debug print contains the secrets of a definition.
//!
//! - `definition`: [`Target`], the enum of all kinds
//! - `http`: HTTP requests
//! - `publish`: publishing events to brokers
//! - `egress`: decides where requests may go
//! - `tls`: which authorities connections trust
//! - `signature`: signatures by Standard Webhooks
//! - `command`: programs on the node
//! - `worker`: tasks that external workers pull
//! - `executor`: carries targets out
//! - `origin`: the receiver of a target, as far as its definition shows
//! - `mail`: sending mails through the configured server
//! - `invocation`: the input of an attempt, and its outcome
//! - `template`: texts of a definition that are rendered before each attempt
//! - `result`: the output of a task for its run
//! - `policy`: the restrictions of targets on this node
//! - `log`: the log lines of an attempt
//! - `tail`: the end of an output that exceeds a limit; pure
//! - `time_limit`: the time limit of an attempt
//! - `text`: converts bytes from outside to text
//! - `secret`: text that is never printed
//! - `error`: why a target is refused

mod command;
mod definition;
mod egress;
mod error;
mod executor;
mod http;
mod invocation;
mod log;
mod mail;
mod origin;
mod policy;
mod publish;
mod result;
mod secret;
mod signature;
mod tail;
mod template;
mod text;
mod time_limit;
mod tls;
mod worker;

pub use command::{CommandTarget, UserError, drop_dumpable, may_switch_user, programs_user};
pub(crate) use command::{leads_elsewhere, start_programs};
pub use definition::{Noop, Target};
pub use error::TargetError;
pub use executor::Executor;
pub(crate) use http::MAX_REDIRECTS;
pub use http::{Answers, FetchError, Fetched, Fetcher, Http, Method, StatusSet};
pub use invocation::{AttemptOutcome, Invocation, Line, Stream};
pub use log::AttemptLog;
pub use mail::{Letter, MailError, MailFault, Mailer, check_address};
pub use origin::Origin;
pub use policy::{CommandLimits, CommandPolicy, Policy};
pub use publish::{
    Broker, BrokerConnection, BrokerReport, CloudEvent, ContentMode, Kafka, Nats, Publish,
    Rabbitmq, Redis, Sasl, Sqs,
};
pub use result::result_of;
pub(crate) use result::{MAX_NESTING, MAX_RESULT_BYTES, nesting, too_deep};
pub use secret::SecretText;
pub(crate) use tail::{MAX_TAIL_BYTES, MAX_TAIL_LINES, Tail};
pub use template::{TemplateFailure, TemplateNames, TemplateScope, TemplateUse};
pub(crate) use template::{is_filled_from_elsewhere, is_reference};
pub use worker::{Jobs, WorkerTarget, check_output, completed, is_queue_name, is_worker_tag};
