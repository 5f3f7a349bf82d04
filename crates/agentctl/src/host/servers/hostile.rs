//! Bytes that mean no good, from whoever answers on a port.

use super::{LIMIT, Loopback, Patience};
use agentctl_core::host::Servers;
use agentctl_testkit::hostile::Target;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener},
    thread,
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(5);

/// A page is its body or an error, in time and within bounds; and so is a conversation.
#[test]
fn any_answer_is_a_page_or_an_error() {
    let seeds = || {
        let shake = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                     sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x01\x05hello";
        let pages = [
            "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"a\":[1,2,3]}",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n5\r\n:[1]}\r\n0\r\n\r\n",
            "HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 500 No\r\ncontent-encoding: gzip\r\n\r\n\u{1b}[31mno",
            shake,
        ];
        pages.map(|page| page.as_bytes().to_vec()).to_vec()
    };
    Target { name: "answers", run: ask, seeds }.holds(200);
}

fn ask(says: &[u8]) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let place = socket.local_addr().expect("it is bound");
    let servers = Loopback { patience: Patience::Each(PATIENCE) };
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                let (mut stream, _) = socket.accept().expect("somebody connects");
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(says).and_then(|()| stream.shutdown(Shutdown::Write));
            }
        });
        let page = servers.get(&format!("http://{place}/"), None);
        assert!(page.map_or(true, |body| body.len() as u64 <= LIMIT));
        let heard = servers.dial(&format!("ws://{place}/")).and_then(|mut talk| talk.hear());
        assert!(heard.is_err(), "nobody knows what it was to be told: {heard:?}");
    });
}
