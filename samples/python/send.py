# Sends a message, and waits for its end.
import os, time
import httpx

client = httpx.Client(
    base_url=os.environ.get("BASE_URL", "http://127.0.0.1:3000"),
    headers={"Authorization": f"Bearer {os.environ['KEY']}"},
    timeout=35,  # the service waits up to 30 s for the answer; httpx would give up after 5 s
)


def send(agent, message, key):
    """Repeats the send after a failed connection. The key prevents a second message."""
    for pause in (1, 2, 4, 8, None):
        try:
            headers = {"Idempotency-Key": key}
            sent = client.post(f"/v1/agents/{agent}/messages", json=message, headers=headers)
            if sent.status_code not in (429, 502, 503, 504) or pause is None:
                return sent.raise_for_status()
            pause = max(pause, int(sent.headers.get("Retry-After", 0)))
        except httpx.TransportError:
            if pause is None:
                raise
        time.sleep(pause)


def result_of(sent):
    """Polls `state`: the `status` of a failed message stays `pending`."""
    while True:
        message = client.get(sent.headers["Location"]).raise_for_status().json()
        if message["state"] in ("responded", "failed", "cancelled", "input_required"):
            return message  # input_required: a person must answer message["input"] first
        time.sleep(int(sent.headers.get("Retry-After", 1)))


sent = send("echo", {"sessionId": "first", "message": "Hello"}, "order-42-python-1")
print(sent.status_code, sent.json()["status"])
message = result_of(sent)
print(message["state"], message.get("response") or message.get("input") or message.get("error"))
