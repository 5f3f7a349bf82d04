# A stand-in for `opencode serve`: it runs one session, and tells of changes that no file shows.
#   opencode serve DATABASE SESSION
# Its port is the first line of its output. Pages that only a test asks for:
#   /ask     waits for a person from now on, and says so
#   /answer  goes on, and says so
#   /flood   says much that matters to nobody
#   /hush    hangs up on whoever listens
#   /looks   how many times it was asked what it runs
use strict;
use warnings;
use IO::Socket::INET;
my ($database, $session) = @ARGV;
$SIG{PIPE} = 'IGNORE';
$| = 1;
open(my $held, '<', $database) or die "$database: $!";
my $server = IO::Socket::INET->new(Listen => 64, LocalAddr => '127.0.0.1') or die "no port: $!";
my ($asks, $looks, @ears) = (0, 0);
print $server->sockport, "\n";

sub announce {
    my ($type) = @_;
    print $_ qq(data: {"directory":"/","payload":{"type":"$type","properties":{}}}\n\n) for @ears;
}

while (my $caller = $server->accept) {
    my $line = <$caller> // next;
    while (my $head = <$caller>) { last if $head eq "\r\n" }
    my ($page) = $line =~ m{ (/[^ ?]*)};
    if ($page eq '/global/event') {
        print $caller "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        $caller->autoflush(1);
        push @ears, $caller;
        announce('server.connected');
        next;
    }
    my $body = '[]';
    if ($page eq '/session/status') { $looks++; $body = qq({"$session":{"type":"busy"}}) }
    if ($page eq '/permission') { $body = qq([{"id":"per_1","sessionID":"$session"}]) if $asks }
    if ($page eq '/looks') { $body = $looks }
    if ($page eq '/ask') { $asks = 1; announce('permission.asked') }
    if ($page eq '/answer') { $asks = 0; announce('permission.replied') }
    if ($page eq '/flood') { announce('message.part.delta') for 1 .. 20000 }
    if ($page eq '/hush') { @ears = () }
    print $caller "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ",
        length($body), "\r\n\r\n", $body;
    close($caller);
}
