import { createService, type AnswerStream } from '@org/agent-messaging-core'
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
  async function open(): Promise<{ texts: string[]; ended: Promise<void> }> {
    const stream = await other.messages.stream({ ...fakes.ref, messageId: id })
    return reading(stream)
  }
  return { ...fakes, id, notes, open, run: runOf(fakes.runtime) }
}

function reading(stream: AnswerStream | undefined) {
  const texts: string[] = []
  const ended = (async () => {
    for await (const event of stream ?? [])
      if (event.kind === 'chunk') texts.push(event.text)
      else if (event.kind === 'message') texts.push('end')
  })()
  return { texts, ended }
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
