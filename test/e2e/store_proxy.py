"""A proxy before a server of one test that plays the network, and a bad store: bench/store_proxy.cc."""

import json
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/store_proxy"


class StoreProxy:
    """Stands on `port` of the loopback until `stop()`. `tell()` gives it words, and has its answer."""

    def __init__(self, server_port, *words):
        assert PROGRAM.exists(), f"{PROGRAM} is missing: make build"
        self.process = subprocess.Popen([PROGRAM, f"server={server_port}", *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = self.answer()["port"]

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "the proxy has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer
        return answer

    def tell(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def counts(self):
        return self.tell("counts")

    def requests(self, method=None):
        """How many there were since `zero`, of one method or all."""
        methods = self.counts()["methods"]
        return sum(each["requests"] for name, each in methods.items() if method in (None, name))

    def until_counted(self, method, count):
        """Waits for so many requests: each is counted once its answer has gone."""
        end = time.monotonic() + 30
        while self.requests(method) < count:
            assert time.monotonic() < end, f"{self.requests(method)} of {count} requests were counted"
            time.sleep(0.01)

    def visits(self):
        """The requests one by one: (method, target, status, bytes up, bytes down, begin, end), in seconds since `zero`."""
        return [(*each[:5], each[5] / 1e6, each[6] / 1e6) for each in self.tell("trace")["visits"]]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()
