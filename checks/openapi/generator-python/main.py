import os

from agent_messaging import ApiClient, Configuration, MessagesApi, NewMessage

configuration = Configuration(host=os.environ["BASE_URL"], access_token=os.environ["KEY"])
with ApiClient(configuration) as client:
    sent = MessagesApi(client).send_message(
        "echo",
        NewMessage(session_id="python", message="Hello"),
        idempotency_key="order-42-python",
        _request_timeout=35,
    )
print(sent.response)
