import { createService, type AnswerStream } from '@org/agent-messaging-core'
import type { AnswerParts, PartEvent } from '@org/agent-messaging-core/runtime'
import type { ChunkRelay, RelayNote } from '@org/agent-messaging-core/storage'
import { memoryChunkRelay } from '@org/agent-messaging-testing'
import { expect, it, vi } from 'vitest'
import { runOf, scene } from './scene.js'

/** A message that runs in one process, and another process on the same storage. */
async function elsewhere(loses: (note: RelayNote) => boolean = () => false) {
  const line = memoryChunkRelay()
  const notes: RelayNote[] = []
  const relay: ChunkRelay = {
    send: async (note) => {
      notes.push(note)
      if (!loses(note)) await line.send(note)
    },
    onNote: line.onNote,
  }
  const fakes = await scene({ relay })
  const other = createService({ ...fakes, relay, storage: fakes.storage.reopen() })
  const { id } = await fakes.post()
  await fakes.clock.advance(0)
  const open = async () => reading(await other.messages.stream({ ...fakes.ref, messageId: id }))
  return { ...fakes, other, id, notes, open, run: runOf(fakes.runtime) }
}

const data = (name: string, value: string) => ({ type: 'data', name, data: value }) as const

function reading(stream: AnswerStream | undefined) {
  const texts: string[] = []
  const parts: PartEvent[] = []
  let final: AnswerParts | undefined
  const ended = (async () => {
    for await (const event of stream ?? [])
      if (event.kind === 'chunk') texts.push(event.text)
      else if (event.kind === 'part') parts.push(event.part)
      else if (event.kind === 'message') {
        texts.push('end')
        final = event.message.parts
      }
  })()
  return { texts, parts, ended, last: () => final }
}

it('a reader at another process gets all chunks before the final message', async () => {
  const { open, run, runtime, id, clock } = await elsewhere()
  run.emit('Hel')
  const { texts, ended } = await open()
  await clock.advance(0)
  run.emit('lo \uD83D')
  await clock.advance(0)
  run.emit('\uDE00'.concat('x'.repeat(5_000)))
  runtime.answer(id, 'Hello')
  await clock.advance(3_000)
  await ended
  expect(texts.pop()).toBe('end')
  expect(texts.join('')).toBe(`Hello \u{1F600}${'x'.repeat(5_000)}`)
})

it('a reader at another process gets long parts whole, with lost pieces asked for again', async () => {
  const isNth = (n: number) => n % 5 === 3
  let count = 0
  const { open, run, runtime, id, clock } = await elsewhere(
    (note) => note.kind === 'chunk' && note.text !== '' && isNth(count++),
  )
  const { texts, parts, ended, last } = await open()
  await clock.advance(0)
  const long = (n: number) => data(String(n), '😀'.repeat(3_000))
  for (let n = 0; n < 10; n++) {
    run.emit(`text ${n}\uD83D`)
    run.emit(long(n))
    run.emit('\uDE00')
    await clock.advance(0)
  }
  await clock.advance(30_000)
  runtime.answer(id, 'done')
  await clock.advance(5_000)
  await ended
  expect(parts).toEqual(Array.from({ length: 10 }, (_, n) => long(n)))
  expect(texts.join('')).toMatch(/^text 0\uFFFD\uFFFDtext 1\uFFFD/)
  expect(last()?.parts).toEqual([...parts, { type: 'text', text: 'done' }])
})

it('a reader at another process gets a long part with few sends', async () => {
  const { open, run, notes, clock } = await elsewhere()
  const { parts } = await open()
  await clock.advance(0)
  const part = data('long', 'x'.repeat(60_000))
  const before = notes.length
  run.emit(part)
  // Before the first send has ended.
  expect(notes.length - before).toBe(8)
  await clock.advance(0)
  expect(parts).toEqual([part])
})

it('a process that dies leaves no parts: the message has those of the run that answers', async () => {
  const { open, run, runtime, id, clock, storage, other, service, ref } = await elsewhere()
  await other.start()
  const { parts, ended, last } = await open()
  await clock.advance(0)
  run.emit(data('dead', 'a'))
  await clock.advance(0)
  vi.spyOn(storage.messages, 'extendLeases').mockReturnValue(new Promise<never>(() => undefined))
  await clock.until(() => runtime.requests.length === 2)
  runtime.requests[1]?.emit(data('alive', 'b'))
  run.emit(data('dead', 'late'))
  await clock.advance(0)
  runtime.answer(id, 'done')
  await clock.advance(3_000)
  await ended
  expect(parts).toEqual([data('dead', 'a'), data('alive', 'b')])
  const stored = [data('alive', 'b'), { type: 'text', text: 'done' }]
  expect(last()?.parts).toEqual(stored)
  expect((await service.messages.get({ ...ref, messageId: id })).parts?.parts).toEqual(stored)
})

it('no chunk travels without a reader at another process', async () => {
  const { notes, run, runtime, id, clock } = await elsewhere()
  run.emit('Hello')
  runtime.answer(id, 'Hello')
  await clock.advance(3_000)
  expect(notes).toEqual([])
})

it('lost chunks and a lost question are asked for again', async () => {
  let lost = 0
  const { open, run, runtime, id, clock } = await elsewhere((note) => {
    const isLost = note.kind === 'question' ? lost < 1 : note.text === 'b'
    if (isLost) lost++
    return isLost && lost < 4
  })
  const { texts, ended } = await open()
  await clock.advance(1_000)
  for (const text of ['a', 'b', 'c']) {
    run.emit(text)
    await clock.advance(0)
  }
  await clock.advance(2_000)
  runtime.answer(id, 'abc')
  await clock.advance(3_000)
  await ended
  expect(texts.join('')).toBe('abcend')
})

it('the final message does not wait longer than two seconds for lost chunks', async () => {
  const { open, run, runtime, id, clock } = await elsewhere((note) => note.kind === 'chunk')
  const { texts, ended } = await open()
  await clock.advance(0)
  run.emit('Hello')
  runtime.answer(id, 'Hello')
  await clock.advance(5_000)
  await ended
  expect(texts).toEqual(['end'])
})
