import json, sys

def say(message):
    print(json.dumps(message), flush=True)

say({"type": "ready", "protocol": 1})
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "run":
        say({"type": "answer", "id": message["id"], "response": "You say: " + message["message"]})
    elif message["type"] == "ping":
        say({"type": "pong"})
