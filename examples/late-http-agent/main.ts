// Sends two messages to an agent that answers late. Prints the 202, the GET that waits for the
// answer, and the webhook.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createReceiver } from 'node:http'
import { createServer as createSocket, type AddressInfo } from 'node:net'
import { createServer } from '@org/agent-messaging-server'

const KEY = 'the-api-key-of-this-example'
const server = await createServer({
  port: 0,
  databasePath: ':memory:',
  masterKey: randomBytes(32),
  bootstrapApiKey: KEY,
  addresses: { allowLoopback: true, allowHttp: true },
  publicUrl: (ownUrl) => ownUrl, // The agent calls back to this URL.
})

async function api(method: string, path: string, body?: object, more: Record<string, string> = {}) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...more }
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

// The customer's receiver of late answers.
const answers: string[] = []
const receiver = createReceiver((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    answers.push((JSON.parse(body) as { data: { response: string } }).data.response)
    response.end()
    receiver.emit('answer')
  })
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
await api('POST', '/v1/webhooks', {
  url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  events: ['message.responded'],
})

// Registers the agent before its start, because only this response contains the signing secret.
const probe = createSocket().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address() as AddressInfo
probe.close()
const agent = {
  name: 'late',
  runtime: { kind: 'http', url: `http://127.0.0.1:${port}/` },
  defaultExecutionPrincipal: { type: 'end_user' },
}
const { signingSecret = '' } = (await api('POST', '/v1/agents', agent)).body
const program = fork(new URL('../agent.mjs', import.meta.url), {
  env: { PORT: String(port), SIGNING_SECRET: signingSecret, THINKING_MS: '1500' },
})
await once(program, 'message')

const executionPrincipal = { type: 'end_user', endUserId: 'Ada' }
for (const message of ['my cat is called Tom', 'what is my cat called?']) {
  const webhook = once(receiver, 'answer')
  const sent = await api(
    'POST',
    '/v1/agents/late/messages',
    { sessionId: 'about-cats', message, executionPrincipal },
    { prefer: 'wait=1' },
  )
  console.log('sent:   ', sent.status, sent.body['status'])
  const later = await api('GET', `/v1/agents/late/messages/${sent.body['messageId']}`, undefined, {
    prefer: 'wait=10',
  })
  console.log('GET:    ', later.status, later.body['status'], later.body['response'])
  await webhook
  console.log('webhook:', answers.at(-1))
}

program.kill()
receiver.closeAllConnections()
receiver.close()
await server.stop()
