#!/bin/sh
# A stand-in for Claude Code 2.1.197: it does on disk what the real one does, one order after the other, and says when it has.
PATH=/usr/bin:/bin
id=
while [ $# -gt 0 ]; do
    case $1 in --session-id) id=$2; shift ;; esac
    shift
done
orders=$HOME/orders/$id
mkdir -p "$HOME/orders" "$HOME/.claude/sessions"
mkfifo "$orders"
exec 3<>"$orders" # nobody's going closes it
start=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)
dir=$(pwd -P)
project=$HOME/.claude/projects/$(printf %s "$dir" | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$project"
began=$(date +%s%3N)
above=null
say() {
    uuid=$(cat /proc/sys/kernel/random/uuid)
    printf '{"parentUuid":%s,"isSidechain":false,"type":"%s","uuid":"%s","sessionId":"%s","timestamp":"%s","cwd":"%s","version":"2.1.197","message":%s}\n' \
        "$above" "$1" "$uuid" "$id" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$dir" "$2" >> "$project/$id.jsonl"
    above="\"$uuid\""
}
register() {
    printf '{"pid":%s,"sessionId":"%s","cwd":"%s","startedAt":%s,"procStart":"%s","version":"2.1.197","kind":"interactive","entrypoint":"cli",%s}' \
        $$ "$id" "$dir" "$began" "$start" "$1" > "$HOME/.claude/sessions/$$.draft"
    mv "$HOME/.claude/sessions/$$.draft" "$HOME/.claude/sessions/$$.json"
}
prompt() {
    say user '{"role":"user","content":"go"}'
    register '"status":"busy"'
}
reply() {
    say assistant '{"id":"m","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}'
    register '"status":"idle"'
}
register '"status":"idle"'
prompt
echo began >> "$orders.done"
while read -r order <&3; do
    case $order in
        prompt) prompt ;;
        reply) reply ;;
        ask) register '"status":"waiting","waitingFor":"permission prompt"' ;;
        answer) register '"status":"busy"' ;;
        exit)
            rm -f "$HOME/.claude/sessions/$$.json"
            exit 0
            ;;
    esac
    echo "$order" >> "$orders.done"
done
