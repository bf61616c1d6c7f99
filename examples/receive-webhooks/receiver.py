import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX, SECRET = "whsec_", os.environ.get("WEBHOOK_SECRET", "")
try:
    KEY = base64.b64decode(SECRET.removeprefix(PREFIX), validate=True)
except ValueError:
    KEY = b""
if not SECRET.startswith(PREFIX) or not KEY:  # an empty key would verify forged requests
    sys.exit("WEBHOOK_SECRET must be the webhook's secret: whsec_ followed by base64")
MAX_BYTES = 8 * 1024 * 1024  # the service sends at most 6 MiB
seen = set()  # Delivery ids. Keep them in storage that outlives the process.


def is_genuine(headers, body):
    delivery, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    mac = hmac.new(KEY, f"{delivery}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(mac).decode()
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(expected.encode(), one) for one in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        is_bounded = 0 <= length <= MAX_BYTES  # check before reading: any client can send a body
        body = self.rfile.read(length) if is_bounded else b""
        if not is_bounded:
            self.send_response(413)
        elif not is_genuine(self.headers, body):
            self.send_response(401)
        else:
            self.send_response(204)
            if self.headers["webhook-id"] not in seen:
                seen.add(self.headers["webhook-id"])
                print(json.loads(body)["event"], flush=True)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
