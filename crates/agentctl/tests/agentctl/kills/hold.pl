# Holds a process where nothing else could for certain.
#   hold.pl exec FILE MARK GATE   whoever executes FILE, before that is done: by a lease on it
#   hold.pl exit PID MARK GATE    one that exits, before it is gone: by ptrace
# MARK.ready appears once it lies in wait, MARK once somebody is held; GATE lets all go.
use strict;
use warnings;
my ($kind, $what, $mark, $gate) = @ARGV;
sub touch { open(my $file, '>', $_[0]) or die "$_[0]: $!" }
sub nap { select(undef, undef, undef, 0.01) }

if ($kind eq 'exec') {
    $SIG{IO} = sub { touch($mark) };    # somebody wants to open it
    open(my $file, '+<', $what) or die "$what: $!";
    fcntl($file, 1024, 1) or die "no lease on $what: $!";    # F_SETLEASE, F_WRLCK
    touch("$mark.ready");
    for (1 .. 6000) { last if -e $gate; nap() }
    exit;
}

my ($ptrace, $wait4) = `uname -m` =~ /aarch64/ ? (117, 260) : (101, 61);
my ($cont, $detach, $seize, $at_exit) = (7, 17, 0x4206, 0x40);
syscall($ptrace, $seize, $what += 0, 0, $at_exit) == 0 or die "cannot trace $what: $!";
touch("$mark.ready");
my $held = 0;
for (1 .. 6000) {
    my $status = "\0" x 4;
    my $told = syscall($wait4, $what, $status, 0x40000001, 0);    # __WALL, WNOHANG
    $status = unpack('i', $status);
    last if $told < 0 || ($told > 0 && ($status & 0x7f) != 0x7f);    # gone
    if ($told > 0 && $status >> 16 == 6) {
        $held = 1;
        touch($mark);
    } elsif ($told > 0) {
        my $signal = $status >> 16 ? 0 : $status >> 8 & 0xff;
        syscall($ptrace, $cont, $what, 0, $signal);
    }
    last if $held && -e $gate;
    nap();
}
syscall($ptrace, $detach, $what, 0, 0) if $held;
