"""A server of somebody else, to which webhooks post."""

import http.server
import json
import threading
import time


class Receiver:
    """An HTTP server of somebody else. ``answers``: what it does next, a status or "hang"; 200 when it is empty."""

    def __init__(self):
        self.got, self.answers = [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                answer = receiver.answers.pop(0) if receiver.answers else 200
                if answer == "hang":
                    time.sleep(3600)
                self.send_response(answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook"

    def documents(self):
        return [json.loads(body) for _, body in self.got]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
