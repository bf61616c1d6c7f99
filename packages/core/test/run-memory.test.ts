import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import type { RunRequest, Turn } from '@org/agent-messaging-core/runtime'
import { runOf, scene } from './scene.js'

const ALL = { maxTurns: 10, maxLength: 10_000 }
type Fact = (request: RunRequest) => Promise<string>
/** An agent whose answer is the result of `fact` for its request. */
const answering = (fact: Fact) => ({
  handler: async (request: RunRequest) =>
    ({ kind: 'answered', response: await fact(request) }) as const,
})

describe('a run', () => {
  it('receives the turns before it', async () => {
    const seen: (readonly Turn[])[] = []
    const { send } = await scene(
      answering(async ({ history, message }) => {
        seen.push(await history(ALL))
        return message.toUpperCase()
      }),
    )
    for (const message of ['one', 'two', 'three']) await send(message)
    expect(
      seen.map((turns) => turns.map(({ message, response }) => `${message} ${response}`)),
    ).toEqual([[], ['one ONE'], ['one ONE', 'two TWO']])
  })

  it('passes its session state to the next run, also after a restart', async () => {
    const handler = answering(async ({ remember, sessionState = '' }) => {
      await remember(`${sessionState}+`)
      return `had ${sessionState}`
    })
    const { service, send, another, ref } = await scene(handler)
    await send()
    await service.stop()
    const next = another()
    await next.start()
    const sent = await next.messages.send({ ...ref, sessionId: 's', message: 'again' })
    expect(sent.message.state).toMatchObject({ response: 'had +' })
  })

  it('gets an error if it stores session state without its lease', async () => {
    const { post, clock, runtime, storage } = await scene()
    const { id } = await post()
    await clock.until(() => runtime.openRuns.length === 1)
    const late = runOf(runtime)
    await storage.messages.recordRun({
      messageId: id,
      token: 1,
      state: { kind: 'queued', notBefore: 0 },
      now: 0,
    })
    await expect(late.remember('too late')).rejects.toThrow('lost its lease')
  })

  it.each([
    ['longer than 16 Ki characters', 'x'.repeat(16 * 1024 + 1)],
    ['not storable', 'a\0'],
    ['no string', { thread: 1 } as unknown as string],
  ])('cannot remember what is %s', async (_, state) => {
    const { post, clock, runtime } = await scene()
    await post()
    await clock.until(() => runtime.openRuns.length === 1)
    await expect(runOf(runtime).remember(state)).rejects.toThrow('the session state must')
    await expect(runOf(runtime).remember('x'.repeat(16 * 1024))).resolves.toBeUndefined()
  })

  it('gets a retryable error if the storage is unavailable', async () => {
    const { post, clock, runtime, storage } = await scene()
    await post()
    await clock.until(() => runtime.openRuns.length === 1)
    storage.fail('messages.history')
    await expect(runOf(runtime).history(ALL)).rejects.toMatchObject({
      message: expect.stringMatching(/^the storage is unavailable/),
      retryable: true,
    })
    expect(await runOf(runtime).history(ALL)).toEqual([])
  })
})

describe('the history of a message', () => {
  it('has the turns up to the message, with the message', async () => {
    const { send, service, ref } = await scene(answering(async ({ message }) => `${message}!`))
    const sent = [await send('one'), await send('two'), await send('three')]
    const ids = sent.map((one) => one.message.id)
    const read = async (messageId = '', limit: Partial<typeof ALL> = {}) =>
      (await service.messages.history({ ...ref, messageId, ...ALL, ...limit })).map(
        ({ response }) => response,
      )
    expect(await read(ids[1])).toEqual(['one!', 'two!'])
    expect(await read(ids[1], { maxTurns: 1 })).toEqual(['two!'])
    expect(await refusalOf(read('unknown'))).toEqual({ kind: 'message_not_found' })
  })
})
