import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createServer, type RunningServer } from '../src/index.js'

const KEY = 'the-api-key-of-this-test'
const folder = mkdtempSync(path.join(tmpdir(), 'overload-'))
const AT_ONCE = 400
const MAX_ROUNDS = 50

let server: RunningServer
beforeAll(async () => {
  server = await createServer({
    port: 0,
    databasePath: path.join(folder, 'service.db'),
    masterKey: Buffer.alloc(32, 1),
    bootstrapApiKey: KEY,
    agents: { hello: () => 'Hello' },
    policy: { sendQueue: { maxWaitMs: 2_000, maxWaiting: 20, maxBytes: 1_000_000 } },
  })
  await call('/v1/agents', {
    name: 'hello',
    runtime: { kind: 'function', handler: 'hello' },
    desiredState: 'running',
  })
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const call = (path: string, body: object, key: string = crypto.randomUUID()) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${KEY}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    },
    body: JSON.stringify(body),
  })

type Send = { readonly key: string; readonly sessionId: string }
const send = ({ key, sessionId }: Send) =>
  call('/v1/agents/hello/messages', { sessionId, message: 'Hi' }, key)

const sends = (round: number): Send[] =>
  Array.from({ length: AT_ONCE }, (_, n) => ({
    key: `${round}-${n}`,
    sessionId: `session-${round}-${n}`,
  }))

it('an overload is refused with 503 and Retry-After, and a repeated send is accepted once', async () => {
  const refused: Send[] = []
  for (let round = 0; round < MAX_ROUNDS && refused.length === 0; round++) {
    await Promise.all(
      sends(round).map(async (one) => {
        const answer = await send(one)
        if (answer.status === 200) return
        refused.push(one)
        expect(answer.status).toBe(503)
        expect(answer.headers.get('retry-after')).toMatch(/^[12]$/)
        expect(await answer.json()).toMatchObject({
          error: {
            code: 'UNAVAILABLE',
            message: 'More requests arrive than the service can handle. Try again later',
          },
        })
      }),
    )
  }
  expect(refused.length).toBeGreaterThan(0)

  for (const one of refused) {
    const answer = await send(one)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
    expect(await answer.json()).toMatchObject({ response: 'Hello' })
  }
})
