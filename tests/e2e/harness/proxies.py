"""HAProxy and nginx in front of a server, with the configurations of deploy/: only addresses and users are replaced."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from harness.client import Reply, request
from harness.server import REPO, Server, free_port, wait_until
from harness.sse import Stream

# What stands in Debian's nginx.conf around the files of conf.d, with everything that is written in a folder of the test.
NGINX_MAIN = """
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/kvalet.conf;
}}
"""


def program(name: str) -> str:
    """Debian keeps them where only root looks by itself."""
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin")
    assert found, f"{name} is not installed (scripts/deps.sh ensure test-packages)"
    return found


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, f"'{old}' must be there once"
        text = text.replace(old, new)
    return text


class Proxy:
    def __init__(self, name: str, server: Server, folder: pathlib.Path):
        self.name = name
        self.server = server
        self.folder = folder
        self.port = free_port()
        self.log_path = folder / "proxy.log"
        folder.mkdir()
        command = {"haproxy": self._haproxy, "nginx": self._nginx}[name]()
        with self.log_path.open("wb") as sink:
            # A group of its own, since nginx has children.
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _config(self, *pairs: tuple[str, str]) -> str:
        addresses = ("127.0.0.1:8000", f"127.0.0.1:{self.port}"), ("127.0.0.1:8080", f"127.0.0.1:{self.server.port}")
        name = {"haproxy": "haproxy.cfg", "nginx": "nginx.conf"}[self.name]
        return replaced((REPO / "deploy" / name).read_text(), *addresses, *pairs)

    def _haproxy(self) -> list[str]:
        users = [] if os.geteuid() == 0 else [("    user haproxy\n", ""), ("    group haproxy\n", "")]
        config = self.folder / "haproxy.cfg"
        config.write_text(self._config(*users))
        return [program("haproxy"), "-f", str(config), "-db"]

    def _nginx(self) -> list[str]:
        # Its workers must reach the folder of the test, which is root's when root runs it.
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "kvalet.conf").write_text(self._config())
        main = self.folder / "nginx.conf"
        main.write_text(NGINX_MAIN.format(user=user, folder=self.folder))
        return [program("nginx"), "-e", str(self.folder / "error.log"), "-c", str(main), "-g", "daemon off;"]

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def wait_until(self, condition, what: str) -> None:
        wait_until(self.process, self.log, condition, what)

    def health(self) -> int | None:
        with contextlib.suppress(OSError):
            return self.request("GET", "/health").status
        return None

    def request(self, method: str, path: str, body=None) -> Reply:
        return request(self.port, method, path, body)

    def stream(self, path: str, body: dict) -> Stream:
        return Stream(self.port, path, body | {"stream": True})

    def end(self) -> None:
        """By its process id; its group only if that did not help."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def proxy(name: str, server: Server, folder: pathlib.Path):
    """`with proxy("nginx", server, tmp_path) as front`: ready to be asked."""
    front = Proxy(name, server, folder / name)
    try:
        front.wait_until(lambda: front.health() == 200, "/health 200 through it")
        yield front
    finally:
        front.end()
