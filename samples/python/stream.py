# Sends a message, and prints its answer while the agent writes it.
import json, os, time
import httpx
from httpx_sse import connect_sse

client = httpx.Client(
    base_url=os.environ.get("BASE_URL", "http://127.0.0.1:3000"),
    headers={"Authorization": f"Bearer {os.environ['KEY']}"},
    timeout=15,  # a quiet stream sends a heartbeat at least every 5 s
)


def events(path):
    """Yields the events of a stream. Continues after the last one when the connection breaks."""
    last_id = None
    while True:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        try:
            with connect_sse(client, "GET", path, headers=headers) as stream:
                stream.response.raise_for_status()
                if stream.response.status_code == 204:  # the end was sent before
                    return
                for event in stream.iter_sse():
                    if not event.data:  # httpx_sse makes an event of each heartbeat
                        continue
                    last_id = event.id or last_id
                    yield event.event, json.loads(event.data)
                    if event.event == "message":
                        return
        except httpx.TransportError:
            pass
        time.sleep(1)


sent = client.post(
    "/v1/agents/echo/messages",
    headers={"Idempotency-Key": "order-42-python-2", "Prefer": "respond-async"},
    json={"sessionId": "first", "message": "Hello to all of you"},
).raise_for_status()
for event, data in events(sent.headers["Location"] + "/stream"):
    if event == "state" and data["state"] == "input_required":
        print("input_required")  # a person must answer first: GET the message for its question
        break
    if event == "chunk":  # a new data["attempt"] starts the answer again
        print("piece:", data["text"], flush=True)
    if event == "message":  # always complete, even if pieces were missing
        print(data["state"], data.get("response") or data.get("error"))
