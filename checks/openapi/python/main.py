import os

import httpx

from agent_messaging import AuthenticatedClient
from agent_messaging.api.agents import create_agent, get_agent
from agent_messaging.api.messages import get_message, send_message
from agent_messaging.models import (
    CreatedAgent,
    EndUserPrincipal,
    Error,
    FunctionRuntime,
    Message,
    NewAgent,
    NewMessage,
    Responded,
)

client = AuthenticatedClient(
    base_url=os.environ.get("BASE_URL", "http://127.0.0.1:3000"),
    token=os.environ["KEY"],
    timeout=httpx.Timeout(35),
)

runtime = FunctionRuntime(kind="function", handler="echo")
agent = create_agent.sync(client=client, body=NewAgent(name="from-python", runtime=runtime))
assert isinstance(agent, CreatedAgent), agent

sent = send_message.sync(
    agent.name,
    client=client,
    idempotency_key="order-42-python",
    body=NewMessage(
        session_id="first",
        message="Hello",
        execution_principal=EndUserPrincipal(type_="end_user", end_user_id="u-17"),
    ),
)
assert isinstance(sent, Responded), sent
print(sent.response)

message = get_message.sync(agent.name, sent.message_id, client=client)
assert isinstance(message, Message), message
if isinstance(message.execution_principal, EndUserPrincipal):
    print(message.execution_principal.end_user_id)

missing = get_agent.sync("nobody", client=client)
assert isinstance(missing, Error), missing
print(missing.error.code)
