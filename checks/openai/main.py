# Calls a server with the official client, and checks its responses against the types of Open
# Responses. Needs BASE_URL and KEY.
import json, os, time
from urllib.request import Request, urlopen
import openai, openresponses_types

base_url = os.environ["BASE_URL"] + "/openai/v1"
client = openai.OpenAI(base_url=base_url, api_key=os.environ["KEY"], max_retries=0)


def check(found, expected):
    assert found == expected, f"expected {expected!r}, but found {found!r}"


def error_of(call):
    try:
        call()
    except openai.APIError as error:
        return error
    raise AssertionError("expected an error")


def models():
    check([model.id for model in client.models.list()], ["slow", "echo", "failing", "thinking"])


def responses():
    first = client.responses.create(model="echo", input="Hello", user="u-17")
    check((first.status, first.output_text, first.model), ("completed", "Hello", "echo"))
    second = client.responses.create(
        model="echo", input="Again", previous_response_id=first.id, metadata={"channel": "C1"}
    )
    check(second.conversation.id, first.conversation.id)
    found = client.responses.retrieve(second.id)
    check((found.output_text, found.metadata), ("Again", {"channel": "C1"}))


def streamed_responses():
    with client.responses.stream(model="slow", input="one two three") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        check(stream.get_final_response().output_text, "one two three")
    check("".join(deltas), "one two three")
    assert len(deltas) > 1, deltas
    events = client.responses.create(model="echo", input="Hello", stream=True)
    check([event.type for event in events][-1], "response.completed")


def reasoning_and_calls():
    with client.responses.stream(model="thinking", input="Hello") as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_response()
    for kind in ("reasoning_summary_text.delta", "mcp_call_arguments.done", "mcp_call.completed"):
        assert "response." + kind in kinds, kinds
    found = client.responses.retrieve(final.id)
    check([item.id for item in final.output], [item.id for item in found.output])
    thought, call, answer = found.output
    check((thought.type, thought.summary[0].text), ("reasoning", "Let me look."))
    check((call.type, call.server_label, call.name), ("mcp_call", "thinking", "look"))
    check((call.status, call.arguments, call.output), ("completed", '{"at":1}', "cat"))
    check((answer.type, found.output_text), ("message", "A cat."))
    turns = [{"role": "user", "content": "Hello"}, *found.output, {"role": "user", "content": "Bye"}]
    check(client.responses.create(model="echo", input=turns).output_text, "Bye")


def background():
    response = client.responses.create(model="slow", input="one two three", background=True)
    while response.status in ("queued", "in_progress"):
        time.sleep(0.1)
        response = client.responses.retrieve(response.id)
    check(response.output_text, "one two three")
    open_one = client.responses.create(model="slow", input="one two three", background=True)
    check(client.responses.cancel(open_one.id).status, "cancelled")


def chat():
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
    ]
    completion = client.chat.completions.create(model="echo", messages=messages, temperature=0)
    check(completion.choices[0].message.content, "Be kind.\n\nHello")
    chunks = client.chat.completions.create(model="slow", messages=messages, stream=True)
    check("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "Be kind.\n\nHello")


def repeated():
    headers = {"Idempotency-Key": "python-1"}
    ids = {
        client.responses.create(model="echo", input="Hello", extra_headers=headers).id
        for _ in range(2)
    }
    check(len(ids), 1)


def errors():
    no_model = error_of(lambda: client.responses.create(model="nobody", input="Hello"))
    check((type(no_model), no_model.code), (openai.NotFoundError, "model_not_found"))
    tool = {"type": "function", "name": "f", "parameters": {}, "strict": True}
    tools = error_of(lambda: client.responses.create(model="echo", input="Hello", tools=[tool]))
    check((type(tools), tools.param), (openai.BadRequestError, "tools"))
    stranger = client.with_options(api_key="amk_wrong")
    check(type(error_of(stranger.models.list)), openai.AuthenticationError)


# The events of Open Responses by their `type`.
EVENTS = {
    kind.value: event
    for name, event in vars(openresponses_types).items()
    if name.endswith("StreamingEvent")
    for kind in event.model_fields["type"].annotation
}


def open_responses():
    headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"}

    def call(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(base_url + path, data, headers), timeout=35) as answer:
            return answer.read().decode()

    def validated(response):
        openresponses_types.ResponseResource.model_validate(response)
        return response

    def send(**body):
        return validated(json.loads(call("/responses", body)))

    first = send(model="echo", input="Hello", metadata={"channel": "C1"})
    found = validated(json.loads(call(f"/responses/{first['id']}")))
    check(found["status"], "completed")
    send(model="slow", input="Hello", background=True)
    check(send(model="failing", input="Hello")["status"], "failed")
    streamed = call("/responses", {"model": "slow", "input": "one two three", "stream": True})
    data = [line[6:] for line in streamed.splitlines() if line.startswith("data: ")]
    check(data[-1], "[DONE]")
    events = [json.loads(text) for text in data[:-1]]
    for event in events:
        EVENTS[event["type"]].model_validate(event)
        if "response" in event:
            validated(event["response"])
    check(events[-1]["type"], "response.completed")


CHECKS = (
    models,
    responses,
    streamed_responses,
    reasoning_and_calls,
    background,
    chat,
    repeated,
    errors,
    open_responses,
)
for part in CHECKS:
    part()
    print(part.__name__, "passed")
