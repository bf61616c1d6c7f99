# Listens on port 5000, or on PORT.
import hashlib, hmac, json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("SIGNING_SECRET", "")
# An empty key would verify forged requests.
if not SECRET.startswith("whsec_") or SECRET == "whsec_":
    sys.exit("SIGNING_SECRET must be the agent's signing secret: whsec_ followed by base64")


def is_genuine(body, signature):
    """The key is the whole secret, and the signature covers the raw bytes of the body."""
    expected = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


class Agent(BaseHTTPRequestHandler):
    def do_OPTIONS(self):  # a health check
        self.send_response(204)
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_genuine(body, self.headers.get("X-Service-Signature", "")):
            return self.send_error(401)
        self.send_response(200)
        self.end_headers()
        answer = {"response": "You say: " + json.loads(body)["message"]}
        self.wfile.write(json.dumps(answer).encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "5000"))), Agent).serve_forever()
