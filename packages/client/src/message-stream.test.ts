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
  message: { messageId: 'm', state: 'responded', response: 'Hi' },
}

/** The pieces of a body, and whether it ends behind them; or that there is nothing more to come. */
type Body = { readonly pieces: readonly string[]; readonly ends: boolean } | 204

/** A service whose connections give these, one after the other. */
function service(bodies: readonly Body[], type = 'text/event-stream') {
  const asked: (string | null)[] = []
  let [cancelled, pauses] = [0, 0]
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

it('goes on behind what it has seen, over a connection that ends', async () => {
  const { all, asked } = service([
    { pieces: [STATE, CHUNK.slice(0, 20), `${CHUNK.slice(20)}event: ch`], ends: true },
    { pieces: [END], ends: true },
  ])
  expect((await all()).map(({ event }) => event)).toEqual(['state', 'chunk', 'message'])
  expect(asked).toEqual([null, '1.2'])
})

it('rests before each connection after the first, or a server that ends them at once would be asked without end', async () => {
  const { all, pauses } = service([
    { pieces: [STATE], ends: true },
    { pieces: [], ends: true },
    { pieces: [END], ends: true },
  ])
  await all()
  expect(pauses()).toBe(2)
})

it('ends where there is nothing behind what it has seen', async () => {
  const { all, asked } = service([{ pieces: [STATE], ends: true }, 204])
  expect((await all()).map(({ event }) => event)).toEqual(['state'])
  expect(asked).toEqual([null, '1.0'])
})

it('passes over events that it does not know, of a later version of the service', async () => {
  const { all } = service([
    { pieces: ['event: thought\nid: 1.1\ndata: {"text":"hm"}\n\n', END], ends: true },
  ])
  expect(await all()).toEqual([message])
})

it('leaves no timer behind, however many pieces came', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { all } = service([{ pieces: [STATE, CHUNK, END], ends: false }])
  expect((await all()).at(-1)).toEqual(message)
  expect(vi.getTimerCount()).toBe(0)
})

it('leaves a connection on which not even a heartbeat comes any more, as nobody else would tell it', async () => {
  const { all, asked, cancelled } = service([
    { pieces: [STATE], ends: false },
    { pieces: [': heartbeat\n\n', END], ends: false },
  ])
  expect((await all(50)).at(-1)).toEqual(message)
  expect(asked).toEqual([null, '1.0'])
  await vi.waitFor(() => expect(cancelled()).toBe(2))
})

it('is no stream, and not asked for again and again, when a page is in its place', async () => {
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

it('lets go of its connection when nobody iterates any more', async () => {
  const { http, cancelled } = service([{ pieces: [STATE, CHUNK], ends: false }])
  for await (const { event } of streamOf(http, '/stream', undefined)) if (event === 'state') break
  await vi.waitFor(() => expect(cancelled()).toBe(1))
})
