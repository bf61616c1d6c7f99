import { refused } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { runOf, scene } from './scene.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
const OF_THE_TRACE = /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/
const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}

describe('a trace (W3C Trace Context)', () => {
  it('is passed from the send to the run and to each attempt, each with a different parent id', async () => {
    const { send, hook, sender, clock, runtime, telemetry } = await scene(echo)
    await hook()
    sender.script(refused())
    await send('hi', { traceparent, tracestate: 'vendor=1' })
    await clock.advance(60_000)
    const contexts = [runOf(runtime).trace, ...sender.requests.map(({ headers }) => headers)]
    expect(contexts).toHaveLength(3)
    for (const context of contexts)
      expect(context).toMatchObject({
        traceparent: expect.stringMatching(OF_THE_TRACE) as string,
        tracestate: 'vendor=1',
      })
    expect(
      new Set([traceparent, ...contexts.map((context) => context?.['traceparent' as never])]).size,
    ).toBe(4)
    expect(telemetry.named('delivery.attempted')).toMatchObject([
      { traceId: TRACE },
      { traceId: TRACE },
    ])
  })

  it('is passed to the webhooks that receive the cancel', async () => {
    const { post, service, ref, hook, sender, clock, runtime } = await scene()
    await hook()
    const { id: messageId } = await post('hi', { traceparent })
    await clock.until(() => runtime.openRuns.length === 1)
    await service.messages.cancel({ ...ref, messageId })
    await clock.advance(0)
    const told = sender.requests.find(({ body }) => body.includes('CANCELLED'))
    expect(told?.headers).toMatchObject({
      traceparent: expect.stringMatching(OF_THE_TRACE) as string,
    })
  })

  it.each([undefined, 'not a trace'])('is absent if the send had none: %j', async (none) => {
    const { send, hook, sender, clock, runtime, telemetry } = await scene(echo)
    await hook()
    await send('hi', { traceparent: none, tracestate: 'vendor=1' })
    await clock.advance(0)
    expect(runOf(runtime)).not.toHaveProperty('trace')
    expect(
      Object.keys(sender.requests[0]?.headers ?? {}).filter((name) => name.startsWith('trace')),
    ).toEqual([])
    expect(telemetry.named('delivery.attempted')[0]).not.toHaveProperty('traceId')
  })

  it('stays the trace of the first send when another send gets its message', async () => {
    const { post, hook, sender, clock } = await scene(echo)
    await hook()
    await post('hi', { idempotencyKey: 'k', traceparent })
    await post('hi', { idempotencyKey: 'k', traceparent: traceparent.replaceAll('4', '5') })
    await clock.advance(0)
    expect(sender.requests.map(({ headers }) => headers['traceparent'])).toEqual([
      expect.stringMatching(OF_THE_TRACE),
    ])
  })
})
