# A stand-in for Claude Code 2.1.197, Codex 0.166 or Pi 1.5, by the name under which it is run: it does on disk
# what the real one does, one order after the other, and says when it has. In one process, without children.
use strict;
use warnings;
use Fcntl qw(:flock O_RDWR);
use IO::Select;
use POSIX qw(mkfifo strftime);
use Time::HiRes qw(time);
my ($kind) = $0 =~ m{([^/]+)$};
my $home = $ENV{HOME};
my @words = @ARGV;
my $dir = POSIX::getcwd();
open(my $stat, '<', "/proc/$$/stat") or die $!;
my ($rest) = <$stat> =~ /.*\) (.*)/;
my $start = (split ' ', $rest)[19];
my ($above, $count) = ('null', 0);
sub value { my $flag = shift; for (0 .. $#words - 1) { return $words[$_ + 1] if $words[$_] eq $flag } undef }
sub random { open(my $file, '<', '/proc/sys/kernel/random/uuid') or die $!; my $id = <$file>; chomp $id; $id }
sub now { my $t = time; strftime('%Y-%m-%dT%H:%M:%S', gmtime $t) . sprintf('.%03dZ', ($t - int $t) * 1000) }
sub dirs { my $at = ''; for (split m{/}, $_[0]) { next if $_ eq ''; $at .= "/$_"; mkdir $at } }
sub whole { open(my $file, '>', "$_[0].draft") or die "$_[0]: $!"; print $file $_[1]; close $file; rename "$_[0].draft", $_[0] or die $! }
sub add { open(my $file, '>>', $_[0]) or die "$_[0]: $!"; syswrite $file, "$_[1]\n" or die $!; close $file }

# Ids of Codex and Pi begin with their time.
my $fresh = random();
my $ms = sprintf '%012x', int(time * 1000);
substr($fresh, 0, 15) = substr($ms, 0, 8) . '-' . substr($ms, 8, 4) . '-7' unless $kind eq 'claude';
my ($id, $record, $lock);
if ($kind eq 'claude') {
    my $earlier = value('--resume');
    $id = value('--session-id') // ($earlier ? ($earlier =~ m{([^/]+)\.jsonl$})[0] : $fresh);
    my $folder = "$home/.claude/projects/" . ($dir =~ s/[^A-Za-z0-9]/-/gr);
    dirs($folder);
    dirs("$home/.claude/sessions");
    $record = "$folder/$id.jsonl";
} elsif ($kind eq 'codex') {
    $id = value('resume') // $fresh;
    ($record) = glob("$home/.codex/sessions/*/*/*/rollout-*-$id.jsonl");
    my $day = strftime('%Y/%m/%d', gmtime);
    dirs("$home/.codex/sessions/$day");
    dirs("$home/.codex/thread-writer-locks");
    my $new = !$record;
    $record //= "$home/.codex/sessions/$day/rollout-" . strftime('%Y-%m-%dT%H-%M-%S', gmtime) . "-$id.jsonl";
    open($lock, '>>', "$home/.codex/thread-writer-locks/$id.lock") or die $!;
    flock($lock, LOCK_EX | LOCK_NB) or die "it is held: $!";
    if ($new) {
        add($record, sprintf '{"timestamp":"%s","ordinal":0,"type":"session_meta","payload":{"session_id":"%s","id":"%s","timestamp":"%s","cwd":"%s","originator":"codex_exec","cli_version":"0.166.0","source":"exec"}}', now(), $id, $id, now(), $dir);
    }
    print qq({"type":"thread.started","thread_id":"$id"}\n);
} else {
    $record = value('--session');
    if ($record) {
        ($id) = $record =~ m{_([^/]+)\.jsonl$};
    } else {
        $id = $fresh;
        my $folder = "$home/.pi/agent/sessions/--" . (substr($dir, 1) =~ s{/}{-}gr) . '--';
        dirs($folder);
        $record = "$folder/" . (now() =~ s/[:.]/-/gr) . "_$id.jsonl";
        add($record, sprintf '{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"%s"}', $id, now(), $dir);
    }
    print qq({"type":"session","version":3,"id":"$id","timestamp":"), now(), qq("}\n);
}
select((select(STDOUT), $| = 1)[0]);

sub say_claude {
    my ($type, $message) = @_;
    my $uuid = random();
    add($record, sprintf '{"parentUuid":%s,"isSidechain":false,"type":"%s","uuid":"%s","sessionId":"%s","timestamp":"%s","cwd":"%s","version":"2.1.197","message":%s}', $above, $type, $uuid, $id, now(), $dir, $message);
    $above = "\"$uuid\"";
}
my $began = int(time * 1000);
sub register {
    whole("$home/.claude/sessions/$$.json", sprintf '{"pid":%s,"sessionId":"%s","cwd":"%s","startedAt":%s,"procStart":"%s","version":"2.1.197","kind":"interactive","entrypoint":"cli",%s}', $$, $id, $dir, $began, $start, $_[0]);
}
sub event { add($record, sprintf '{"timestamp":"%s","ordinal":%d,"type":"event_msg","payload":{"type":"%s","turn_id":"t-%d"%s}}', now(), ++$count, $_[0], $$, $_[1]) }
sub entry { add($record, sprintf '{"type":"message","id":"%08x","parentId":null,"timestamp":"%s","message":%s}', ++$count, now(), $_[0]) }
sub prompt {
    my ($text) = @_;
    if ($kind eq 'claude') {
        register('"status":"busy"');
        say_claude('user', qq({"role":"user","content":"$text"}));
    } elsif ($kind eq 'codex') {
        event('task_started', '');
    } else {
        entry(qq({"role":"user","content":[{"type":"text","text":"$text"}]}));
    }
}
sub reply {
    if ($kind eq 'claude') {
        say_claude('assistant', '{"id":"m","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}');
        register('"status":"idle"');
    } elsif ($kind eq 'codex') {
        event('task_complete', ',"last_agent_message":"done"');
    } else {
        entry('{"role":"assistant","content":[{"type":"text","text":"done"}],"model":"m","stopReason":"stop","durationMs":1}');
    }
}
my $orders = "$home/orders/$$-$start";
mkfifo($orders, 0600) or die "$orders: $!";
sysopen(my $fifo, $orders, O_RDWR) or die $!; # nobody's going closes it
open(my $keep, '>>', $record) or die $! if $kind eq 'codex';
prompt('go');
my $launch = $ENV{AGENTCTL_LAUNCH_ID} // '';
whole("$home/born/$$-$start", qq({"kind":"$kind","id":"$id","pid":$$,"start":$start,"record":"$record","launch":"$launch"}));
my $piped = value('--input-format') ? 1 : 0;
my $ears = IO::Select->new($fifo);
$ears->add(\*STDIN) if $piped;
my %heard = ('order', '', 'input', '');
my $first = 1;
while (1) {
    for my $ear ($ears->can_read) {
        my $which = $ear == $fifo ? 'order' : 'input';
        sysread($ear, my $bytes, 4096) or do { $ears->remove($ear); next };
        $heard{$which} .= $bytes;
        while ($heard{$which} =~ s/^(.*)\n//) {
            my $line = $1;
            if ($which eq 'input') {
                prompt(($line =~ /"content":"([^"]*)"/)[0] // 'more') unless $first; # the first it has
                $first = 0;
                next;
            }
            if ($line eq 'prompt') { prompt('more') }
            elsif ($line eq 'reply') { reply() }
            elsif ($line eq 'ask') { register('"status":"waiting","waitingFor":"permission prompt"') }
            elsif ($line eq 'answer') { register('"status":"busy"') }
            elsif ($line eq 'exit') {
                unlink "$home/.claude/sessions/$$.json" if $kind eq 'claude';
                exit 0;
            }
            add("$orders.done", $line);
        }
    }
}
