// Talks to a model in two sessions. The model remembers nothing. The service sends it the earlier
// turns of the session with each message.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from '@org/agent-messaging-server'

const KEY = 'the-api-key-of-this-example'
const server = await createServer({
  port: 0,
  databasePath: ':memory:',
  masterKey: randomBytes(32),
  bootstrapApiKey: KEY,
  addresses: { allowLoopback: true },
})

async function post(path: string, body: object): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, string>
}

// Replaces Ollama, vLLM, LiteLLM or OpenAI. Sends its port when the server listens.
const model = fork(new URL('../model.mjs', import.meta.url))
const [port] = (await once(model, 'message')) as [number]

const runtime = {
  kind: 'openai',
  baseUrl: `http://127.0.0.1:${port}/v1`,
  model: 'parrot',
  systemPrompt: 'Squawk!',
}
await post('/v1/agents', { name: 'parrot', runtime })

const say = async (sessionId: string, message: string) => {
  const { response } = await post('/v1/agents/parrot/messages', { sessionId, message })
  console.log(`${sessionId}: ${response}`)
}
await say('cats', 'my cat is called Tom')
await say('dogs', 'my dog is called Rex')
await say('cats', 'what is my cat called?')

model.kill()
await server.stop()
