import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
MOST_BYTES = 8 * 1024 * 1024  # more than the service ever sends
seen = set()  # ids of deliveries; keep them where they outlive the process


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
        is_bounded = 0 <= length <= MOST_BYTES  # before anything is read: anybody may send something here
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
