// Calls agents with the client of AG-UI. node main.mjs <url of the endpoint>
import assert from 'node:assert/strict'
import { buildResumeArray } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { ThreadAgent } from './thread-agent.mjs'

const [, , url] = process.argv

/** Opens a thread with an agent. `events` has all that the agent sent. */
function open(name, threadId = crypto.randomUUID()) {
  const agent = new ThreadAgent({ url: `${url}/${name}`, threadId })
  const events = []
  agent.subscribe({ onEvent: ({ event }) => void events.push(EventSchemas.parse(event)) })
  const say = (content) => agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  const shown = () => agent.messages.map(({ role, content }) => [role, content])
  return { agent, events, say, shown }
}

{
  const { agent, events, say, shown } = open('rich')
  say('Where is my order?')
  agent.setState({ page: 'orders' })
  await agent.runAgent({ context: [{ description: 'user', value: 'Alice' }] })
  assert.deepEqual(shown(), [
    ['user', 'Where is my order?'],
    ['reasoning', 'Look the order up.'],
    ['assistant', undefined],
    ['tool', '{"arrives":"Friday"}'],
    ['assistant', undefined],
    ['tool', ''],
    ['assistant', 'It arrives on '],
    ['assistant', 'Friday.'],
  ])
  const [call] = agent.messages[2].toolCalls
  assert.deepEqual(call.function, { name: 'orderStatus', arguments: '{"id":"17"}' })
  const [seen] = agent.state.seen
  assert.deepEqual(seen, {
    type: 'data',
    name: 'ag-ui',
    data: {
      state: { page: 'orders' },
      context: [{ description: 'user', value: 'Alice' }],
    },
  })
  const custom = events.filter(({ type }) => type === 'CUSTOM').map(({ name }) => name)
  assert.deepEqual(custom, ['chart', 'file', 'source-url'])

  // A reload: another client gets the same thread, with the same ids.
  const later = open('rich', agent.threadId)
  await later.agent.connectAgent()
  assert.deepEqual(later.agent.messages, agent.messages)
  assert.deepEqual(later.agent.state, agent.state)
  assert.equal(later.events.filter(({ type }) => type === 'CUSTOM').length, 3)
}

for (const [answer, shownLater, outcome] of [
  [{ status: 'resolved', payload: 'yes' }, [['assistant', 'Void text.You said yes.']], 'success'],
  [{ status: 'cancelled' }, [], 'cancelled'],
]) {
  const { agent, events, say, shown } = open('asking')
  const resume = (given) =>
    agent.runAgent({ resume: buildResumeArray([interrupt], { [interrupt.id]: given }) })
  say('Pay')
  await agent.runAgent()
  const [interrupt] = agent.pendingInterrupts
  assert.equal(interrupt.message, 'Pay?')
  assert.deepEqual(interrupt.responseSchema, { type: 'string', enum: ['yes', 'no'] })
  // The service refuses another answer, and the question stays open. The client writes the error.
  console.error = () => {}
  await assert.rejects(resume({ status: 'resolved', payload: 1 }), /HTTP 400/)
  await resume(answer)
  assert.deepEqual(agent.pendingInterrupts, [])
  const [, ...answered] = shown()
  assert.deepEqual(answered, shownLater)
  assert.equal(events.at(-1).outcome.type, outcome)
}

{
  const { agent, events, say } = open('failing')
  say('Hello')
  await agent.runAgent()
  assert.equal(events.at(-1).type, 'RUN_ERROR')
  assert.match(events.at(-1).message, /told to fail/)
}

{
  const { agent, events, say, shown } = open('gated')
  say('Hello')
  const run = agent.runAgent(
    {},
    {
      onTextMessageContentEvent() {
        const body = JSON.stringify({ threadId: agent.threadId })
        void fetch(`${url}/gated/stop`, { method: 'POST', body })
      },
    },
  )
  await run
  assert.deepEqual(events.at(-1).outcome, { type: 'cancelled' })
  assert.equal(shown().length, 2)
}
console.log('The client of AG-UI runs, resumes, connects and stops.')
