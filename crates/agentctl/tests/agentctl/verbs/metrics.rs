//! Figures, read by a real Prometheus, while a session comes and goes.

use crate::home::{
    Agents, Daemon,
    lines::{prompt, reply},
    until,
};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// How long a page may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The body of a page, if it is served.
fn page(place: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(place).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {place}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

/// The value that Prometheus has for this expression.
fn value(prometheus: &str, expression: &str) -> Option<f64> {
    let body = page(prometheus, &format!("/api/v1/query?query={expression}"))?;
    let answer: Value = serde_json::from_str(&body).ok()?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

fn prometheus(agents: &Agents, target: &str) -> (Running, String) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = socket.local_addr().expect("it is bound").to_string();
    drop(socket);
    let dir = agents.home.root().join("prometheus");
    fs::create_dir(&dir).expect("a folder");
    let text = format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\n\
         scrape_configs: [{{ job_name: a, static_configs: [{{ targets: ['{target}'] }}] }}]\n"
    );
    fs::write(dir.join("prometheus.yml"), text).expect("a file");
    let mut command = Command::new("prometheus");
    command.current_dir(&dir).arg(format!("--web.listen-address={place}"));
    command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("`cargo xtask setup` installs prometheus");
    (Running(child), place)
}

#[test]
fn a_real_prometheus_reads_what_happens() {
    let agents = Agents::new();
    let (_daemon, place) =
        Daemon::of_figures(&agents.home, &["daemon", "run", "--metrics-addr", "127.0.0.1:0"]);
    let (_prometheus, asks) = prometheus(&agents, &place);
    let is = |expression: &str, wanted: &dyn Fn(f64) -> bool| {
        until(expression, || value(&asks, expression).filter(|found| wanted(*found)))
    };
    is("up", &|up| up == 1.0);
    is("agentctl_sessions_active", &|live| live == 0.0);
    is("agentctl_sessions_total%7Bstatus=%22stopped%22%7D", &|ended| ended == 0.0);
    let launched = agents.home.run(&["launch", "claude-code", "-p", "hi", "--json"]).json();
    let id = launched["session"]["id"].as_str().expect("an id");
    let now = |mut line: Value| {
        line["timestamp"] = jiff::Timestamp::now().to_string().into();
        line
    };
    agents.home.claude(id, &[now(prompt("Begin")), now(reply("Done"))]);
    agents.own();
    is("agentctl_sessions_active", &|live| live == 1.0);
    is("agentctl_locks_active%7Btype=%22auto%22%7D", &|locks| locks == 1.0);
    is(&format!("agentctl_session_memory_bytes%7Bsession=%22{id}%22%7D"), &|bytes| bytes > 4096.0);
    is("agentctl_adapter_look_seconds%7Bagent=%22claude-code%22%7D", &|time| time > 0.0);
    assert_eq!(agents.home.run(&["stop", id, "--grace", "1s"]).code, Some(0));
    is("agentctl_sessions_active", &|live| live == 0.0);
    is("sum(agentctl_sessions_total)", &|ended| ended == 1.0);
    is("agentctl_session_duration_seconds_count", &|ended| ended == 1.0);
    // Prometheus knows the kinds, by which it draws them.
    let kinds = page(&asks, "/api/v1/metadata").expect("kinds");
    let kinds: Value = serde_json::from_str(&kinds).expect("JSON");
    let kind = |name: &str| kinds["data"][name][0]["type"].clone();
    assert_eq!(kind("agentctl_sessions_active"), "gauge");
    assert_eq!(kind("agentctl_session_duration_seconds"), "histogram");
}

#[test]
fn figures_of_a_moment_are_printed_and_only_loopback_is_served() {
    let agents = Agents::new();
    let once = agents.home.run(&["metrics"]);
    assert_eq!((once.code, once.stderr.as_str()), (Some(0), ""), "{once:#?}");
    assert!(once.stdout.contains("\nagentctl_sessions_active 0\n"), "{once:#?}");
    assert!(once.stdout.ends_with("# EOF\n") && !once.stdout.contains("_total"), "{once:#?}");
    let (_served, place) = Daemon::of_figures(&agents.home, &["metrics", "--addr", "127.0.0.1:0"]);
    let counted = page(&place, "/metrics").expect("a page");
    assert!(counted.contains("\nagentctl_sessions_total{status=\"failed\"} 0\n"), "{counted}");
    let open = agents.home.run(&["metrics", "--addr", "0.0.0.0:0"]);
    assert_eq!(open.code, Some(5), "{open:#?}");
    // Who asks for figures gets them or is told why not; who only configured them gets the rest of the daemon.
    let taken = agents.home.run(&["daemon", "run", "--metrics-addr", &place]);
    assert!(taken.code == Some(1) && taken.stderr.contains(&place), "{taken:#?}");
    agents.home.write(".config/agentctl/config.toml", format!("metrics.addr = '{place}'\n"));
    agents.own();
    let _daemon = agents.home.daemon();
    let status = agents.home.run(&["daemon", "status"]);
    assert!(
        status.code == Some(8) && status.stderr.contains("there are no figures"),
        "{status:#?}"
    );
}
