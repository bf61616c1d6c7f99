import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, type Answer } from '../test/scene.js'

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const withMetadata = (metadata: string) => `{"sessionId":"s","message":"m","metadata":${metadata}}`
const bytes = (...parts: (string | number[])[]) =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === 'string' ? [...new TextEncoder().encode(part)] : part,
    ),
  )

async function openEcho(maxBodyBytes?: number) {
  const scene = await openScene({ http: { maxBodyBytes } })
  const echo = {
    projectId: scene.project.id,
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  } as const
  const { agent } = await scene.service.agents.create(echo)
  const path = `/v1/agents/${agent.id}/messages`
  const post = (body: string | Uint8Array, headers?: Record<string, string>): Promise<Answer> =>
    scene.ask('POST', path, { body, ...(headers && { headers }) })
  const stored = async (): Promise<unknown[]> => (await scene.ask('GET', path)).json.data
  return { ...scene, path, post, stored }
}

describe('V: bodies', () => {
  it.each([
    ['nothing', ''],
    ['not JSON', 'sessionId=s'],
    ['truncated', '{"sessionId":"s","message":"m'],
    ['two values', '{}{}'],
    ['a trailing comma', '{"sessionId":"s","message":"m",}'],
    ['null', 'null'],
    ['an array', '[]'],
    ['a string', '"text"'],
    ['a number', '7'],
    ['invalid UTF-8', bytes('{"sessionId":"s","message":"', [0xff], '"}')],
    ['an overlong encoding', bytes('{"sessionId":"s","message":"', [0xc0, 0x80], '"}')],
    ['an encoded surrogate', bytes('{"sessionId":"s","message":"', [0xed, 0xa0, 0x80], '"}')],
    ['UTF-16', bytes([0xff, 0xfe, 0x7b, 0x00])],
    ['a byte order mark', bytes([0xef, 0xbb, 0xbf], JSON.stringify(aMessage()))],
    ['33 levels', withMetadata(nested(32))],
    ['5,000 levels', withMetadata(nested(5_000))],
    ['100,000 levels', nested(100_000)],
    ['100,000 levels that are not closed', '['.repeat(100_000)],
    ['10,001 values', withMetadata(`{"a":[${'1,'.repeat(9_992)}1]}`)],
    ['a million values that are not closed', '[1,'.repeat(300_000)],
    ['metadata 17 levels deep', withMetadata(`{"a":${nested(16)}}`)],
    ['a number out of range', withMetadata('{"n":1e400}')],
    ['NUL in the message', '{"sessionId":"s","message":"\\u0000"}'],
    ['a lone surrogate in the message', '{"sessionId":"s","message":"\\ud800"}'],
    ['NUL in the sessionId', '{"sessionId":"\\u0000","message":"m"}'],
    ['a lone surrogate in a metadata key', withMetadata('{"\\udc00":1}')],
    ['metadata an array', withMetadata('[]')],
    ['metadata a string', withMetadata('"{}"')],
    ['no sessionId', '{"message":"m"}'],
    ['no message', '{"sessionId":"s"}'],
    ['an empty sessionId', '{"sessionId":"","message":"m"}'],
    ['an empty message', '{"sessionId":"s","message":""}'],
    ['a sessionId of another type', '{"sessionId":7,"message":"m"}'],
    ['a message of another type', '{"sessionId":"s","message":["m"]}'],
    ['the fields only in __proto__', '{"__proto__":{"sessionId":"s","message":"m"}}'],
    ['a wrong later duplicate', '{"sessionId":"s","message":"m","message":7}'],
  ])('%s gets a 400, and nothing is stored', async (_, body) => {
    const { post, stored } = await openEcho()
    const refused = await post(body)
    expect([refused.status, refused.json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(await stored()).toEqual([])
  })

  it('an invalid body gets the problem of each field', async () => {
    const { post } = await openEcho()
    const { json } = await post('{"message":7,"metadata":7}')
    expect(json.error).toEqual({
      code: 'BAD_REQUEST',
      message: 'sessionId is required; message must be a string; metadata must be an object',
      issues: [
        { path: 'sessionId', message: 'is required' },
        { path: 'message', message: 'must be a string' },
        { path: 'metadata', message: 'must be an object' },
      ],
    })
    expect((await post('[]')).json.error.message).toBe('body must be a JSON object')
    expect((await post('{')).json.error.message).toBe('The body is not valid JSON')
  })

  it('the last of duplicate keys counts for the check, the store and the agent', async () => {
    const { post, stored } = await openEcho()
    const answer = await post('{"sessionId":"s","message":"first","message":"last"}')
    expect(answer.json.response).toBe('last')
    expect(await stored()).toMatchObject([{ message: 'last' }])
  })

  it.each([
    ['a message of 65,536 characters', { message: 'm'.repeat(65_536) }, 200],
    ['a message of 65,536 emoji', { message: '\u{1f600}'.repeat(65_536) }, 200],
    ['a message of 65,537 emoji', { message: '\u{1f600}'.repeat(65_537) }, 400],
    ['a message of 65,537 characters', { message: 'm'.repeat(65_537) }, 400],
    ['a sessionId of 256 characters', { sessionId: 's'.repeat(256) }, 200],
    ['a sessionId of 257 characters', { sessionId: 's'.repeat(257) }, 400],
    ['metadata of 16,384 characters', { metadata: { a: 'x'.repeat(16_384 - 8) } }, 200],
    ['metadata of 16,385 characters', { metadata: { a: 'x'.repeat(16_385 - 8) } }, 400],
    [
      'an endUserId of 256 characters',
      { executionPrincipal: { type: 'end_user', endUserId: 'u'.repeat(256) } },
      200,
    ],
    [
      'an endUserId of 257 characters',
      { executionPrincipal: { type: 'end_user', endUserId: 'u'.repeat(257) } },
      400,
    ],
  ])('%s: %j', async (_, fields, status) => {
    const { post } = await openEcho()
    expect((await post(JSON.stringify(aMessage(fields)))).status).toBe(status)
  })

  it('an unknown field can be as deep as the body limit allows', async () => {
    const { post } = await openEcho()
    const statuses = [31, 32].map(
      async (depth) =>
        (await post(`{"sessionId":"s","message":"m","more":${nested(depth)}}`)).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 400])
  })

  it('metadata can be 16 levels deep', async () => {
    const { post } = await openEcho()
    expect((await post(withMetadata(`{"a":${nested(15)}}`))).status).toBe(200)
  })
})

describe('V: media types', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; profile=x',
  ])('accepts %s', async (type) => {
    const { post } = await openEcho()
    expect((await post(JSON.stringify(aMessage()), { 'Content-Type': type })).status).toBe(200)
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    'application/jsonp',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    '',
  ])('refuses %j with 415', async (type) => {
    const { post } = await openEcho()
    const refused = await post(JSON.stringify(aMessage()), { 'Content-Type': type })
    expect([refused.status, refused.json.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
    expect(refused.json.error.message).toContain('application/json')
  })

  it('refuses a body without Content-Type, and a body with Content-Encoding', async () => {
    const { app, key, path, post } = await openEcho()
    const request = {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: bytes(JSON.stringify(aMessage())),
    }
    expect((await app.request(path, request)).status).toBe(415)
    expect((await post(JSON.stringify(aMessage()), { 'Content-Encoding': 'gzip' })).status).toBe(
      415,
    )
    expect(
      (await post(JSON.stringify(aMessage()), { 'Content-Encoding': 'identity' })).status,
    ).toBe(200)
  })
})

describe('L: the size of a body', () => {
  const body = JSON.stringify(aMessage())

  it('is checked by Content-Length, before the body is read', async () => {
    const { app, key, path } = await openEcho(body.length)
    let isRead = false
    const stream = new ReadableStream(
      {
        pull: (controller) => {
          isRead = true
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Content-Length': String(body.length + 1),
    }
    const refused = await app.request(path, {
      method: 'POST',
      headers,
      body: stream,
      duplex: 'half',
    } as RequestInit)
    expect([refused.status, (await refused.json()).error.code, isRead]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      false,
    ])
  })

  it.each([true, false])(
    'can be exactly the limit (Content-Length sent: %s)',
    async (isMeasured) => {
      for (const [limit, status] of [
        [body.length, 200],
        [body.length - 1, 413],
      ] as const) {
        const { post } = await openEcho(limit)
        expect(
          (await post(body, isMeasured ? { 'Content-Length': String(body.length) } : undefined))
            .status,
        ).toBe(status)
      }
    },
  )

  it('is checked while a chunked body is read', async () => {
    const { app, key, path } = await openEcho(10_000)
    let sent = 0
    let isCancelled = false
    const endless = new ReadableStream({
      pull: (controller) => {
        sent += 1_000
        controller.enqueue(new Uint8Array(1_000).fill(0x20))
      },
      cancel: () => {
        isCancelled = true
      },
    })
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const refused = await app.request(path, {
      method: 'POST',
      headers,
      body: endless,
      duplex: 'half',
    } as RequestInit)
    expect([refused.status, isCancelled]).toEqual([413, true])
    expect(sent).toBeLessThan(20_000)
  })

  it('is checked even if Content-Length is wrong', async () => {
    const { post } = await openEcho(body.length - 1)
    expect((await post(body, { 'Content-Length': '3' })).status).toBe(413)
    expect((await post(body, { 'Content-Length': 'many' })).status).toBe(413)
  })

  it('counts a character that two chunks share', async () => {
    const { app, key, path } = await openEcho()
    const whole = bytes(JSON.stringify(aMessage({ message: '😀' })))
    const chunked = new ReadableStream({
      start: (controller) => {
        for (const byte of whole) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const answer = await app.request(path, {
      method: 'POST',
      headers,
      body: chunked,
      duplex: 'half',
    } as RequestInit)
    expect((await answer.json()).response).toBe('😀')
  })
})

describe('an optional body', () => {
  it('counts as {} if it is absent, and is read otherwise', async () => {
    const { app, ask, key } = await openScene()
    const webhook = (
      await ask('POST', '/v1/webhooks', {
        body: { url: 'https://receiver.example', events: ['*'] },
      })
    ).json
    const path = `/v1/webhooks/${webhook.id}/rotate-secret`
    expect(await ask('POST', path)).toMatchObject({
      status: 200,
      json: { previousSecretUntil: '2030-01-02T00:00:00.000Z' },
    })
    expect((await ask('POST', path, { headers: { 'Content-Length': '0' } })).status).toBe(200)
    expect(
      (
        await ask('POST', path, {
          headers: { 'Content-Length': '0', 'Content-Type': 'application/json' },
        })
      ).status,
    ).toBe(200)
    expect((await ask('POST', '/v1/recoveries')).status).toBe(202)
    expect((await ask('POST', path, { body: { graceMs: -1 } })).status).toBe(400)
    expect((await ask('POST', path, { body: '' })).status).toBe(400)
    const untyped = {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Length': '14' },
      body: bytes('{"graceMs":-1}'),
    }
    expect((await app.request(path, untyped)).status).toBe(415)
  })
})

describe('a body that other code has read', () => {
  it('gets a 500 that names the reason', async () => {
    const { app, key, path } = await openEcho()
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const read = new Request(`http://localhost${path}`, { method: 'POST', headers, body: '{}' })
    await read.text()
    const locked = new Request(`http://localhost${path}`, { method: 'POST', headers, body: '{}' })
    locked.body?.getReader()
    for (const request of [read, locked]) {
      const answer = await app.request(request)
      expect(answer.status).toBe(500)
      expect((await answer.json()).error.message).toContain('express.json()')
    }
  })

  it('is used if Hono has cached it', async () => {
    const { app, key, path } = await openEcho()
    for (const read of ['text', 'json', 'arrayBuffer'] as const) {
      const host = new Hono()
      host.use(async (c, next) => {
        await c.req[read]()
        await next()
      })
      host.route('/', app)
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
      const answer = await host.request(path, {
        method: 'POST',
        headers,
        body: JSON.stringify(aMessage({ message: read })),
      })
      expect((await answer.json()).response).toBe(read)
    }
  })

  it('is available to a host that reads it later, once', async () => {
    const { app, key, path } = await openEcho()
    const body = JSON.stringify(aMessage())
    const seen: unknown[] = []
    const host = new Hono()
    host.use(async (c, next) => {
      await next()
      seen.push(Object.keys(c.req.bodyCache), await c.req.text())
    })
    host.route('/', app)
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
    }
    expect((await host.request(path, { method: 'POST', headers, body })).status).toBe(200)
    expect(seen).toEqual([['text'], body])
  })

  it('gets a 400 if the sender leaves before the end', async () => {
    const { app, key, path } = await openEcho()
    const broken = new ReadableStream({
      start: (controller) => controller.error(new Error('aborted')),
    })
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const answer = await app.request(path, {
      method: 'POST',
      headers,
      body: broken,
      duplex: 'half',
    } as RequestInit)
    expect([answer.status, (await answer.json()).error.message]).toEqual([
      400,
      'The body ended early',
    ])
  })
})
