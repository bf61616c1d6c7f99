import { buildResumeArray, HttpAgent } from '@ag-ui/client'

const { BASE_URL = 'http://127.0.0.1:3000', KEY, AGENT = 'echo' } = process.env
const agent = new HttpAgent({
  url: `${BASE_URL}/ag-ui/v1/${AGENT}`,
  headers: { authorization: `Bearer ${KEY}` },
})
const subscriber = {
  onTextMessageContentEvent: ({ event }) => console.log(event.delta),
  onRunErrorEvent: ({ event }) => console.error(event.code, event.message),
}

agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Where is my order?' })
await agent.runAgent({}, subscriber)

// A question of the agent. A program answers it at once, and a page asks a person.
const [question] = agent.pendingInterrupts
if (question) {
  console.log(question.message, question.responseSchema)
  const answers = { [question.id]: { status: 'resolved', payload: 'yes' } }
  await agent.runAgent({ resume: buildResumeArray([question], answers) }, subscriber)
}
console.log(agent.messages.length)
