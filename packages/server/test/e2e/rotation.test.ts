import { verify } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const ROTATIONS = 4
const SENDERS = 4

let server: RealServer
let hook: Awaited<ReturnType<typeof receiver>>
let webhookPath: string
/** All secrets of the webhook, oldest first. */
const secrets: string[] = []
/** The number of secrets at the time of each received request. */
const known: number[] = []

beforeAll(async () => {
  server = await realServer()
  hook = await receiver(() => (known.push(secrets.length), 200))
  const agent = {
    name: 'parrot',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  await server.api('POST', '/v1/agents', agent)
  const created = await server.api('POST', '/v1/webhooks', {
    url: hook.url,
    events: ['message.responded'],
  })
  const { id, secret } = (await created.json()) as { id: string; secret: string }
  webhookPath = `/v1/webhooks/${id}`
  secrets.push(secret)
})
afterAll(async () => {
  await server.dispose()
  await hook.close()
})

/** Sends messages in one session until `isOver`. Returns their number. */
async function keepSending(sessionId: string, isOver: () => boolean): Promise<number> {
  let sent = 0
  for (; !isOver(); sent++) {
    const answer = await server.api('POST', '/v1/agents/parrot/messages', {
      sessionId,
      message: 'hello',
    })
    expect(answer.status).toBe(200)
  }
  return sent
}

/** Waits for 25 requests with this number of signatures, by when earlier requests have arrived. */
async function requestsWith(signatures: number): Promise<void> {
  const from = hook.received.length
  const count = (): number =>
    hook.received
      .slice(from)
      .filter(
        ({ headers }) => String(headers['webhook-signature']).split(' ').length === signatures,
      ).length
  expect(await until(() => count() >= 25)).toBe(true)
}

async function rotate(): Promise<void> {
  const secret = `whsec_${Buffer.alloc(32, secrets.length).toString('base64')}`
  secrets.push(secret) // before the rotation, because the server can use the secret at once
  expect((await server.api('POST', `${webhookPath}/rotate-secret`, { secret })).status).toBe(200)
  await requestsWith(2)
  expect((await server.api('POST', `${webhookPath}/rotate-secret/finish`)).status).toBe(200)
  await requestsWith(1)
}

it('every request verifies with a valid secret while the secret is rotated under load', async () => {
  let isOver = false
  const senders = Array.from({ length: SENDERS }, (_, n) =>
    keepSending(`session-${n}`, () => isOver),
  )
  for (let n = 0; n < ROTATIONS; n++) await rotate()
  isOver = true
  const sent = (await Promise.all(senders)).reduce((sum, count) => sum + count)
  expect(await until(() => hook.received.length === sent)).toBe(true)

  const signers = new Set<string>()
  for (const [n, { headers, body }] of hook.received.entries()) {
    // A slow request can arrive after the next rotation has begun.
    const valid = secrets.slice(0, known[n]).slice(-3)
    const matches = await Promise.all(
      valid.map((secret) => verify(secret, body, String(headers['x-service-signature']))),
    )
    const at = matches.indexOf(true)
    signers.add(valid[at] ?? '')
    const signatures = String(headers['webhook-signature']).split(' ')
    // During the grace period, only the old secret signs the header with the prefix.
    const mustVerify = valid.slice(at, at + signatures.length)
    expect(at).toBeGreaterThanOrEqual(0)
    expect(mustVerify).toHaveLength(signatures.length)
    for (const secret of mustVerify)
      expect(
        new StandardWebhook(secret).verify(body, headers as Record<string, string>),
      ).toBeDefined()
  }
  expect([...signers]).toEqual(secrets)
})
