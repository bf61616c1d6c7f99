import { expect, it, onTestFinished, vi } from 'vitest'
import { createHttp } from './http.js'
import { ApiError } from './api-error.js'
import { streamOf, type StreamEvent } from './message-stream.js'

const STATE = 'event: state\nid: 1.0\ndata: {"state":"running","attempt":1}\n\n'
const CHUNK = 'event: chunk\nid: 1.2\ndata: {"attempt":1,"offset":0,"text":"Hi"}\n\n'
const END =
  'event: message\nid: 1.responded\ndata: {"messageId":"m","state":"responded","response":"Hi"}\n\n'
const message = {
  event: 'message',
  id: '1.responded',
  message: { messageId: 'm', state: 'responded', response: 'Hi' },
}

/** The pieces of a body and whether it ends, or a 204 for the end of the stream. */
type Body = { readonly pieces: readonly string[]; readonly ends: boolean } | 204

/** A service with one body for each connection. */
function service(bodies: readonly Body[], type = 'text/event-stream') {
  const asked: (string | null)[] = []
  let cancelled = 0
  let pauses = 0
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    const next = bodies[asked.length] ?? { pieces: [], ends: true }
    asked.push(new Headers(init?.headers).get('last-event-id'))
    if (next === 204) return new Response(null, { status: 204 })
    const { pieces, ends } = next
    const left = [...pieces]
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const piece = left.shift()
        if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece))
        else if (ends) controller.close()
        else return new Promise(() => undefined)
        return undefined
      },
      cancel: () => void cancelled++,
    })
    return new Response(body, { headers: { 'content-type': type } })
  }
  const http = createHttp(
    { baseUrl: 'https://messages.example', apiKey: 'k', fetch },
    async () => void pauses++,
  )
  async function all(silenceMs?: number): Promise<StreamEvent[]> {
    const events: StreamEvent[] = []
    for await (const event of streamOf(http, '/stream', undefined, silenceMs)) events.push(event)
    return events
  }
  return { asked, all, http, cancelled: () => cancelled, pauses: () => pauses }
}

it('the stream continues after its last event when a connection ends', async () => {
  const { all, asked } = service([
    { pieces: [STATE, CHUNK.slice(0, 20), `${CHUNK.slice(20)}event: ch`], ends: true },
    { pieces: [END], ends: true },
  ])
  expect((await all()).map(({ event }) => event)).toEqual(['state', 'chunk', 'message'])
  expect(asked).toEqual([null, '1.2'])
})

it('the stream pauses before each reconnect', async () => {
  const { all, pauses } = service([
    { pieces: [STATE], ends: true },
    { pieces: [], ends: true },
    { pieces: [END], ends: true },
  ])
  await all()
  expect(pauses()).toBe(2)
})

it('the stream ends with a 204', async () => {
  const { all, asked } = service([{ pieces: [STATE], ends: true }, 204])
  expect((await all()).map(({ event }) => event)).toEqual(['state'])
  expect(asked).toEqual([null, '1.0'])
})

it('the stream ignores unknown events', async () => {
  const { all } = service([
    { pieces: ['event: thought\nid: 1.1\ndata: {"text":"hm"}\n\n', END], ends: true },
  ])
  expect(await all()).toEqual([message])
})

it('the stream leaves no timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { all } = service([{ pieces: [STATE, CHUNK, END], ends: false }])
  expect((await all()).at(-1)).toEqual(message)
  expect(vi.getTimerCount()).toBe(0)
})

it('the stream reconnects after a silence without heartbeats', async () => {
  const { all, asked, cancelled } = service([
    { pieces: [STATE], ends: false },
    { pieces: [': heartbeat\n\n', END], ends: false },
  ])
  expect((await all(50)).at(-1)).toEqual(message)
  expect(asked).toEqual([null, '1.0'])
  await expect.poll(cancelled).toBe(2)
})

it('the stream rejects another content type without a retry', async () => {
  const { all, asked } = service([{ pieces: ['<html>sign in'], ends: true }], 'text/html')
  const reading = all()
  await expect(reading).rejects.toThrow(ApiError)
  await expect(reading).rejects.toMatchObject({
    status: 200,
    code: 'UNKNOWN',
    message: 'HTTP 200: <html>sign in',
  })
  expect(asked).toHaveLength(1)
})

it('the stream closes its connection when the consumer stops', async () => {
  const { http, cancelled } = service([{ pieces: [STATE, CHUNK], ends: false }])
  for await (const { event } of streamOf(http, '/stream', undefined)) if (event === 'state') break
  await expect.poll(cancelled).toBe(1)
})
