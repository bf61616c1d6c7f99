import { fileURLToPath } from 'node:url'
import vm from 'node:vm'
import { build } from 'vite'
import { describe, expect, it } from 'vitest'
import type * as main from './index.js'
import type * as webhooks from './webhooks/index.js'

/** Globals that browsers, Workers, Deno and Bun have. */
const WEB = {
  AbortController,
  AbortSignal,
  ArrayBuffer,
  Uint8Array,
  Headers,
  Request,
  Response,
  TextDecoder,
  TextDecoderStream,
  TextEncoder,
  TransformStream,
  ReadableStream,
  URLSearchParams,
  atob,
  btoa,
  clearTimeout,
  crypto,
  setTimeout,
}

/** Bundles an entry for browsers. */
async function bundled(entry: string): Promise<string> {
  const [built] = [
    await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        minify: true,
        lib: {
          entry: fileURLToPath(new URL(entry, import.meta.url)),
          formats: ['iife'],
          name: 'bundle',
        },
      },
    }),
  ].flat()
  const [chunk] = built && 'output' in built ? built.output : []
  return chunk && 'code' in chunk ? chunk.code : ''
}

async function load<T>(entry: string, globals: object = {}): Promise<T> {
  const context = vm.createContext({ ...WEB, ...globals })
  vm.runInContext(`${await bundled(entry)}\nglobalThis.bundle = bundle`, context)
  return (context as { bundle: T }).bundle
}

describe('without Node', () => {
  it.each(['./index.ts', './webhooks/index.ts'])('%s contains no Node code', async (entry) => {
    const code = await bundled(entry)
    expect(code.length).toBeGreaterThan(1_000)
    expect(code).not.toMatch(/["'`]node:|browser-external|\brequire\(|\bprocess\.|\bBuffer\b/)
  })

  it('the client sends a message and follows its stream', async () => {
    const fetch = async (url: string): Promise<Response> =>
      url.endsWith('/stream')
        ? new Response(
            'event: message\ndata: {"messageId":"m","state":"responded","response":"Hi"}\n\n',
            {
              headers: { 'content-type': 'text/event-stream' },
            },
          )
        : new Response('{"messageId":"m","status":"pending"}', { status: 202 })
    const { createClient } = await load<typeof main>('./index.ts', { fetch })
    const client = createClient({
      baseUrl: 'https://messages.example',
      apiKey: 'k',
      fetch: fetch as typeof globalThis.fetch,
    })
    expect(await client.messages.send('echo', { sessionId: 's', message: 'Hello' })).toEqual({
      messageId: 'm',
      status: 'pending',
    })
    const events = []
    for await (const event of client.messages.stream('echo', 'm')) events.push(event)
    expect(events).toEqual([
      { event: 'message', id: '', message: { messageId: 'm', state: 'responded', response: 'Hi' } },
    ])
  })

  it('the receiver verifies and responds', async () => {
    const { signTestEvent, webhookHandler } = await load<typeof webhooks>('./webhooks/index.ts')
    const secret = `whsec_${btoa('x'.repeat(32))}`
    const event = {
      event: 'webhook.test',
      id: 'e',
      createdAt: '2030-01-01T00:00:00.000Z',
      data: { webhookId: 'w' },
    } as const
    const seen: string[] = []
    const handle = webhookHandler({
      secret,
      on: { 'webhook.test': ({ data }) => seen.push(data.webhookId) },
    })
    const signed = await signTestEvent(event, secret)
    expect(
      (await handle(new Request('https://r.example', { method: 'POST', ...signed }))).status,
    ).toBe(200)
    expect(
      (await handle(new Request('https://r.example', { method: 'POST', ...signed, body: '{}' })))
        .status,
    ).toBe(401)
    expect(seen).toEqual(['w'])
  })
})
