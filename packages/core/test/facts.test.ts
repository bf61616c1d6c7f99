import { describe, expect, it } from 'vitest'
import { refused } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

describe('the facts of telemetry:', () => {
  it('an attempt is one fact, with every id, its time, its outcome and the next step', async () => {
    const { send, hook, sender, clock, deliveries, telemetry, project } = await scene({
      handler: () => ({ kind: 'answered', response: '' }),
    })
    const { webhook } = await hook()
    sender.script(refused(503))
    await send()
    await clock.advance(0)
    const [detail] = await deliveries()
    const { id: deliveryId, eventId, state } = detail?.delivery ?? {}
    expect(state).toMatchObject({ kind: 'pending', nextAttemptAt: expect.any(Number) as number })
    expect(telemetry.named('delivery.attempted')).toEqual([
      {
        name: 'delivery.attempted',
        ...{
          deliveryId,
          eventId,
          webhookId: webhook.id,
          projectId: project.id,
          event: 'message.responded',
        },
        ...{ attemptNumber: 1, durationMs: 0, outcome: 'refused', statusCode: 503 },
        ...{
          state: 'pending',
          nextAttemptAt: state && 'nextAttemptAt' in state ? state.nextAttemptAt : undefined,
        },
      },
    ])
  })

  it('a run is one fact, and says when it is tried again', async () => {
    const { post, clock, runtime, telemetry, project, bot, state } = await scene()
    const { id: messageId } = await post()
    await clock.advance(1_500)
    runtime.fail(messageId, 'later', { retryable: true })
    await clock.advance(0)
    const queued = await state(messageId)
    expect(telemetry.named('run.finished')).toEqual([
      {
        name: 'run.finished',
        ...{
          messageId,
          agentId: bot.id,
          agentName: bot.name,
          projectId: project.id,
          attempt: 1,
          durationMs: 1_500,
          state: 'queued',
        },
        ...{
          nextRunAt: 'notBefore' in queued ? queued.notBefore : undefined,
          error: 'RUNTIME_ERROR',
          detail: 'later',
        },
      },
    ])
  })
})
