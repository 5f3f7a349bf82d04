#!/bin/sh
# A stand-in for `claude -p`: it does what the real one does on disk, and waits for a file at every step.
PATH=/usr/bin:/bin
gates=$HOME/gates
waits() {
    until [ -e "$gates/$1" ]; do
        [ -d "$gates" ] || exit 9 # the test is over
        sleep 0.02
    done
}
gate() {
    : > "$gates/$1.reached"
    waits "$1"
}
id=
while [ $# -gt 0 ]; do
    case $1 in --session-id) id=$2; shift ;; esac
    shift
done
start=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)
project=$HOME/.claude/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$HOME/.claude/sessions" "$project"
now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
say() {
    printf '{"type":"%s","uuid":"%s","sessionId":"%s","timestamp":"%s","cwd":"%s","version":"2.1.197","message":%s}\n' \
        "$1" "$(cat /proc/sys/kernel/random/uuid)" "$id" "$(now)" "$(pwd -P)" "$2" >> "$project/$id.jsonl"
}
waits Id & # a helper of its own, which outlives it if it is killed here
gate Id
printf '{"pid":%s,"sessionId":"%s","cwd":"%s","startedAt":%s,"procStart":"%s","version":"2.1.197","kind":"interactive","entrypoint":"sdk-cli"}' \
    $$ "$id" "$(pwd -P)" "$(date +%s%3N)" "$start" > "$HOME/.claude/sessions/$$.json"
say user '{"role":"user","content":"go"}'
gate Work
say assistant '{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}],"stop_reason":"tool_use"}'
waits Tool & # the tool, which outlives whoever is killed
gate Tool
wait
say user '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}'
say assistant '{"id":"m2","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}'
rm -f "$HOME/.claude/sessions/$$.json"
gate Exit
