import { expect, it } from 'vitest'
import { eventData } from './event-stream.js'

async function dataOf(bytes: Uint8Array, size: number): Promise<string[]> {
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (reader) =>
      at < bytes.length ? reader.enqueue(bytes.subarray(at, (at += size))) : reader.close(),
  })
  const found: string[] = []
  for await (const { data, isEnded } of eventData(body, 100))
    found.push(isEnded ? data : `${data}…`)
  return found
}

const stream = [
  ': hello',
  '',
  'data: Zoë 🎈',
  '',
  'event: x',
  'data:one',
  'data:  two',
  'id: 7',
  '',
  '',
  'data',
  'data:',
  '',
  'data: last',
]

it.each(['\n', '\r\n'])(
  'eventData yields the data of each event for any chunk size (lines end in %j)',
  async (end) => {
    const bytes = new TextEncoder().encode(stream.join(end))
    for (let size = 1; size <= bytes.length; size++)
      expect(await dataOf(bytes, size)).toEqual(['Zoë 🎈', 'one\n two', '\n', 'last…'])
  },
)

it('eventData takes lines that end in a single carriage return', async () => {
  const bytes = new TextEncoder().encode(stream.join('\r'))
  for (let size = 1; size <= bytes.length; size++)
    expect((await dataOf(bytes, size)).map((data) => data.replace('…', ''))).toEqual([
      'Zoë 🎈',
      'one\n two',
      '\n',
      'last',
    ])
})

it('eventData limits each event, not the whole stream', async () => {
  const events = Array.from({ length: 5 }, (_, n) => `${n}`.repeat(60))
  const bytes = new TextEncoder().encode(events.map((data) => `data: ${data}\n\n`).join(''))
  expect(await dataOf(bytes, 50)).toEqual(events)
})

it('eventData skips a comment of any length', async () => {
  const bytes = new TextEncoder().encode(`: ${'x'.repeat(1_000)}\n\ndata: after\n\n`)
  expect(await dataOf(bytes, 7)).toEqual(['after'])
})

it('eventData yields nothing for an empty stream', async () => {
  expect(await dataOf(new Uint8Array(), 1)).toEqual([])
})

it.each([
  ['a line', `data: ${'x'.repeat(50)}`],
  ['an event of many lines', 'data: x\n'.repeat(20)],
])('eventData rejects %s without an end as soon as it is too long', async (_, piece) => {
  let pieces = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (reader) =>
        reader.enqueue(
          new TextEncoder().encode(pieces++ === 0 ? piece : piece.replace(/^data: (?=x{50})/, '')),
        ),
    },
    { highWaterMark: 0 },
  )
  await expect(eventData(body, 100).next()).rejects.toThrow(
    'the response has an event of more than 100 characters',
  )
  expect(pieces).toBeLessThan(4)
})
