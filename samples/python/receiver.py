# Listens on port 4000, or on PORT.
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from standardwebhooks import Webhook

webhook = Webhook(os.environ.get("WEBHOOK_SECRET", ""))  # refuses an empty secret
MAX_BYTES = 8 * 1024 * 1024  # the service sends at most 6 MiB
seen = set()  # delivery ids: keep them in storage that outlives the process


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        if not 0 <= length <= MAX_BYTES:
            return self.send_error(413)
        try:
            event = webhook.verify(self.rfile.read(length), dict(self.headers))
        except Exception:  # the library raises several kinds of errors for forged headers
            return self.send_error(401)
        self.send_response(204)
        self.end_headers()
        delivery = self.headers["X-Service-Delivery"]
        if delivery not in seen:
            seen.add(delivery)
            print(event["event"], flush=True)


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
