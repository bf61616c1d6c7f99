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
/** All that the webhook ever had, oldest first. */
const secrets: string[] = []
/** For each request received, how many secrets there were then. */
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

/** Sends one message after the other, each in a session of this sender's, until it is told to end; gives how many. */
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

/** Waits for requests in whose Standard Webhooks header there are so many signatures, and for what was under way before them. */
async function seen(signatures: number): Promise<void> {
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
  secrets.push(secret) // before it is asked for: from then on it may be used
  expect((await server.api('POST', `${webhookPath}/rotate-secret`, { secret })).status).toBe(200)
  await seen(2)
  expect((await server.api('POST', `${webhookPath}/rotate-secret/finish`)).status).toBe(200)
  await seen(1)
}

it(
  'the secret is rotated under load, and every request verifies with a secret that is good then',
  { timeout: 60_000 },
  async () => {
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
      const valid = secrets.slice(0, known[n]).slice(-2)
      const verdicts = await Promise.all(
        valid.map((secret) => verify(secret, body, String(headers['x-service-signature']))),
      )
      const signer = valid[verdicts.indexOf(true)] ?? ''
      signers.add(signer)
      const signatures = String(headers['webhook-signature']).split(' ')
      // In the grace the S§6 header is the old secret's alone.
      if (signatures.length === 2) expect(signer).toBe(valid[0])
      const mustVerify = signatures.length === 2 ? valid : [signer]
      for (const secret of mustVerify)
        expect(
          new StandardWebhook(secret).verify(body, headers as Record<string, string>),
        ).toBeDefined()
    }
    expect([...signers]).toEqual(secrets)
  },
)
