"""The proxy that tests and benches put before a store does what it says."""

import http.client
import http.server
import os
import pathlib
import socket
import threading
import time

import pytest

from store_proxy import StoreProxy

LONG = os.urandom(8_000_000)
HUGE = 256 << 20


class Server(http.server.BaseHTTPRequestHandler):
    """Gives LONG, remembers what was put, and answers in chunks where it is asked to."""

    protocol_version = "HTTP/1.1"
    kept = {}
    heads = []

    def log_message(self, *_):
        pass

    def give(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.heads.append(self.headers)
        if self.path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n")
        elif self.path == "/huge":
            self.send_response(200)
            self.send_header("Content-Length", str(HUGE))
            self.end_headers()
            for _ in range(HUGE // (1 << 20)):
                self.wfile.write(bytes(1 << 20))
        else:
            self.give(self.kept.get(self.path, LONG))

    do_HEAD = do_GET

    def do_PUT(self):
        self.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.give(b"")


@pytest.fixture
def server():
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    Server.kept, Server.heads = {}, []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made.server_port
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def proxy(server):
    made = StoreProxy(server)
    yield made
    made.stop()


class Client(http.client.HTTPConnection):
    def __init__(self, proxy):
        super().__init__("127.0.0.1", proxy.port, timeout=30)

    def ask(self, method="GET", path="/", body=None, headers=None):
        self.request(method, path, body, headers or {})
        answer = self.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def client(proxy):
    made = Client(proxy)
    yield made
    made.close()


def seconds(action):
    begin = time.monotonic()
    action()
    return time.monotonic() - begin


def differing_bits(one, other):
    assert len(one) == len(other)
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


def test_what_passes_is_what_was_sent(proxy, client):
    assert client.ask() == (200, LONG)
    assert client.ask("PUT", "/kept", LONG[:5_000_000]) == (200, b"")
    assert client.ask("GET", "/kept", headers={"X-Odd": "a;  b", "Host": "bucket.example"}) == (200, LONG[:5_000_000])
    assert (Server.heads[-1]["Host"], Server.heads[-1]["X-Odd"]) == ("bucket.example", "a;  b")
    assert client.ask("HEAD") == (200, b"") and client.ask("GET", "/chunks") == (200, b"abc0123456789")
    assert client.ask("PUT", "/late", b"x", {"Expect": "100-continue"}) == (200, b"")
    proxy.until_counted("PUT", 2)
    methods = proxy.counts()["methods"]
    assert proxy.counts()["connections"] == 1
    assert methods["PUT"] == {"requests": 2, "up": 5_000_001, "down": 0}
    assert methods["GET"]["requests"] == 3 and methods["GET"]["down"] >= 13_000_013 and methods["HEAD"]["requests"] == 1
    assert [visit[:3] for visit in proxy.visits()][:2] == [("GET", "/", 200), ("PUT", "/kept", 200)]
    proxy.tell("zero")
    assert proxy.requests() == 0


def test_a_body_is_never_in_its_memory(proxy, client):
    assert len(client.ask("GET", "/huge")[1]) == HUGE
    status = pathlib.Path(f"/proc/{proxy.process.pid}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 64_000


def test_each_request_takes_its_time(proxy, client):
    client.ask("HEAD")
    proxy.tell("latency=50ms")
    assert 0.15 <= seconds(lambda: [client.ask("HEAD") for _ in range(3)]) < 1
    proxy.tell("latency=0ms")


def test_a_link_carries_so_many_bytes_and_no_more(proxy, client):
    client.ask()
    proxy.tell("rate=20MB")
    others = [Client(proxy) for _ in range(2)]
    threads = [threading.Thread(target=other.ask) for other in others]
    took = seconds(lambda: [[thread.start() for thread in threads], [thread.join() for thread in threads]])
    assert 0.75 <= took < 3, "16 MB over one link"
    proxy.tell("rate=0", "connection_rate=20MB")
    assert 0.38 <= seconds(client.ask) < 1.5
    for other in others:
        other.close()


@pytest.mark.parametrize(("fault", "status"), [("500", 500), ("503", 503)])
def test_it_refuses(proxy, client, fault, status):
    proxy.tell(f"faults=PUT/{fault}@2")
    assert client.ask("PUT", "/a", b"1")[0] == 200 and client.ask()[0] == 200
    answer = client.ask("PUT", "/b", b"2")
    assert answer[0] == status and b"<Code>" in answer[1]
    assert "/b" not in Server.kept and client.ask("PUT", "/b", b"3")[0] == 200 and Server.kept["/b"] == b"3"
    assert proxy.counts()["faults"] == {fault: 1}


@pytest.mark.parametrize(("fault", "is_done"), [("reset", False), ("lost", True)])
def test_it_breaks_connections(proxy, client, fault, is_done):
    proxy.tell(f"faults={fault}@1")
    with pytest.raises(ConnectionResetError):
        client.ask("PUT", "/a", b"1")
    assert ("/a" in Server.kept) == is_done
    client.close()
    assert client.ask()[0] == 200


def test_it_cuts_and_stalls(proxy, client):
    proxy.tell("stall=300ms", "faults=truncate@1,stall@2")
    with pytest.raises(http.client.IncompleteRead) as cut:
        client.ask()
    assert len(cut.value.partial) == len(LONG) // 2
    client.close()
    assert seconds(lambda: client.ask() == (200, LONG) or pytest.fail("other bytes")) >= 0.3


def test_it_changes_one_bit(proxy, client):
    proxy.tell("faults=flip@1-2")
    assert differing_bits(client.ask()[1], LONG) == 1
    client.ask("PUT", "/a", LONG)
    assert differing_bits(Server.kept["/a"], LONG) == 1
    assert client.ask()[1] == LONG


def test_shares_are_what_the_seed_says(proxy, client):
    def refused():
        proxy.tell("seed=5", "faults=500:0.2")
        return [client.ask("HEAD")[0] == 500 for _ in range(200)]

    first = refused()
    assert refused() == first and 20 <= sum(first) <= 60


def test_it_goes_away_and_comes_back(proxy, client):
    client.ask()
    proxy.tell("away")
    with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
        client.ask()
    client.close()
    with pytest.raises(ConnectionRefusedError):
        client.ask()
    client.close()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", proxy.port))  # Nor does another server stand there meanwhile.
    proxy.tell("back")
    assert client.ask() == (200, LONG)


def test_it_names_what_it_does_not_know(proxy):
    for words in ("faults=500", "faults=odd:0.1", "latency=often", "colour=red", "dance"):
        with pytest.raises(AssertionError, match="error"):
            proxy.tell(words)
