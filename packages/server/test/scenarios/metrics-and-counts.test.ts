import { expect, it } from 'vitest'
import { openReceiver, openScene } from './scene.js'

type Counts = Readonly<Record<string, number>> & { readonly byClass: Record<string, number> }
type Stats = { readonly total: Counts; readonly rows: readonly (Counts & { id: string })[] }

/** Returns the sum of the series of a metric that have the labels. */
const sumIn =
  (text: string) =>
  (name: string, labels = ''): number =>
    [...text.matchAll(new RegExp(`^agent_messaging_${name}(\\{.*\\})? (\\d+)$`, 'gm'))]
      .filter(([, shown = '']) => new RegExp(labels).test(shown))
      .reduce((sum, [, , value]) => sum + Number(value), 0)

it('the metrics of a server agree with the counts and with the lists', async ({
  onTestFinished,
}) => {
  const broken = () => Promise.reject(new Error('broken'))
  const scene = await openScene({ openMetrics: true, agents: { broken } })
  onTestFinished(scene.close)
  const { api } = scene
  const runtime = { kind: 'function', handler: 'broken' }
  await api('POST', '/v1/agents', { name: 'broken', runtime, desiredState: 'running' })
  const agents = (await api('GET', '/v1/agents')).body.data
  for (const answer of [200, 302, 404, 429, 500]) {
    const receiver = await openReceiver(scene.clock, answer)
    onTestFinished(receiver.close)
    await scene.webhook(receiver.url)
  }
  await scene.webhook('http://127.0.0.1:9/nothing-listens')
  for (let n = 0; n < 6; n++) await scene.send()
  for (const sessionId of ['a', 'b'])
    await api('POST', '/v1/agents/broken/messages', { sessionId, message: 'hi' })
  await scene.pass(60_000)

  const stats = async (by: string): Promise<Stats> =>
    (await api('GET', `/v1/stats?step=5m&${by}`)).body as unknown as Stats
  const { total } = await stats('')
  const metric = sumIn(await (await fetch(`${scene.url}/metrics`)).text())
  expect(total).toMatchObject({ messages: 8, answered: 6, failed: 2, delivered: 6, exhausted: 0 })
  expect(metric('messages_accepted_total', 'attached="false"')).toBe(total['messages'])
  expect(metric('runs_total')).toBe(total['runs'])
  expect(metric('run_duration_seconds_count')).toBe(total['runs'])
  expect(metric('runs_total', 'state="responded"')).toBe(total['answered'])
  expect(metric('runs_total', 'state="failed"')).toBe(total['failed'])
  expect(metric('delivery_attempts_total')).toBe(total['attempts'])
  expect(metric('deliveries_finished_total', 'state="delivered"')).toBe(total['delivered'])
  const { timeout, unreachable, ...byStatus } = total.byClass
  for (const [name, count] of Object.entries(byStatus)) {
    expect(count).toBeGreaterThan(0)
    expect([name, metric('delivery_attempts_total', `class="${name}"`)]).toEqual([name, count])
  }
  expect(unreachable).toBeGreaterThan(0)
  expect(timeout).toBe(0)
  expect(metric('delivery_attempts_total', 'class="[^2-5]')).toBe(unreachable)

  for (const { id, messages } of (await stats('by=agent')).rows) {
    const name = agents.find((agent) => agent.id === id)?.['name']
    expect(metric('messages_accepted_total', `agent="${String(name)}"`)).toBe(messages)
  }
  expect(metric('deliveries')).toBe((await scene.deliveries('status=pending')).length)
  expect(metric('deliveries_held')).toBe(metric('deliveries', 'state="held"'))
})
