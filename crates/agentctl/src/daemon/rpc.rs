//! JSON-RPC 2.0, a line each: what a request is, and what errors are called.

use crate::error::{Error, Kind};
use agentctl_core::wire::Failure;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    time::Duration,
};

/// The number of the language spoken on the socket. It changes only where an old client would misunderstand.
pub(super) const PROTOCOL: u32 = 1;
/// This program's version.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A longer line is no request. A cursor is about 400 bytes for each session that it knows.
pub(super) const LONGEST: usize = 4 << 20;
/// Longer lines are heard one at a time.
pub(super) const SHORT: usize = 64 << 10;
/// So many connections at once.
pub(super) const CONNECTIONS: usize = 32;
/// So many more, for those who look after the daemon and for nobody else.
pub(super) const SPARE: usize = 2;
/// Who takes nothing for so long is hung up on.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// So many lines wait for one who reads slowly; then he is hung up on.
pub(super) const QUEUE: usize = 256;

/// Not JSON.
const PARSE: i32 = -32700;
/// JSON, and no request.
const INVALID: i32 = -32600;
const NO_METHOD: i32 = -32601;
const PARAMS: i32 = -32602;
/// Ours begin here, and go down with the exit code of the same error.
const OURS: i32 = -32000;

/// What is asked.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// None wants no answer.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Value,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Fault {
    code: i32,
    pub(super) message: String,
    /// As `--json` tells errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<Failure>>,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(INVALID, message)
    }

    pub(super) fn no_method(name: &str) -> Self {
        Self::new(NO_METHOD, format!("no such method: {name:?}"))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let code = match error.kind {
            Kind::Usage => PARAMS,
            Kind::No
            | Kind::NoSession
            | Kind::Ambiguous
            | Kind::Refused
            | Kind::NotStarted
            | Kind::TimedOut
            | Kind::Problems
            | Kind::Unreadable
            | Kind::Io => OURS - i32::from(error.kind.code()),
        };
        Self { code, message: error.message.clone(), data: Some(Box::new(Failure::from(&error))) }
    }
}

/// Reads a line.
pub(super) fn request(line: &[u8]) -> Result<Request, (Value, Fault)> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|why| (Value::Null, Fault::new(PARSE, format!("not JSON: {why}"))))?;
    let Value::Object(mut fields) = value else {
        return Err((
            Value::Null,
            Fault::invalid("a request is an object; batches are not served"),
        ));
    };
    let id = fields.remove("id");
    let back = match &id {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    };
    let wrong = |why: &str| (back.clone(), Fault::invalid(why));
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(wrong("`jsonrpc` is not \"2.0\""));
    }
    if matches!(id, Some(Value::Object(_) | Value::Array(_) | Value::Bool(_))) {
        return Err(wrong("`id` is neither a text nor a number"));
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err(wrong("`method` is no text"));
    };
    let params = fields.remove("params").unwrap_or_else(|| json!({}));
    if !params.is_object() {
        return Err((back, Fault::new(PARAMS, "`params` are named, in an object")));
    }
    Ok(Request { id, method, params })
}

/// What the params of a method mean.
pub(super) fn params<T: DeserializeOwned>(params: Value) -> Result<T, Fault> {
    serde_json::from_value(params).map_err(|why| Fault::new(PARAMS, why.to_string()))
}

/// An answer.
pub(super) fn answer(id: &Value, result: Result<&str, &Fault>) -> String {
    let (name, value) = match result {
        Ok(result) => ("result", result.to_owned()),
        Err(fault) => ("error", serde_json::to_string(fault).unwrap_or_default()),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{name}\":{value}}}\n")
}

/// The same for a result that is too long to be held twice.
pub(super) fn write_answer(
    out: &mut impl Write,
    id: &Value,
    result: &impl Serialize,
) -> io::Result<()> {
    write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":")?;
    serde_json::to_writer(&mut *out, result)?;
    out.write_all(b"}\n")
}

/// What nobody asked for at that moment.
pub(super) fn notification(method: &str, params: &impl Serialize) -> String {
    let params = serde_json::to_string(params).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n")
}

/// What a daemon says first, and whenever it is asked for its version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) schema: u32,
    pub(super) protocol: u32,
    pub(super) version: String,
    pub(super) pid: u32,
    pub(super) since: jiff::Timestamp,
    /// It has looked around: what happens from now on is told. Older ones did not answer before.
    #[serde(default = "yes")]
    pub(super) watches: bool,
    /// Somebody starts it anew when it ends.
    #[serde(default)]
    pub(super) supervised: bool,
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_told_so() {
        let code = |line: &str| request(line.as_bytes()).expect_err(line).1.code;
        assert_eq!(code("{"), PARSE);
        assert_eq!(code(r#"[{"jsonrpc":"2.0","id":1,"method":"version"}]"#), INVALID);
        assert_eq!(code(r#"{"id":1,"method":"version"}"#), INVALID);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":{},"method":"version"}"#), INVALID);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":7}"#), INVALID);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"list","params":[1]}"#), PARAMS);
        let (id, _) = request(br#"{"jsonrpc":"2.0","id":"a"}"#).expect_err("no method");
        assert_eq!(id, json!("a"), "whoever asked knows which");
    }

    #[test]
    fn errors_are_called_as_their_exit_codes() {
        let code = |kind| Fault::from(Error::new(kind, "x")).code;
        assert_eq!(code(Kind::Usage), PARAMS);
        assert_eq!(code(Kind::NoSession), -32003);
        assert_eq!(code(Kind::Ambiguous), -32004);
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Whatever a caller sends, the answer is one line of JSON that carries his id.
        #[test]
        fn any_line_is_a_request_or_is_told_why_not() {
            let run = |line: &[u8]| {
                let (id, fault) = match request(line) {
                    Ok(request) => {
                        (request.id.unwrap_or_default(), Fault::no_method(&request.method))
                    }
                    Err(wrong) => wrong,
                };
                let said = answer(&id, Err(&fault));
                assert_eq!(said.matches('\n').count(), 1, "{said:?}");
                let back: Value = serde_json::from_str(&said).expect("an answer is JSON");
                assert_eq!((&back["id"], &back["error"]["code"]), (&id, &json!(fault.code)));
            };
            Target::new("rpc", run).holds(5_000);
        }
    }
}
