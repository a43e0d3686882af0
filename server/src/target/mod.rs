//! Targets: how a task acts on the world.
//!
//! One attempt at one task is one call of [`Executor::execute`]: it is handed the definition, what
//! the attempt is about, where to write log lines, and a token that stops it; it answers how the
//! attempt ended. It always ends: by itself, by the invocation's time limit, or by the token; and
//! when the future is dropped, nothing of it goes on. The layer knows no store, no schedule and no
//! retry: what an outcome leads to is decided elsewhere.
//!
//! What a target may do is the node's policy, not the definition's: programs run only where they
//! are allowed, requests go only where the egress guard lets them. [`Executor::check`] asks the
//! same questions when a target is saved, and names the field that has to change.
//!
//! What came from outside is bounded: lines to 16 KiB, output to the policy's limit (of a program's
//! the beginning and the end are kept), redirects to five. Secrets of a definition are in no message, log line or debug print.
//!
//! - `definition`: [`Target`], the sum of the kinds
//! - `http`: requests
//! - `publish`: events to brokers
//! - `egress`: where requests may go
//! - `tls`: whom connections trust
//! - `signature`: Standard Webhooks
//! - `command`: programs
//! - `worker`: tasks that programs of one's own pull
//! - `executor`: carries targets out
//! - `origin`: where a target goes, as far as its definition tells
//! - `mail`: mails to people, by the server that the configuration names
//! - `invocation`: what an attempt is told, and how it ends
//! - `template`: texts of a definition that are filled in before each attempt
//! - `result`: what a task gives back to its run
//! - `policy`: what this node allows
//! - `log`: where an attempt writes its lines
//! - `text`: bytes from outside as text
//! - `secret`: text that is not printed
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
mod template;
mod text;
mod tls;
mod worker;

pub(crate) use command::start_programs;
pub use command::{Command, UserError, drop_dumpable, may_switch_user, programs_user};
pub use definition::{Noop, Target};
pub use error::TargetError;
pub use executor::Executor;
pub(crate) use http::MAX_REDIRECTS;
pub use http::{Answers, FetchError, Fetched, Fetcher, Http, Method, StatusSet};
pub use invocation::{Invocation, Line, Outcome, Stream};
pub use log::Log;
pub use mail::{Blame, Letter, MailError, Mailer, check_address};
pub use policy::{CommandLimits, CommandPolicy, Policy};
pub use publish::{
    Broker, BrokerReport, Connection, Event, Kafka, Mode, Nats, Publish, Rabbitmq, Redis, Sasl, Sqs,
};
pub use result::result_of;
pub(crate) use result::{MAX_NESTING, MAX_RESULT_BYTES, nesting, too_deep};
pub use secret::Secret;
pub use template::{Names, Scope, TemplateUse, Unfilled};
pub(crate) use template::{is_reference, is_template};
pub use worker::{Jobs, Worker, check_output, completed, is_queue_name, is_worker_tag};
