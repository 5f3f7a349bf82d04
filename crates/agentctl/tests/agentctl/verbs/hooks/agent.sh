#!/bin/sh
# A stand-in for `claude -p` that ends when it is told to, with the exit code it is told.
PATH=/usr/bin:/bin
while [ $# -gt 0 ]; do
    case $1 in --session-id | --resume) id=$(basename "$2" .jsonl) ;; esac
    shift
done
[ -e "$HOME/stillborn" ] && exit 4
echo "$id" >>"$HOME/started"
echo "words of the agent"
began=$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)
project=$HOME/.claude/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$HOME/.claude/sessions" "$project"
say() {
    printf '{"type":"%s","uuid":"%s","sessionId":"%s","timestamp":"%s","cwd":"%s","version":"2.1.197","message":%s}\n' \
        "$1" "$(cat /proc/sys/kernel/random/uuid)" "$id" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$(pwd -P)" "$2" \
        >>"$project/$id.jsonl"
}
say user '{"role":"user","content":"go"}'
printf '{"pid":%s,"sessionId":"%s","cwd":"%s","procStart":"%s","startedAt":%s000,"status":"busy"}' \
    $$ "$id" "$(pwd -P)" "$began" "$(date +%s)" >"$HOME/.claude/sessions/$$.draft"
mv "$HOME/.claude/sessions/$$.draft" "$HOME/.claude/sessions/$$.json"
until [ -e "$HOME/end" ]; do
    sleep 0.02
done
read -r code <"$HOME/end"
say assistant '{"id":"m","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}'
rm -f "$HOME/.claude/sessions/$$.json"
exit "$code"
