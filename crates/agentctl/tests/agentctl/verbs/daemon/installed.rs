//! Files for the system's supervisor.

use crate::home::{Agents, Daemon};
use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixDatagram},
    time::Duration,
};

const UNIT: &str = ".config/systemd/user/agentctl.service";
const PLIST: &str = "Library/LaunchAgents/dev.agentctl.daemon.plist";

#[test]
fn a_unit_is_written_shown_and_removed() {
    let agents = Agents::new();
    let home = &agents.home;
    let shown = home.run(&["daemon", "install", "--print"]);
    assert!(!home.path(UNIT).exists());
    let done = home.run(&["daemon", "install"]);
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert!(done.stdout.contains("next: systemctl --user enable --now agentctl.service\n"));
    let text = fs::read_to_string(home.path(UNIT)).expect("a unit");
    assert_eq!(text, shown.stdout);
    let program = home.program("agentctl").canonicalize().expect("a program");
    let start = format!("ExecStart=\"{}\" daemon run\n", program.display());
    for line in [start.as_str(), "Type=notify\n", "WatchdogSec=", "WantedBy=default.target\n"] {
        assert!(text.contains(line), "no {line}: {text}");
    }
    assert_eq!(home.run(&["daemon", "install"]).code, Some(0), "our own is replaced");
    assert_eq!(home.run(&["daemon", "uninstall"]).code, Some(0));
    assert!(!home.path(UNIT).exists());
    let again = home.run(&["daemon", "uninstall"]);
    assert_eq!((again.code, again.stderr.contains("nothing is installed")), (Some(0), true));
}

#[test]
fn what_others_wrote_stays() {
    let agents = Agents::new();
    let home = &agents.home;
    home.write(UNIT, "[Service]\nExecStart=/usr/bin/other\n");
    agents.own();
    for command in ["install", "uninstall"] {
        let refused = home.run(&["daemon", command]);
        assert_eq!(refused.code, Some(5), "{refused:#?}");
        assert!(fs::read_to_string(home.path(UNIT)).expect("it stays").contains("/usr/bin/other"));
    }
    assert_eq!(home.run(&["daemon", "install", "--force"]).code, Some(0));
    assert_eq!(home.run(&["daemon", "uninstall"]).code, Some(0));
}

/// What a unit does not hold is named, and not what it says.
#[test]
fn variables_that_do_not_reach_it_are_named() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut command = home.agentctl(&["daemon", "install", "--print"]);
    command.env("AGENTCTL_WEBHOOK_SECRET", "hidden").env("AGENTCTL_HOME", home.path("own"));
    let shown = home.ask(&mut command);
    assert!(shown.stderr.contains("not in the file: AGENTCTL_WEBHOOK_SECRET;"), "{shown:#?}");
    assert!(!format!("{}{}", shown.stdout, shown.stderr).contains("hidden"), "{shown:#?}");
    assert_eq!(home.run(&["daemon", "install", "--print"]).stderr, "");
}

/// The supervisor's command is called where there is one, and what it complains of is told.
#[test]
fn the_supervisor_is_told_where_it_is_there() {
    let agents = Agents::new();
    let home = &agents.home;
    let fake = home.write(
        "bin/systemctl",
        "#!/bin/sh\necho \"$@\" >>\"$HOME/told\"\necho no bus >&2\nexit 1\n",
    );
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("our file");
    agents.own();
    let done = home.run(&["daemon", "install"]);
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert!(done.stderr.contains("`systemctl --user daemon-reload` failed: no bus"), "{done:#?}");
    assert_eq!(home.run(&["daemon", "uninstall"]).code, Some(0));
    let told = fs::read_to_string(home.path("told")).expect("it was called");
    let reload = "--user daemon-reload\n";
    assert_eq!(told, format!("{reload}--user disable --now agentctl.service\n{reload}"));
}

#[test]
fn launchd_has_its_own_file() {
    let agents = Agents::new();
    let home = &agents.home;
    let words = ["daemon", "install", "--supervisor", "launchd"];
    let done = home.run(&words);
    assert!(done.stdout.contains("next: launchctl bootstrap gui/"), "{done:#?}");
    let text = fs::read_to_string(home.path(PLIST)).expect("a file");
    assert!(text.contains("<string>dev.agentctl.daemon</string>"), "{text}");
    assert_eq!(home.run(&["daemon", "uninstall", "--supervisor", "launchd"]).code, Some(0));
    assert!(!home.path(PLIST).exists());
}

/// What systemd is told: that it is there, that nothing hangs, and that it ends.
#[test]
fn systemd_is_told_how_it_is() {
    let agents = Agents::new();
    let home = &agents.home;
    let place = home.root().join("notify");
    let socket = UnixDatagram::bind(&place).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).expect("our file");
    let mut command = home.agentctl(&["daemon", "run"]);
    command.env("NOTIFY_SOCKET", &place).env("WATCHDOG_USEC", "300000");
    let mut daemon = Daemon::of(home, &mut command);
    let told = || {
        let mut bytes = [0; 256];
        let count = socket.recv(&mut bytes).expect("a message");
        String::from_utf8_lossy(&bytes[..count]).trim_end().to_owned()
    };
    assert_eq!([told(), told(), told()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    assert_eq!(home.run(&["daemon", "stop"]).code, Some(0));
    let rest: Vec<String> =
        std::iter::repeat_with(told).take_while(|one| one != "STOPPING=1").collect();
    assert!(rest.iter().all(|one| one == "WATCHDOG=1"), "{rest:?}");
    assert_eq!(daemon.ended(), Some(0));
}
