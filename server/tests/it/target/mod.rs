//! Targets, tested against real servers, real names and real processes.

mod answers;
mod command;
mod confined;
mod documented;
mod egress;
mod http;
mod limits;
mod processes;
mod publish;
mod redirects;
mod signatures;
mod support;
mod tls;
