import { verify } from '@octokit/webhooks-methods'
import { expect } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const CLIENTS = 8
const SESSIONS = 5

/** Answers after up to 20 ms, so that a kill interrupts runs. */
const AGENTS = `export default { slow: async ({ message }) => {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
  return 're: ' + message
} }`

const ENV = {
  SERVICE_RUN_LEASE_MS: '1500',
  SERVICE_DELIVERY_TIMEOUT_MS: '1000',
  SERVICE_DELIVERY_LEASE_MS: '2000',
  SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s',
  SERVICE_LOG_LEVEL: 'warn',
}

type Sent = { readonly key: string; readonly sessionId: string; readonly messageId: string }
type Survival = {
  readonly kills: number
  readonly processes: number
  readonly env?: Record<string, string>
}

/** A client that sends until `isOver`, and repeats each send with its key until a 2xx. */
async function client(
  server: RealServer,
  name: string,
  isOver: () => boolean,
  acknowledged: Sent[],
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const key = `${name}-${n}`
    const sessionId = `session-${n % SESSIONS}`
    for (let done = false; !done;) {
      const request = server.api(
        'POST',
        '/v1/agents/worker/messages',
        { sessionId, message: key },
        { 'idempotency-key': key },
      )
      const response = await request.catch(() => undefined)
      const body = response?.ok
        ? ((await response.json().catch(() => undefined)) as { messageId: string } | undefined)
        : undefined
      if (body) acknowledged.push({ key, sessionId, messageId: body.messageId })
      else if (response && response.status < 500 && !response.ok)
        throw new Error(`${response.status} ${await response.text()}`)
      else await new Promise((resolve) => setTimeout(resolve, 10))
      done = body !== undefined
    }
  }
}

/**
 * Puts load on server processes, and kills and restarts them in turn at random moments. Then checks
 * that each acknowledged message has one answer. Returns the answered messages without a delivery.
 */
export async function surviveKills({ kills, processes, env = {} }: Survival): Promise<unknown[]> {
  const options = { agents: AGENTS, env: { ...ENV, ...env } }
  const server = await realServer(options)
  const servers = [server]
  while (servers.length < processes) servers.push(await realServer({ ...options, beside: server }))
  const serverOf = (n: number): RealServer => servers[n % servers.length] ?? server
  const hook = await receiver()
  try {
    const webhook = await server.api('POST', '/v1/webhooks', {
      url: hook.url,
      events: ['message.responded'],
    })
    const { secret } = (await webhook.json()) as { secret: string }
    // Each kill can use up an attempt. The limit of attempts is not under test.
    const agent = {
      name: 'worker',
      runtime: { kind: 'function', handler: 'slow' },
      desiredState: 'running',
      maxAttempts: 100,
    }
    expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)

    const acknowledged: Sent[] = []
    let over = false
    const clients = Array.from({ length: CLIENTS }, (_, n) =>
      client(serverOf(n), `client-${n}`, () => over, acknowledged),
    )
    for (let kill = 0; kill < kills; kill++) {
      const before = acknowledged.length
      expect(await until(() => acknowledged.length > before)).toBe(true) // the load has resumed
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150))
      await serverOf(kill).kill('SIGKILL')
      await serverOf(kill).start()
    }
    over = true
    await Promise.all(clients)

    // Wait until all messages and deliveries are finished.
    const list = async (route: string): Promise<Record<string, unknown>[]> => {
      const rows: Record<string, unknown>[] = []
      for (let cursor = ''; ;) {
        const response = await server.api('GET', `${route}${cursor && `&cursor=${cursor}`}`)
        const page = (await response.json()) as {
          data: Record<string, unknown>[]
          nextCursor: string | null
        }
        rows.push(...page.data)
        if (page.nextCursor === null) return rows
        cursor = page.nextCursor
      }
    }
    expect(
      await until(
        async () =>
          (await list('/v1/agents/worker/messages?limit=100&status=pending')).length === 0,
        60_000,
      ),
    ).toBe(true)
    expect(
      await until(
        async () => (await list('/v1/deliveries?limit=100&status=pending')).length === 0,
        60_000,
      ),
    ).toBe(true)

    const messages = await list('/v1/agents/worker/messages?limit=100')
    const byId = new Map(messages.map((message) => [message['messageId'], message]))
    const byText = new Map(messages.map((message) => [message['message'], message]))
    expect(byText.size, 'messages of one key').toBe(messages.length)
    for (const { key, messageId } of acknowledged) {
      expect(byId.get(messageId)).toMatchObject({
        message: key,
        status: 'responded',
        response: `re: ${key}`,
      })
    }

    const delivered = new Set<unknown>()
    const deliveryIds = new Map<unknown, string>()
    for (const { body, headers } of hook.received) {
      expect(await verify(secret, body, String(headers['x-service-signature']))).toBe(true)
      const { data } = JSON.parse(body) as { data: { messageId: string } }
      delivered.add(data.messageId)
      const id = String(headers['x-service-delivery'])
      expect(deliveryIds.get(data.messageId) ?? id, 'one delivery id per message and webhook').toBe(
        id,
      )
      deliveryIds.set(data.messageId, id)
    }
    const lost = [...byId.keys()].filter((id) => !delivered.has(id))
    const duplicates = hook.received.length - delivered.size
    console.log(
      `${kills} kills, ${messages.length} messages, ${hook.received.length} deliveries received, ${duplicates} of them twice, ${lost.length} lost`,
    )
    return lost
  } finally {
    for (const one of servers.toReversed()) await one.dispose()
    await hook.close()
  }
}
