import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryDedupe } from './dedupe.js'
import type { WebhookEvent } from './events.js'
import { nodeWebhookHandler, webhookHandler, type NodeRequest } from './handlers.js'
import type { ReceiverOptions } from './receive.js'
import { signTestEvent } from './verify.js'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const secret = `whsec_${randomBytes(32).toString('base64')}`
const event: WebhookEvent<'webhook.test'> = {
  event: 'webhook.test',
  id: 'e',
  createdAt: '2030-01-01T00:00:00Z',
  data: { webhookId: 'w' },
}

/** Two equal receivers: one for Request and Response, and one on a socket of node:http. */
async function receivers(
  options: Partial<ReceiverOptions> = {},
  prepare: (request: NodeRequest) => NodeRequest = (request) => request,
) {
  const settings: ReceiverOptions = { secret, on: {}, ...options }
  const web = webhookHandler(settings)
  const node = nodeWebhookHandler(settings)
  const server = createServer((request, response) => void node(prepare(request), response)).listen(
    0,
    '127.0.0.1',
  )
  closing.push(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  type Send = (init: RequestInit & { duplex?: 'half' }) => Promise<Response>
  const viaWeb: Send = (init) =>
    web(
      new Request(url, {
        method: 'POST',
        ...init,
        headers: { ...lengthOf(init.body), ...init.headers },
      }),
    )
  const viaNode: Send = (init) => fetch(url, { method: 'POST', ...init })
  return [viaWeb, viaNode] as const
}

/** Hosts set this header. A Request alone has none. */
const lengthOf = (body: unknown): Record<string, string> =>
  typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}

describe('a handler', () => {
  it('passes on a verified event and returns 200', async () => {
    const got: string[] = []
    const on = {
      'webhook.test': ({ data }: WebhookEvent<'webhook.test'>) => void got.push(data.webhookId),
    }
    for (const send of await receivers({ on }))
      expect((await send(await signTestEvent(event, secret))).status).toBe(200)
    expect(got).toEqual(['w', 'w'])
  })
  it('accepts an event without a handler', async () => {
    for (const send of await receivers())
      expect((await send(await signTestEvent(event, secret))).status).toBe(200)
  })
  it('rejects an invalid request with 401 and calls no handler', async () => {
    const on = {
      'webhook.test': () => {
        throw new Error('must not run')
      },
    }
    const errors: unknown[] = []
    for (const send of await receivers({ on, onError: (error) => errors.push(error) })) {
      const { body, headers } = await signTestEvent(event, secret)
      expect((await send({ body: `${body} `, headers })).status).toBe(401)
    }
    expect(errors).toMatchObject([{ code: 'SIGNATURE_MISMATCH' }, { code: 'SIGNATURE_MISMATCH' }])
  })
  it.each([
    [undefined, /^The webhook secret is missing: set WEBHOOK_SECRET/],
    ['', /^The webhook secret is missing/],
    ['abc', /^The webhook secret must be whsec_/],
    ['whsec_', /^The webhook secret must be whsec_/],
    [[secret, ''], /^The webhook secret is missing/],
    [[secret, 'abc'], /^The webhook secret must be whsec_/],
  ])('is not created with the secret %j', (wrong, message) => {
    for (const make of [webhookHandler, nodeWebhookHandler])
      expect(() => make({ secret: wrong, on: {} })).toThrow(message)
  })
  it('accepts a list of secrets that is filled later', async () => {
    const secrets: string[] = []
    for (const send of await receivers({ secret: secrets })) {
      secrets.length = 0
      const signed = await signTestEvent(event, secret)
      expect((await send(signed)).status).toBe(500)
      secrets.push(secret)
      expect((await send(signed)).status).toBe(200)
    }
  })
  it('reports any thrown value as an error', async () => {
    const errors: Error[] = []
    const on = {
      'webhook.test': () => {
        throw 'no disk'
      },
    }
    for (const send of await receivers({ on, onError: (error) => errors.push(error) }))
      await send(await signTestEvent(event, secret))
    expect(errors.map(({ message, cause }) => [message, cause])).toEqual([
      ['no disk', 'no disk'],
      ['no disk', 'no disk'],
    ])
  })
  it('returns 500 when the handler fails', async () => {
    let fails = true
    const on = {
      'webhook.test': async () => {
        if (fails) throw new Error('no disk')
      },
    }
    for (const send of await receivers({ on, dedupe: memoryDedupe() })) {
      fails = true
      const signed = await signTestEvent(event, secret)
      expect((await send(signed)).status).toBe(500)
      fails = false
      expect(await (await send(signed)).text()).toBe('')
      expect(await (await send(signed)).text()).toBe('already processed')
    }
  })
  it('processes a delivery once when two requests overlap', async () => {
    let runs = 0
    let finish = (): void => undefined
    const work = new Promise<void>((resolve) => (finish = resolve))
    const on = {
      'webhook.test': async () => {
        runs++
        await work
      },
    }
    const [send] = await receivers({ on, dedupe: memoryDedupe() })
    const signed = await signTestEvent(event, secret)
    const first = send?.(signed)
    while (runs === 0) await new Promise(setImmediate)
    expect((await send?.(signed))?.status).toBe(409)
    finish()
    expect((await first)?.status).toBe(200)
    expect(runs).toBe(1)
  })
  it('explains a body that was parsed before', async () => {
    const parsed = (request: NodeRequest): NodeRequest =>
      new Proxy(request, {
        get: (target, name) => (name === 'body' ? event : Reflect.get(target, name)),
      })
    const [, viaNode] = await receivers({}, parsed)
    const answer = await viaNode?.(await signTestEvent(event, secret))
    expect(answer?.status).toBe(500)
    expect(await answer?.text()).toContain('before it was verified')

    const request = new Request('http://receiver.example/', {
      method: 'POST',
      ...(await signTestEvent(event, secret)),
    })
    await request.json()
    const refused = await webhookHandler({ secret, on: {} })(request)
    expect([refused.status, await refused.text()]).toEqual([
      500,
      expect.stringContaining('before it was verified'),
    ])
  })
  it('returns 413 for a body that is too long', async () => {
    const codes: unknown[] = []
    const signed = await signTestEvent(event, secret)
    const onError = (error: Error): void => void codes.push((error as { code?: string }).code)
    for (const send of await receivers({ maxBodyBytes: signed.body.length - 1, onError })) {
      const answer = await send(signed)
      expect([answer.status, await answer.text()]).toEqual([
        413,
        expect.stringContaining('`maxBodyBytes`'),
      ])
    }
    for (const send of await receivers({ maxBodyBytes: signed.body.length, onError }))
      expect((await send(signed)).status).toBe(200)
    expect(codes).toEqual(['BODY_TOO_LONG', 'BODY_TOO_LONG'])
  })
  it('limits a body without a content-length', async () => {
    const { headers } = await signTestEvent(event, secret)
    const mebibyte = new Uint8Array(1024 * 1024)
    let sent = 0
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) =>
          ++sent % 10 === 0 ? controller.close() : controller.enqueue(mebibyte),
      })
    for (const ask of await receivers()) {
      const answer = await ask({ headers, body: endless(), duplex: 'half' })
      expect(answer.status).toBe(413)
    }
  })
  it('reads a body that arrives byte by byte', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    const bytes = new TextEncoder().encode(body)
    let at = 0
    const trickling = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) =>
          at === bytes.length ? controller.close() : controller.enqueue(bytes.subarray(at, ++at)),
      })
    for (const ask of await receivers()) {
      at = 0
      expect((await ask({ headers, body: trickling(), duplex: 'half' })).status).toBe(200)
    }
  })
  it('reports a sender that disconnects', async () => {
    const errors: Error[] = []
    const { headers } = await signTestEvent(event, secret)
    const left = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const [web] = await receivers({ onError: (error) => errors.push(error) })
    expect((await web({ headers, body: left, duplex: 'half' })).status).toBe(500)
    expect(errors.map(({ message }) => message)).toEqual(['gone'])
  })
  it('accepts the bytes from express.raw()', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    const raw = (request: NodeRequest): NodeRequest =>
      new Proxy(request, {
        get: (target, name) => (name === 'body' ? Buffer.from(body) : Reflect.get(target, name)),
      })
    const [, viaNode] = await receivers({}, raw)
    expect((await viaNode?.({ body, headers }))?.status).toBe(200)
  })
  it('accepts the bytes in rawBody', async () => {
    const { body, headers } = await signTestEvent(event, secret)
    const left: Readonly<Record<string, unknown>> = { body: event, rawBody: Buffer.from(body) }
    const raw = (request: NodeRequest): NodeRequest =>
      new Proxy(request, { get: (target, name) => left[String(name)] ?? Reflect.get(target, name) })
    const [, viaNode] = await receivers({}, raw)
    expect((await viaNode?.({ body, headers }))?.status).toBe(200)
  })
})

describe('memoryDedupe', () => {
  it('forgets the oldest finished deliveries and keeps running ones', async () => {
    const dedupe = memoryDedupe(2)
    expect(await dedupe.begin('busy')).toBe('begun')
    for (const id of ['a', 'b', 'c']) {
      await dedupe.begin(id)
      await dedupe.finish(id)
    }
    expect(await dedupe.begin('busy')).toBe('busy')
    expect(await dedupe.begin('c')).toBe('done')
    expect(await dedupe.begin('a')).toBe('begun')
  })
})
