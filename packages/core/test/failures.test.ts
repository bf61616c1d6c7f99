import { refusalOf, unreachable } from '@org/agent-messaging-testing'
import { success, type Outcome } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const STEP = 5 * MINUTE

/** An agent that fails messages which begin with `bad`, and a webhook. */
async function failing() {
  const made = await scene({
    idle: true,
    policy: { retry: { delaysMs: [], jitter: 0, maxRetryAfterMs: 0 } },
    handler: ({ message }) =>
      message.startsWith('bad')
        ? {
            kind: 'failed',
            retryable: false,
            error: { code: 'RUNTIME_ERROR', message: 'the ledger is closed '.repeat(20) },
          }
        : { kind: 'answered', response: 'ok' },
  })
  const { service, project, clock, sender, post } = made
  const pass = () => service.tick({ budgetMs: 1_000 })
  // Failures in the same five minutes count together.
  clock.set(Math.ceil(clock.now() / STEP) * STEP)
  const { webhook } = await made.hook()
  const webhookId = webhook.id
  const read = async (from?: number) => await service.failures({ projectId: project.id, from })
  const answers = (outcome: Outcome) => sender.script(...Array.from({ length: 10 }, () => outcome))
  const send = async (text: string, sessionId = 's') => {
    const { id } = await post(text, { sessionId })
    await pass()
    return id
  }
  return { ...made, read, send, answers, pass, webhookId }
}

describe('failures', () => {
  it('name each agent and webhook that fails, since when, how often and why', async () => {
    const { read, send, answers, clock, bot, webhookId, service, project } = await failing()
    answers({ kind: 'refused', statusCode: 500, responseBody: 'down' })
    expect((await read()).failures).toEqual([])
    const start = clock.now()
    await send('bad 1', 'a')
    const messageId = await send('bad 2', 'b')
    await send('good', 'c')
    const { from, recentFrom, failures } = await read()
    expect([from, recentFrom]).toEqual([start - 24 * HOUR, start - 2 * STEP])
    const ofAgent = failures.find(({ subject }) => subject === 'agent')
    expect(ofAgent).toMatchObject({
      ...{ id: bot.id, name: 'bot', isFailing: true, since: start, countedFrom: start },
      ...{ failed: 2, ended: 3, recent: 2, reasons: [{ reason: 'RUNTIME_ERROR', count: 2 }] },
      last: { reason: 'RUNTIME_ERROR', id: messageId },
    })
    expect(ofAgent?.last?.text).toHaveLength(200)
    const ofWebhook = failures.find(({ subject }) => subject === 'webhook')
    expect(ofWebhook).toMatchObject({
      ...{ id: webhookId, name: 'https://receiver.example/hook', isFailing: true },
      last: { reason: '500', text: 'down' },
    })
    expect(ofWebhook?.since).toBeGreaterThanOrEqual(start)
    expect(ofWebhook?.reasons).toEqual([{ reason: '5xx', count: ofWebhook?.failed }])
    await service.webhooks.delete({ projectId: project.id, webhookId })
    expect((await read()).failures).toMatchObject([{ subject: 'agent' }])
  })

  it('are over after successes alone, and no longer recent', async () => {
    const { read, send, sender, clock } = await failing()
    sender.script(unreachable('connect'), unreachable('connect'))
    await send('bad')
    expect((await read()).failures).toMatchObject([{ isFailing: true }, { isFailing: true }])
    await clock.advance(3 * STEP)
    await send('good')
    await clock.advance(HOUR)
    await send('good')
    const { failures } = await read()
    expect(failures).toHaveLength(2)
    for (const failure of failures) expect(failure).toMatchObject({ isFailing: false, recent: 0 })
    expect(failures.map(({ last }) => last?.reason)).toContain('connect')
    await clock.advance(24 * HOUR)
    expect((await read()).failures).toEqual([])
    expect((await read(clock.now() - 48 * HOUR)).failures).toHaveLength(2)
  })

  it('have no example of an agent whose failed messages were erased', async () => {
    const { read, send, service, ref } = await failing()
    await send('bad')
    await service.sessions.erase({ ...ref, sessionId: 's' })
    const { failures } = await read()
    expect(failures.find(({ subject }) => subject === 'agent')).not.toHaveProperty('last')
  })

  it('name an agent that does not start, without a time', async () => {
    const { read, service, project, runtime } = await failing()
    runtime.failStart('no program')
    await service.agents.create({
      projectId: project.id,
      name: 'broken',
      runtime: { kind: 'fake' },
    })
    const [failure] = (await read()).failures
    expect(failure).toMatchObject({ name: 'broken', isFailing: true, failed: 0, reasons: [] })
    expect(failure?.last?.text).toBeDefined()
    expect(failure?.since).toBeUndefined()
  })

  it('name a webhook that failed before and is disabled, since its first failure', async () => {
    const { read, send, answers, clock, service, project, webhookId } = await failing()
    await service.webhooks.update({
      projectId: project.id,
      webhookId,
      change: { disableOnGone: true },
    })
    answers({ kind: 'refused', statusCode: 410, responseBody: '' })
    await send('good')
    const at = (await service.webhooks.get({ projectId: project.id, webhookId })).updatedAt
    await clock.advance(30 * HOUR)
    expect((await read()).failures).toMatchObject([
      { id: webhookId, isFailing: true, since: at, failed: 0, recent: 0 },
    ])
  })

  it('are counted by the hour if there are too many steps', async () => {
    const { read, send, clock, storage } = await failing()
    await send('bad')
    const counts = storage.counts.read.bind(storage.counts)
    storage.counts.read = async (query) => {
      if (query.limit === undefined) return counts(query)
      const row = { ...query, id: '', at: query.from, counts: {} }
      return success(Array.from({ length: query.limit }, () => row))
    }
    const { failures } = await read()
    expect(failures.find(({ subject }) => subject === 'agent')).toMatchObject({
      ...{ failed: 1, recent: 1 },
      countedFrom: Math.floor(clock.now() / HOUR) * HOUR,
    })
  })

  it.each([-48 * HOUR - 1, 1])('refuse a start of %i ms from now', async (ms) => {
    const { read, clock } = await failing()
    expect(await refusalOf(read(clock.now() + ms))).toMatchObject({ issues: [{ path: 'from' }] })
  })
})
