// A chat in an Express app: sends a user's message to an agent, and streams the answer.
import { createMessaging } from '@org/agent-messaging-node'
import express from 'express'

const messaging = await createMessaging({
  database: process.env.DATABASE ?? 'file:chat.db',
  agents: {
    // Replace this function by a call of your model. Each piece that it yields is streamed.
    assistant: async function* ({ message, history }) {
      const turns = await history({ maxTurns: 20, maxLength: 32_000 })
      yield `Turn ${turns.length + 1}. `
      for (const word of `You said: ${message}`.split(/(?<= )/)) yield word
    },
  },
})

const app = express()
app.use(express.json())
app.post('/chat/:sessionId', async (request, response) => {
  const { sessionId } = request.params // in your app: from the user's login
  const { messageId } = await messaging.messages.send({
    agent: 'assistant',
    sessionId,
    message: request.body.text,
    // The browser creates one id per message. Two users can have the same id.
    idempotencyKey: `${sessionId}:${request.body.id}`,
    waitMs: 0,
  })
  const events = await messaging.messages.stream({ agent: 'assistant', messageId })
  response.type('text/event-stream')
  response.on('close', () => void events?.return?.()) // the agent continues without the browser
  for await (const event of events ?? []) {
    if (event.kind === 'heartbeat') response.write(': heartbeat\n\n')
    if (event.kind === 'chunk') response.write(`data: ${JSON.stringify(event.text)}\n\n`)
    if (event.kind === 'message') {
      // The whole answer replaces the pieces: some can be missing.
      const { state, response: text } = event.message
      const answer = state === 'responded' ? text : `No answer: ${state}`
      response.write(`event: answer\ndata: ${JSON.stringify(answer)}\n\n`)
    }
  }
  response.end()
})

const port = Number(process.env.PORT ?? 3002)
const server = app.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    server.close() // accepts no more connections
    await messaging.stop({ graceMs: 8_000 }) // ends the streams at once, and agents after 8 s
    process.exit()
  })
