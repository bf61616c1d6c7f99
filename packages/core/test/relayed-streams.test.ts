import { createService, type AnswerStream } from '@org/agent-messaging-core'
import type { AnswerParts, PartEvent } from '@org/agent-messaging-core/runtime'
import type { ChunkRelay, RelayNote } from '@org/agent-messaging-core/storage'
import { memoryChunkRelay } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
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
  return { ...fakes, id, notes, open, run: runOf(fakes.runtime) }
}

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
  const data = (n: number) => ({ type: 'data', name: String(n), data: '😀'.repeat(3_000) }) as const
  for (let n = 0; n < 10; n++) {
    run.emit(`text ${n}\uD83D`)
    run.emit(data(n))
    run.emit('\uDE00')
    await clock.advance(0)
  }
  await clock.advance(30_000)
  runtime.answer(id, 'done')
  await clock.advance(5_000)
  await ended
  expect(parts).toEqual(Array.from({ length: 10 }, (_, n) => data(n)))
  expect(texts.join('')).toMatch(/^text 0\uFFFD\uFFFDtext 1\uFFFD/)
  expect(last()?.parts).toEqual([...parts, { type: 'text', text: 'done' }])
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
