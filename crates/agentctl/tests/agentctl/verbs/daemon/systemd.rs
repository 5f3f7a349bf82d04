//! The unit under a real systemd, which a namespace of its own believes to be the one that started the machine.

use crate::home::Home;
use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// `$1` is our program. Whatever is not as it should be is said; the end of the script ends all that it started.
const SCRIPT: &str = r#"
mount -t tmpfs none /run
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
/lib/systemd/systemd --user --log-target=console >"$HOME/systemd.log" 2>&1 &
until_is() { for i in $(seq 200); do [ "$(eval "$2")" = "$1" ] && return; sleep .1; done; echo "never: $2 is $1"; }
of() { systemctl --user show -p "$1" --value agentctl; }
until_is running 'systemctl --user is-system-running'
"$1" daemon install >/dev/null || echo 'not installed'
mkdir "$HOME/.config/systemd/user/agentctl.service.d"
printf '[Service]\nWatchdogSec=1\nRestartSec=0\n' >"$HOME/.config/systemd/user/agentctl.service.d/soon.conf"
systemctl --user daemon-reload
systemctl --user enable --now agentctl 2>/dev/null || echo 'not started'
first=$(of MainPID)
[ "$first" -gt 1 ] || { echo 'it does not run'; exit 0; }
"$1" daemon status | grep -q "process $first," || echo 'another one runs'
kill -KILL "$first"
until_is 1 'of NRestarts'
until_is active 'of ActiveState'
second=$(of MainPID)
[ "$first" != "$second" ] || echo 'it was not started again'
kill -STOP "$second"
until_is 2 'of NRestarts'
until_is active 'of ActiveState'
third=$(of MainPID)
"$1" daemon restart >/dev/null || echo 'not restarted'
fourth=$(of MainPID)
[ "$third" != "$fourth" ] || echo 'the same runs on'
"$1" daemon status | grep -q "process $fourth," || echo 'a restart took it away from systemd'
"$1" daemon stop >/dev/null || echo 'not ended'
until_is inactive 'of ActiveState'
[ "$(of Result)" = success ] || echo "an end that was asked for is $(of Result)"
systemctl --user start agentctl || echo 'not started again'
"$1" daemon uninstall >/dev/null || echo 'not removed'
"$1" daemon status >/dev/null && echo 'it runs on'
exit 0
"#;

/// Killed or hanging it is started again; told to end it is not; uninstalled it is gone.
#[test]
#[ignore = "`cargo xtask prove --full` runs it: it needs root, systemd and control groups"]
fn a_real_systemd_looks_after_it() {
    let home = Home::new();
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    // systemd reads paths in its own way.
    let program = home.write("at $HOME 100%h/agentctl", "");
    fs::copy(home.program("agentctl"), &program).expect("a copy");
    unshare.args(["sh", "-c", SCRIPT, "script"]).arg(program);
    unshare.env_clear().env("HOME", home.path("")).env("PATH", "/usr/bin:/bin");
    unshare.env("XDG_RUNTIME_DIR", "/run/user");
    fs::set_permissions(home.path(""), fs::Permissions::from_mode(0o700)).expect("our folder");
    let answer = home.ask(unshare.current_dir(home.work()));
    let log = fs::read_to_string(home.path("systemd.log")).unwrap_or_default();
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{answer:#?}\n{log}");
}
