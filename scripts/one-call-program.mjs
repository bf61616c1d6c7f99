// `createMessaging` with an HTTP agent and a webhook. runtimes-check.mjs runs this file with Bun
// and with Deno. Prints what the agent and the receiver got.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createMessaging } from '@org/agent-messaging-node'

const agent = await serve((body) => ({ response: `You said: ${body.message}` }))
let verify
const received = new Promise((resolve) => (verify = resolve))
const receiver = await serve((body, headers, text) => void verify({ body, headers, text }))

const messaging = await createMessaging({
  database: ':memory:',
  agents: { remote: { runtime: { kind: 'http', url: agent.url } } },
  addresses: { allowLoopback: true, allowHttp: true },
})
const { secret } = await messaging.webhooks.create({
  url: receiver.url,
  events: ['message.responded'],
})
console.log(await messaging.ask('remote', 'hello', { sessionId: 'chat-1' }))
const { body, headers, text } = await received
const signature = createHmac('sha256', secret).update(text).digest('hex')
const isGenuine = headers['x-service-signature'] === `sha256=${signature}`
console.log(body.event, body.data.response, isGenuine ? 'signature valid' : 'signature wrong')
await messaging.stop()
console.log('stopped')
for (const { server } of [agent, receiver]) server.close()

/** Serves JSON on a free port. */
async function serve(answer) {
  const server = createServer((request, response) => {
    if (request.method === 'OPTIONS') return response.end() // a health check
    let text = ''
    request.setEncoding('utf8').on('data', (piece) => (text += piece))
    request.on('end', () =>
      response.end(JSON.stringify(answer(JSON.parse(text), request.headers, text))),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, url: `http://127.0.0.1:${server.address().port}/` }
}
