import { MessagingError } from '@org/agent-messaging-core'
import type { Fact } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { createMetrics } from './metrics.js'

const NOW = 100_000
const webhooks = { disabledWebhooks: 1, openCircuits: 2, halfOpenCircuits: 3 }
const backlog = {
  messages: {
    queued: 4,
    running: 5,
    deferred: 6,
    inputRequired: 7,
    oldestDueAt: NOW - 2_000,
    oldestAskedAt: NOW - 9_000,
  },
  deliveries: {
    open: 10,
    due: 3,
    oldestDueAt: NOW - 7_500,
    held: {
      disabled: { count: 0 },
      paused: { count: 0 },
      circuit: { count: 1, oldestAt: NOW - 9_000 },
      limit: { count: 0 },
      order: { count: 1, oldestAt: NOW - 1_000 },
    },
    ...webhooks,
  },
}
const LIMITS = { growing: 3, refusals: 2, slots: 1, setting: 0, circuit: 0 }
const service = {
  backlog: async () => backlog,
  host: {
    load: () => ({ waitingCallers: 7, waitingReaders: 6, runs: 8, attempts: 9, limits: LIMITS }),
    now: () => NOW,
  },
}

/** The service's metrics that are not zero, without histogram buckets. */
async function shown(...facts: Fact[]): Promise<string[]> {
  const metrics = createMetrics()
  for (const fact of facts) metrics.telemetry.record(fact)
  const { text } = await metrics.read(service)
  return text
    .split('\n')
    .filter(
      (line) =>
        line.startsWith('agent_messaging') && !line.includes('_bucket') && !line.endsWith(' 0'),
    )
}

describe('the metrics', () => {
  it.each<[Fact, string[]]>([
    [
      { name: 'message.accepted', attached: true, agentName: 'a' },
      ['messages_accepted_total{attached="true",agent="a"} 1'],
    ],
    [
      { name: 'run.finished', state: 'failed', durationMs: 500, agentName: 'a' },
      ['runs_total{state="failed",agent="a"} 1', 'run_duration_seconds_sum{state="failed"} 0.5'],
    ],
    [{ name: 'message.cancelled' }, ['messages_changed_total{to="cancelled"} 1']],
    [{ name: 'message.retried' }, ['messages_changed_total{to="queued"} 1']],
    [{ name: 'run.refused' }, ['leases_lost_total{of="run"} 1']],
    [{ name: 'delivery.refused' }, ['leases_lost_total{of="attempt"} 1']],
    [{ name: 'webhook.disabled' }, ['webhooks_disabled_total 1']],
    [{ name: 'store.unavailable' }, ['store_unavailable_total 1']],
    [
      { name: 'worker.failed', worker: 'dispatcher' },
      ['worker_failures_total{worker="dispatcher"} 1'],
    ],
    [
      { name: 'maintenance.done', cancelled: 1, purgedDeliveries: 2, purgedMessages: 3 },
      [
        'maintained_rows_total{what="deliveries_cancelled"} 1',
        'maintained_rows_total{what="deliveries_purged"} 2',
        'maintained_rows_total{what="messages_purged"} 3',
      ],
    ],
  ])('count %j', async (fact, lines) => {
    expect(await shown(fact)).toEqual(
      expect.arrayContaining(lines.map((line) => `agent_messaging_${line}`)),
    )
  })

  it('count attempts by outcome and class, their duration, and finished deliveries', async () => {
    const attempted = {
      name: 'delivery.attempted',
      durationMs: 250,
      webhookId: 'w',
      deliveryId: 'd',
    } as const
    const lines = await shown(
      { ...attempted, outcome: 'accepted', statusCode: 204, state: 'delivered' },
      { ...attempted, outcome: 'refused', statusCode: 503, state: 'pending' },
      { ...attempted, outcome: 'refused', statusCode: 429, state: 'pending' },
      { ...attempted, outcome: 'unreachable', error: 'dns', state: 'exhausted' },
    )
    expect(lines).toEqual(
      expect.arrayContaining([
        'agent_messaging_delivery_attempts_total{outcome="accepted",class="2xx"} 1',
        'agent_messaging_delivery_attempts_total{outcome="refused",class="5xx"} 1',
        'agent_messaging_delivery_attempts_total{outcome="refused",class="429"} 1',
        'agent_messaging_delivery_attempts_total{outcome="unreachable",class="dns"} 1',
        'agent_messaging_delivery_attempt_duration_seconds_sum{outcome="refused"} 0.5',
        'agent_messaging_deliveries_finished_total{state="delivered"} 1',
        'agent_messaging_deliveries_finished_total{state="exhausted"} 1',
      ]),
    )
    expect(lines.join()).not.toMatch(/state="pending"|="[wd]"/)
  })

  it('name the first 50 agents, and count the rest as one', async () => {
    const run = { name: 'run.finished', state: 'responded', durationMs: 1 } as const
    const agents = Array.from({ length: 53 }, (_, n) => ({ ...run, agentName: `a${n}` }))
    const lines = (await shown(...agents, ...agents)).filter((line) => line.includes('runs_total'))
    expect(lines).toHaveLength(51)
    const ofAgent = (name: string) =>
      `agent_messaging_runs_total{state="responded",agent="${name}"}`
    expect(lines[49]).toBe(`${ofAgent('a49')} 2`)
    expect(lines[50]).toBe(`${ofAgent('other')} 6`)
  })

  it('count a message whose last run was lost, but no run', async () => {
    const lost = { name: 'run.finished', state: 'failed', durationMs: 500, isRun: false } as const
    expect((await shown({ ...lost, agentName: 'a' })).filter((line) => /_run/.test(line))).toEqual([
      'agent_messaging_runs_total{state="lost",agent="a"} 1',
    ])
  })

  it('count requests by route and status', async () => {
    const metrics = createMetrics()
    const request = {
      method: 'POST',
      route: '/v1/agents/:agent/messages',
      durationMs: 20,
      requestId: 'r',
      projectId: 'p',
    }
    for (const status of [200, 200, 401]) metrics.onRequest({ ...request, status })
    const { text } = await metrics.read(service)
    expect(text).toContain(
      'agent_messaging_http_requests_total{method="POST",route="/v1/agents/:agent/messages",status="200"} 2',
    )
    expect(text).toContain(
      'agent_messaging_http_request_duration_seconds_count{route="/v1/agents/:agent/messages"} 3',
    )
  })

  it('show the backlog of the storage and the load of this process', async () => {
    expect(await shown()).toEqual([
      'agent_messaging_in_flight{of="runs"} 8',
      'agent_messaging_in_flight{of="attempts"} 9',
      'agent_messaging_waiting_callers 7',
      'agent_messaging_waiting_event_readers 6',
      'agent_messaging_webhook_limits{reason="growing"} 3',
      'agent_messaging_webhook_limits{reason="refusals"} 2',
      'agent_messaging_webhook_limits{reason="slots"} 1',
      'agent_messaging_storage_up 1',
      'agent_messaging_messages{state="queued"} 4',
      'agent_messaging_messages{state="running"} 5',
      'agent_messaging_messages{state="deferred"} 6',
      'agent_messaging_messages{state="input_required"} 7',
      'agent_messaging_message_lag_seconds 2',
      'agent_messaging_input_age_seconds 9',
      'agent_messaging_deliveries{state="due"} 3',
      'agent_messaging_deliveries{state="held"} 2',
      'agent_messaging_deliveries{state="later"} 5',
      'agent_messaging_deliveries_held{cause="circuit"} 1',
      'agent_messaging_deliveries_held{cause="order"} 1',
      'agent_messaging_delivery_lag_seconds 7.5',
      'agent_messaging_delivery_held_seconds{cause="circuit"} 9',
      'agent_messaging_delivery_held_seconds{cause="order"} 1',
      'agent_messaging_webhooks_held{state="disabled"} 1',
      'agent_messaging_webhooks_held{state="circuit_open"} 2',
      'agent_messaging_webhooks_held{state="circuit_half_open"} 3',
    ])
  })

  it('omit the backlog while the storage is unavailable', async () => {
    const metrics = createMetrics()
    await metrics.read(service)
    const away = () => Promise.reject(new MessagingError({ kind: 'unavailable', reason: 'away' }))
    const { text } = await metrics.read({ ...service, backlog: away })
    expect(text).toMatch(/^agent_messaging_storage_up 0$/m)
    expect(text).toMatch(/^agent_messaging_waiting_callers 7$/m)
    expect(text).not.toMatch(
      /^agent_messaging_(messages|deliveries|deliveries_held|webhooks_held|\w+_(lag|held)_seconds)[{ ]/m,
    )
  })

  it('are text of the Prometheus format, with one type and one help per metric', async () => {
    const metrics = createMetrics()
    metrics.telemetry.record({ name: 'run.finished', state: 'failed', durationMs: 500 })
    const { text } = await metrics.read(service)
    const lines = text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
    const types = lines.flatMap(
      (line) => /^# TYPE (\S+) (?:counter|gauge|histogram)$/.exec(line)?.[1] ?? [],
    )
    const helps = lines.flatMap((line) => /^# HELP (\S+) ./.exec(line)?.[1] ?? [])
    const samples = lines.filter((line) => !line.startsWith('#'))
    expect(new Set(types).size).toBe(types.length)
    expect(helps.toSorted()).toEqual(types.toSorted())
    expect(types.length + helps.length + samples.length).toBe(lines.length)
    for (const sample of samples)
      expect(sample).toMatch(/^\w+(\{\w+="[^"\\]*"(,\w+="[^"\\]*")*\})? -?\d+(\.\d+)?(e-?\d+)?$/)
  })

  it('count a duration in each bucket that is not shorter', async () => {
    const metrics = createMetrics()
    metrics.telemetry.record({ name: 'run.finished', state: 'failed', durationMs: 500 })
    const { text } = await metrics.read(service)
    const buckets = text.matchAll(/^agent_messaging_run_duration_seconds_bucket\{(.*)\} (\d+)$/gm)
    const counts = Object.fromEntries([...buckets].map(([, labels = '', count]) => [labels, count]))
    expect(counts).toMatchObject({
      'state="failed",le="0.3"': '0',
      'state="failed",le="1"': '1',
      'state="failed",le="+Inf"': '1',
    })
  })

  it('keep the counts over a second reading', async () => {
    const metrics = createMetrics()
    metrics.telemetry.record({ name: 'message.cancelled' })
    await metrics.read(service)
    metrics.telemetry.record({ name: 'message.cancelled' })
    const { text } = await metrics.read(service)
    expect(text).toContain('agent_messaging_messages_changed_total{to="cancelled"} 2')
  })

  it('include the process and its event loop', async () => {
    const { text, contentType } = await createMetrics().read(service)
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds')
    expect(text).toContain('process_resident_memory_bytes')
    expect(contentType).toContain('version=0.0.4')
  })
})
