import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openScene, UNKNOWN_ID, type Answer } from '../test/scene.js'

const methods = fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS')
const ugly = fc.oneof(
  fc.constantFrom(
    '%',
    '%00',
    '%zz',
    '%C0%80',
    '%ED%A0%80',
    '%2F',
    '..%2f',
    '%252F',
    '__proto__',
    'constructor',
    '*',
    ':id',
    '{id}',
    ';',
    '\\',
    'é',
    '😀',
    ' ',
    'x'.repeat(5_000),
    UNKNOWN_ID,
    'echo',
  ),
  fc.string({ unit: 'binary' }).map((text) => text.replace(/[?#]/g, '')),
  fc.webSegment(),
)
const paths = fc
  .tuple(
    fc.constantFrom('agents', 'webhooks', 'deliveries', 'keys'),
    fc.array(fc.oneof(ugly, fc.constantFrom('messages', 'response', 'start')), { maxLength: 4 }),
    fc.webQueryParameters(),
  )
  .map(
    ([resource, segments, query]) =>
      `http://localhost/v1/${[resource, ...segments].join('/')}?${query}`,
  )

const fields = fc.record(
  {
    sessionId: fc.anything(),
    message: fc.anything(),
    metadata: fc.anything(),
    executionPrincipal: fc.anything(),
    name: fc.anything(),
    runtime: fc.oneof(
      fc.anything(),
      fc.dictionary(fc.constantFrom('kind', 'handler', '__proto__'), fc.anything()),
    ),
    defaultExecutionPrincipal: fc.anything(),
    concurrency: fc.anything(),
    maxQueued: fc.anything(),
    desiredState: fc.anything(),
    url: fc.anything(),
    events: fc.anything(),
    agentId: fc.anything(),
    description: fc.anything(),
    enabled: fc.anything(),
    secret: fc.anything(),
    permissions: fc.anything(),
    expiresAt: fc.anything(),
    response: fc.anything(),
    error: fc.anything(),
  },
  { requiredKeys: [] },
)
const bodies = fc.oneof(
  fields.map(
    (value) =>
      JSON.stringify(value, (_, inner: unknown) =>
        typeof inner === 'bigint' ? String(inner) : inner,
      ) ?? '',
  ),
  fc.json(),
  fc.string({ unit: 'binary' }).map((text) => text.replace(/[\uD800-\uDFFF]/g, '')),
  fc.uint8Array(),
)

const codes: Record<number, readonly string[]> = {
  400: ['BAD_REQUEST'],
  401: ['UNAUTHORIZED'],
  404: ['NOT_FOUND'],
  405: ['METHOD_NOT_ALLOWED'],
  409: ['CONFLICT', 'AGENT_NOT_RUNNING'],
  415: ['UNSUPPORTED_MEDIA_TYPE'],
}

/** Returns a problem unless the answer is a success or has an error body. */
function problemOf({ status, headers, json }: Answer, method: string): unknown {
  if (status < 300 || (method === 'HEAD' && status in codes)) return undefined
  const isOrderly =
    codes[status]?.includes(json.error.code) &&
    json.error.message !== '' &&
    json.requestId === headers.get('x-request-id')
  return isOrderly ? undefined : { status, json }
}

describe('V: arbitrary requests', () => {
  it('no path causes a 500', async () => {
    const { ask, createAgent } = await openScene()
    await createAgent({ name: 'echo' })
    await fc.assert(
      fc.asyncProperty(methods, paths, async (method, path) => {
        expect(problemOf(await ask(method, path), method)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('no body causes a 500 on any route', async () => {
    const { ask, clock, createAgent, createSlowAgent, runtime } = await openScene()
    await createAgent({ name: 'echo' })
    await createSlowAgent({ name: 'slow' })
    const body = { sessionId: 's', message: 'm' }
    const sent = await ask('POST', '/v1/agents/slow/messages', {
      body,
      headers: { Prefer: 'respond-async' },
    })
    await clock.until(() => runtime.openRuns.length === 1)
    const runToken = runtime.requests[0]?.runToken ?? ''
    const { id } = (
      await ask('POST', '/v1/webhooks', {
        body: { url: 'https://receiver.example/', events: ['*'] },
      })
    ).json
    const targets = fc.constantFrom(
      'POST /v1/agents',
      'PATCH /v1/agents/echo',
      'POST /v1/agents/echo/messages',
      `POST /v1/agents/slow/messages/${sent.json.messageId}/response`,
      'POST /v1/webhooks',
      `PATCH /v1/webhooks/${id}`,
      'POST /v1/keys',
    )
    await fc.assert(
      fc.asyncProperty(targets, bodies, async (target, body) => {
        const [method = '', path = ''] = target.split(' ')
        const key = path.endsWith('/response') ? { key: runToken } : {}
        const answer = await ask(method, path, {
          body,
          headers: { Prefer: 'respond-async' },
          ...key,
        })
        expect(problemOf(answer, method)).toBeUndefined()
      }),
      { numRuns: 1_000 },
    )
  })

  it('no header causes a 500', async () => {
    const { ask, createAgent } = await openScene()
    await createAgent({ name: 'echo' })
    const values = fc.string({
      unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
    })
    const headers = fc.dictionary(
      fc.constantFrom(
        'Authorization',
        'Content-Type',
        'Content-Encoding',
        'Content-Length',
        'Prefer',
        'Idempotency-Key',
        'X-Request-Id',
      ),
      values,
    )
    await fc.assert(
      fc.asyncProperty(headers, async (sent) => {
        const answer = await ask('POST', '/v1/agents/echo/messages', {
          body: '{"sessionId":"s","message":"m"}',
          headers: sent,
        })
        expect([200, 202, 400, 401, 413, 415]).toContain(answer.status)
      }),
    )
  })
})
