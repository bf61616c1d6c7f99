import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it, vi } from 'vitest'
import {
  createService,
  defaultPolicy,
  type AnswerStream,
  type StreamEvent,
} from '@org/agent-messaging-core'
import { type RunOutcome } from '@org/agent-messaging-core/runtime'
import { runOf, scene } from './scene.js'

type Scene = Awaited<ReturnType<typeof scene>>

const opening =
  ({ service, ref }: Pick<Scene, 'service' | 'ref'>) =>
  async (messageId: string, lastEventId?: string): Promise<AnswerStream> => {
    const stream = await service.messages.stream({ ...ref, messageId, lastEventId })
    if (!stream) throw new Error('nothing left to stream')
    return stream
  }

/** In short: `1.0 running`, `1.5 +Hello`, `1.responded`, `beat`. */
function inShort(event: StreamEvent): string {
  if (event.kind === 'heartbeat') return 'beat'
  if (event.kind === 'message') return event.id
  if (event.kind === 'part') return `${event.offset}/${event.index} ${event.part.type}`
  return `${event.id} ${event.kind === 'chunk' ? `+${event.text}` : event.message.state.kind}`
}

/** Reads in the background and adds each event to `seen`. */
function reading(stream: AnswerStream) {
  const seen: string[] = []
  const ended = (async () => {
    for await (const event of stream) seen.push(inShort(event))
  })()
  return { seen, ended }
}

/** A message that runs, with its stream being read. */
async function streamed(options: Parameters<typeof scene>[0] = {}) {
  const fakes = await scene(options)
  const open = opening(fakes)
  const { id } = await fakes.post()
  const reader = reading(await open(id))
  await fakes.clock.advance(0)
  return { ...fakes, open, id, ...reader, run: runOf(fakes.runtime) }
}

const withStream = (stream: Partial<typeof defaultPolicy.stream>) => ({
  policy: { stream: { ...defaultPolicy.stream, ...stream } },
})

describe('the stream of a message', () => {
  it('has the states, the pieces of the answer as they arrive, and at last the whole answer', async () => {
    const { seen, ended, run, runtime, id, clock } = await streamed()
    run.emit('Hel')
    await clock.advance(0)
    run.emit('lo')
    await clock.advance(0)
    expect(seen).toEqual(['1.0 running', '1.3 +Hel', '1.5 +lo'])
    runtime.answer(id, 'Hello')
    await ended
    expect(seen.slice(3)).toEqual(['1.responded'])
    expect(clock.sleepers).toBeGreaterThan(0)
  })
  it('begins with the current attempt for a late reader, and continues after the last event of a returning reader', async () => {
    const { open, run, id, runtime, clock } = await streamed()
    run.emit('Hello')
    const late = reading(await open(id))
    const again = reading(await open(id, '1.3'))
    const lost = reading(await open(id, 'what?'))
    await clock.advance(0)
    runtime.answer(id, 'Hello')
    await Promise.all([late.ended, again.ended, lost.ended])
    expect(late.seen).toEqual(['1.0 running', '1.5 +Hello', '1.responded'])
    expect(again.seen).toEqual(['1.3 running', '1.5 +lo', '1.responded'])
    expect(lost.seen).toEqual(late.seen)
  })
  it('has an event for a new attempt, and begins again with it', async () => {
    const { seen, ended, open, run, runtime, id, clock } = await streamed()
    run.emit('first try')
    await clock.advance(0)
    runtime.fail(id, 'lost', { retryable: true })
    await clock.until(() => runtime.requests.length === 2)
    runtime.requests[1]?.emit('second')
    run.emit('nobody hears the first one any more')
    const back = reading(await open(id, '1.9'))
    await clock.advance(0)
    runtime.answer(id, 'second')
    await Promise.all([ended, back.ended])
    expect(seen).toEqual([
      '1.0 running',
      '1.9 +first try',
      '1.9 queued',
      '2.0 running',
      '2.6 +second',
      '2.responded',
    ])
    expect(back.seen).toEqual(['2.0 running', '2.6 +second', '2.responded'])
  })
  it('has no pieces of a cancelled run after the message is retried', async () => {
    const ends: (() => void)[] = []
    const handler = () =>
      new Promise<RunOutcome>((resolve) =>
        ends.push(() => resolve({ kind: 'answered', response: 'new words' })),
      )
    const { service, ref, open, run, runtime, id, clock } = await streamed({
      handler,
      agent: { concurrency: 1 },
    })
    run.emit('old words')
    await service.messages.cancel({ ...ref, messageId: id })
    await service.messages.retry({ ...ref, messageId: id })
    const { seen, ended } = reading(await open(id))
    run.emit(' that nobody wants')
    await clock.advance(0)
    expect(seen).toEqual(['0.0 queued'])
    ends[0]?.()
    await clock.until(() => runtime.requests.length === 2)
    runtime.requests[1]?.emit('new')
    await clock.advance(0)
    ends[1]?.()
    await ended
    expect(seen).toEqual(['0.0 queued', '1.0 running', '1.3 +new', '1.responded'])
  })
  it('has events for a failure and for a deferral', async () => {
    const { seen, ended, runtime, service, run, id, clock } = await streamed()
    runtime.defer(id)
    await clock.advance(500)
    expect(seen).toEqual(['1.0 running', '1.0 deferred'])
    const failed = {
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'no' },
      retryable: false,
    } as const
    await service.host.answerRun({ messageId: id, runToken: run.runToken, run: failed })
    await ended
    expect(seen.at(-1)).toBe('1.failed')
  })
  it('of a final message has that message, and nothing for a reader that has seen it', async () => {
    const { service, ref, open, runtime, id, ended } = await streamed()
    runtime.answer(id, 'x')
    await ended
    const { seen, ended: again } = reading(await open(id, '1.0'))
    await again
    expect(seen).toEqual(['1.responded'])
    expect(
      await service.messages.stream({ ...ref, messageId: id, lastEventId: '1.responded' }),
    ).toBeUndefined()
    expect(
      await service.messages.stream({ ...ref, messageId: id, lastEventId: '7.responded' }),
    ).toBeDefined()
  })
  it('stays open while the message is queued', async () => {
    const { post, open, runtime, id, clock } = await streamed()
    const second = await post('second')
    const { seen, ended } = reading(await open(second.id))
    await clock.advance(500)
    runtime.answer(id, 'x')
    await clock.until(() => runtime.openRuns.includes(second.id))
    runtime.answer(second.id, 'y')
    await ended
    expect(seen).toEqual(['0.0 queued', '1.0 running', '1.responded'])
  })
  it('is not found if the message does not exist', async () => {
    const { service, ref, id } = await streamed()
    const kindOf = async (input: object) =>
      (await refusalOf(service.messages.stream({ ...ref, messageId: id, ...input }))).kind
    expect(await kindOf({ agent: 'nobody' })).toBe('agent_not_found')
    expect(await kindOf({ messageId: '01890000-0000-7000-8000-00000000dead' })).toBe(
      'message_not_found',
    )
  })
})

describe('a stream in another process than the run', () => {
  it('has the states and the answer, found by polls', async () => {
    const fakes = await scene()
    const elsewhere = opening({ service: fakes.another(), ref: fakes.ref })
    const first = await fakes.post()
    const second = await fakes.post('behind it')
    const { seen, ended } = reading(await elsewhere(second.id))
    fakes.runtime.answer(first.id, 'x')
    await fakes.clock.until(() => fakes.runtime.openRuns.includes(second.id))
    fakes.runtime.requests[1]?.emit('not heard there')
    await fakes.clock.advance(1_000)
    fakes.runtime.answer(second.id, 'y')
    await fakes.clock.advance(1_000)
    await ended
    expect(seen).toEqual(['0.0 queued', '1.0 running', '1.responded'])
    expect(fakes.clock.sleepers).toBeGreaterThan(0)
  })
  it('shares polls with other streams: no poll reads more than a hundred messages', async () => {
    const { post, storage, clock, ...rest } = await scene()
    const open = opening(rest)
    const ids: string[] = []
    for (let n = 0; n < 250; n++) ids.push((await post('hello', { sessionId: `s${n}` })).id)
    const find = vi.spyOn(storage.messages, 'find')
    const streams = await Promise.all(ids.map((id) => open(id)))
    for (let polls = 1; polls <= 3; polls++) await clock.advance(500)
    const asked = find.mock.calls.map(([some]) => some)
    expect(asked.map(({ length }) => length)).toEqual([100, 100, 100])
    expect(new Set(asked.flat())).toEqual(new Set(ids))
    for (const stream of streams) await stream.return?.()
  })
  it('stays open during an outage of the store, and ends when the message is deleted', async () => {
    const { seen, ended, storage, service, ref, clock } = await streamed()
    storage.fail('messages.find')
    await clock.advance(500)
    await service.agents.delete({ ...ref, force: true })
    await clock.advance(500)
    await ended
    expect(seen).toEqual(['1.0 running', '1.cancelled'])
  })
  it('reads the message after a signal without it', async () => {
    const hear: (() => void)[] = []
    const fakes = await scene()
    const signal = {
      notify: () => undefined,
      listen: (_: string, tell: (message: undefined) => void) => (
        hear.push(() => tell(undefined)),
        () => undefined
      ),
    }
    const other = createService({ ...fakes, storage: fakes.storage.reopen(), signal })
    const { id } = await fakes.post()
    const { seen, ended } = reading(await opening({ service: other, ref: fakes.ref })(id))
    fakes.runtime.answer(id, 'x')
    for (let turn = 0; turn < 100; turn++) await Promise.resolve()
    hear[0]?.()
    await ended
    expect(seen).toEqual(['1.0 running', '1.responded'])
  })
})

describe('streams are bounded', () => {
  it('in their number per project', async () => {
    const { service, ref, id, open } = await streamed(withStream({ maxPerProject: 2 }))
    const second = await open(id)
    const refused = await refusalOf(service.messages.stream({ ...ref, messageId: id }))
    expect(refused.kind).toBe('too_many_streams')
    await second.return?.()
    await second.return?.()
    await service.messages.stream({ ...ref, messageId: id })
    await refusalOf(service.messages.stream({ ...ref, messageId: id }))
  })
  it('in the buffered part of an answer: a late reader gets its end, and the whole answer with the message', async () => {
    const { open, run, id, runtime, clock } = await streamed(withStream({ bufferLength: 10 }))
    for (let digit = 0; digit < 30; digit++) run.emit(String(digit % 10))
    const { seen, ended } = reading(await open(id))
    await clock.advance(0)
    runtime.answer(id, 'whole')
    await ended
    expect(seen).toEqual(['1.0 running', '1.30 +1234567890123456789', '1.responded'])
  })
  it('in time: a reader that does not read loses its place', async () => {
    const { service, ref, id, clock, seen } = await streamed(
      withStream({ maxPerProject: 2, stalledMs: 60_000 }),
    )
    const stuck = await service.messages.stream({ ...ref, messageId: id })
    await stuck?.next()
    await clock.advance(59_000)
    await refusalOf(service.messages.stream({ ...ref, messageId: id }))
    await clock.advance(2_000)
    await service.messages.stream({ ...ref, messageId: id })
    expect(await stuck?.next()).toEqual({ done: true, value: undefined })
    expect(seen.filter((event) => event === 'beat').length).toBeGreaterThan(2)
  })
})

describe('a stream on which nothing happens', () => {
  it('sends a heartbeat at least every 5 s', async () => {
    const { seen, clock, run } = await streamed()
    await clock.advance(5_000)
    expect(seen).toEqual(['1.0 running', 'beat'])
    await clock.advance(5_000)
    expect(seen).toEqual(['1.0 running', 'beat', 'beat'])
    run.emit('x')
    await clock.advance(3_000)
    expect(seen.slice(3)).toEqual(['1.1 +x'])
  })
})

describe('leaving a stream', () => {
  it('changes nothing for the message, and leaves no listener', async () => {
    const { runtime, id, open, state, clock } = await streamed()
    const stream = await open(id)
    await stream.next()
    const waiting = stream.next()
    await stream.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    runtime.answer(id, 'all the same')
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'responded' })
  })
  it('happens at a stop of the service, after the last events', async () => {
    const { service, runtime, id, run, open, clock, seen, ended } = await streamed()
    run.emit('last words')
    const unread = await open(id)
    const stopping = service.stop({ graceMs: 1_000 })
    await ended
    expect(seen).toEqual(['1.0 running', '1.10 +last words'])
    const rest = reading(unread)
    await rest.ended
    expect(rest.seen).toEqual(seen)
    const late = reading(await open(id))
    await late.ended
    expect(late.seen).toEqual(seen)
    runtime.answer(id, 'x')
    await clock.advance(5_000)
    await stopping
    expect(clock.sleepers).toBe(0)
  })
})

const input = {
  type: 'tool-input-available',
  toolCallId: 'c',
  toolName: 'search',
  input: { q: '</script>' },
} as const
const output = { type: 'tool-output-available', toolCallId: 'c', output: 'hit' } as const
const call = { ...input, type: 'tool', state: 'output-available', output: 'hit' } as const

describe('the parts of an answer', () => {
  it('come between the text, and with the final message', async () => {
    const { open, run, runtime, id, clock, service, ref, seen, ended } = await streamed()
    run.emit('Let me look. ')
    run.emit(input)
    run.emit({ type: 'text-delta', text: 'Found: ' })
    run.emit(output)
    run.emit('a hit')
    await clock.advance(0)
    const events = ['+Let me look. ', '13/0 tool-input-available', '+Found: ']
    const rest = ['20/1 tool-output-available', '+a hit']
    const inOrder = [...events, ...rest].map((one) => expect.stringContaining(one) as string)
    expect(seen).toEqual(['1.0 running', ...inOrder])
    const back = reading(await open(id, seen[3]?.split(' ')[0]))
    await clock.advance(0)
    expect(back.seen.slice(1)).toEqual(inOrder.slice(3))
    const last = await open(id)
    runtime.answer(id, 'Let me look. Found: a hit')
    await Promise.all([ended, back.ended])
    const parts = [
      { type: 'text', text: 'Let me look. ' },
      call,
      { type: 'text', text: 'Found: a hit' },
    ]
    const message = await service.messages.get({ ...ref, messageId: id })
    expect(message.parts).toEqual({ parts, isTruncated: false })
    const all = []
    for await (const event of last) all.push(event)
    expect(all.at(-1)).toMatchObject({ kind: 'message', message: { parts: { parts } } })
    const page = await service.messages.list(ref)
    expect(page.data[0]).not.toHaveProperty('parts')
  })
  it('reach a reader that fell out of the buffer with the final message', async () => {
    const { open, run, runtime, id, ended } = await streamed(withStream({ bufferLength: 50 }))
    const slow = await open(id)
    await slow.next()
    for (let n = 0; n < 100; n++) run.emit({ type: 'data', name: 'n', data: n })
    runtime.answer(id, 'x')
    await ended
    const events: StreamEvent[] = []
    for await (const event of slow) events.push(event)
    expect(events[0]).toMatchObject({ kind: 'part', offset: 0, part: { data: 98 }, index: 98 })
    const last = events.at(-1)
    expect(last?.kind === 'message' && last.message.parts?.parts).toHaveLength(101)
  })
  it('are those of the answering attempt', async () => {
    const { run, runtime, id, clock, service, ref, ended } = await streamed()
    run.emit({ type: 'data', name: 'void', data: 1 })
    runtime.fail(id, 'lost', { retryable: true })
    await clock.until(() => runtime.requests.length === 2)
    runtime.requests[1]?.emit(input)
    runtime.answer(id, 'second')
    await ended
    const { parts } = await service.messages.get({ ...ref, messageId: id })
    expect(parts?.parts.map(({ type }) => type)).toEqual(['tool', 'text'])
  })
  it('cost no read if the answer is text', async () => {
    const { run, runtime, id, service, ref, ended, storage } = await streamed()
    const read = vi.spyOn(storage.messages, 'parts')
    run.emit('Hello')
    runtime.answer(id, 'Hello')
    await ended
    expect(await service.messages.get({ ...ref, messageId: id })).not.toHaveProperty('parts')
    expect(read).not.toHaveBeenCalled()
  })
  it('that are not valid are dropped, with one note of each run', async () => {
    const { run, runtime, id, state, ended, telemetry } = await streamed()
    for (let n = 0; n < 3; n++) run.emit(output)
    run.emit({
      get type() {
        throw new Error('hostile')
      },
    } as never)
    runtime.answer(id, 'x')
    await ended
    expect(await state(id)).toMatchObject({ kind: 'responded' })
    const facts = telemetry.facts.filter(({ name }) => name === 'part.dropped')
    expect(facts).toEqual([
      expect.objectContaining({ problem: 'tool-output-available has the id of no tool call' }),
    ])
  })
})

it('the pieces that an agent emits never hurt its run', async () => {
  const { run, runtime, id, ended, seen, clock } = await streamed()
  run.emit(undefined as never)
  run.emit({} as never)
  run.emit('')
  await clock.advance(0)
  runtime.answer(id, 'x')
  await ended
  run.emit('too late')
  expect(seen).toEqual(['1.0 running', '1.responded'])
})
