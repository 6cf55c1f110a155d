"""Fixtures: servers of the program under test. KVALET_BIN, KVALET_TEST_MODEL and KVALET_TEST_TINY_DIR say where things
are; without them they are looked for in build/ and in the cache of the set-up."""

import contextlib
import itertools

import pytest

from harness import Server, binary, fake_binary, model_path, tiny_path


class Servers:
    """Starts servers, and at the end ends each and demands that it left with exit code 0."""

    def __init__(self, folder):
        self.folder = folder
        self.numbers = itertools.count()
        self.running: list[Server] = []

    def start(self, command: list[str], env=None, prefix="", ready=True) -> Server:
        server = Server(command, self.folder / f"server-{next(self.numbers)}.log", env, prefix)
        self.running.append(server)
        return server.wait_ready() if ready else server

    def fake(self, *flags, **options) -> Server:
        return self.start([fake_binary(), "-m", "fake.gguf", *flags], **options)

    def tiny(self, *flags, model="tiny-llama", **options) -> Server:
        """With one thread: for so little work more only wait for each other, for long when the machine is busy."""
        return self.start([binary(), "-m", tiny_path(model), "-t", 1, *flags], **options)

    def model(self, *flags, **options) -> Server:
        return self.start([binary(), "-m", model_path(), *flags], **options)

    def forget(self, server: Server) -> None:
        """The test has seen its end itself."""
        assert server.process.poll() is not None
        self.running.remove(server)

    def end_all(self) -> None:
        with contextlib.ExitStack() as stack:
            for server in self.running:
                stack.callback(server.kill)
            codes = {server.log_path: server.end() for server in self.running}
        assert set(codes.values()) <= {0}, codes


@pytest.fixture
def servers(tmp_path):
    found = Servers(tmp_path)
    yield found
    found.end_all()


@pytest.fixture(scope="module")
def module_servers(tmp_path_factory):
    found = Servers(tmp_path_factory.mktemp("servers"))
    yield found
    found.end_all()
