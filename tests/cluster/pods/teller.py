"""A program for the process node that tells over HTTP what it was given.

GET /pid, /env/NAME, /file?path=P, /await?path=P&text=T (until the file says so), /api?path=P
(the status code of a request to the API server with the pod's own token), /healthy and
/ready (for probes); POST /healthy/no, /ready/yes and so on; GET /hold never answers, so the
connection ends when the process does.
"""

import argparse
import os
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType

STATE = {"healthy": True, "ready": True}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        match url.path.strip("/").split("/"):
            case ["pid"]:
                self.answer(str(os.getpid()))
            case ["env", name]:
                self.answer(os.environ.get(name, "(none)"))
            case ["file"]:
                self.answer(Path(query["path"]).read_text())
            case ["await"]:
                while Path(query["path"]).read_text() != query["text"]:
                    time.sleep(0.05)
                self.answer("so it is")
            case ["api"]:
                self.answer(str(ask_api_server(query["path"])))
            case ["hold"]:
                threading.Event().wait()
            case [name] if name in STATE:
                self.answer(name, 200 if STATE[name] else 500)
            case _:
                self.answer("what?", 404)

    def do_POST(self) -> None:
        name, value = self.path.strip("/").split("/")
        STATE[name] = value == "yes"
        self.answer("noted")

    def answer(self, text: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Probes would fill the log."""


def ask_api_server(path: str) -> int:
    access = Path(os.environ["KUBERNETES_SERVICE_ACCOUNT_DIR"])
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    token = (access / "token").read_text()
    request = urllib.request.Request(
        f"https://{host}:{port}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    trust = ssl.create_default_context(cafile=str(access / "ca.crt"))
    try:
        with urllib.request.urlopen(request, context=trust, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def say(text: str) -> None:
    # Not through a buffer: a signal handler may come in between.
    os.write(sys.stdout.fileno(), f"{text}\n".encode())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--unready", action="store_true")
    parser.add_argument("--ignore-sigterm", action="store_true")
    options = parser.parse_args()
    STATE["ready"] = not options.unready

    def on_sigterm(*_: int | FrameType | None) -> None:
        say("got SIGTERM")
        if not options.ignore_sigterm:
            sys.exit(0)

    signal.signal(signal.SIGTERM, on_sigterm)
    server = ThreadingHTTPServer((os.environ["POD_IP"], 8080), Handler)
    say("listening")
    server.serve_forever()


if __name__ == "__main__":
    main()
