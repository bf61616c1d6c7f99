import { readFileSync } from 'node:fs'
import type { Fact } from '@org/agent-messaging-core/runtime'
import { HOLD_CAUSES, type HoldCause } from '@org/agent-messaging-core/host'
import { expect, it } from 'vitest'
import { createMetrics } from './metrics.js'

const held = Object.fromEntries(HOLD_CAUSES.map((cause) => [cause, { count: 1 }])) as Record<
  HoldCause,
  { count: number }
>
const messages = { queued: 1, running: 1, deferred: 1, inputRequired: 1 }
const webhooks = { disabledWebhooks: 1, openCircuits: 1, halfOpenCircuits: 1 }
const service = {
  backlog: async () => ({ messages, deliveries: { open: 9, due: 1, held, ...webhooks } }),
  host: {
    load: () => ({
      waitingCallers: 0,
      waitingReaders: 0,
      runs: 0,
      attempts: 0,
      limits: { growing: 0, refusals: 0, slots: 0, setting: 0, circuit: 0 },
    }),
    now: () => 0,
  },
}
const run = { name: 'run.finished', durationMs: 1, agentName: 'a' } as const
const attempt = { name: 'delivery.attempted', durationMs: 1, outcome: 'accepted' } as const
const FACTS: readonly Fact[] = [
  { ...run, state: 'responded' },
  { ...run, state: 'failed' },
  { ...run, state: 'failed', isRun: false },
  { ...attempt, state: 'delivered', statusCode: 200 },
  { ...attempt, state: 'exhausted', statusCode: 200 },
  { name: 'worker.failed', worker: 'dispatcher' },
  { name: 'worker.failed', worker: 'purge' },
]

/** The metrics of a server in which everything has happened. */
async function metricsText(): Promise<string> {
  const metrics = createMetrics()
  for (const fact of FACTS) metrics.telemetry.record(fact)
  const request = { method: 'GET', route: '/', durationMs: 1, requestId: 'r' }
  for (const status of [200, 503]) metrics.onRequest({ ...request, status })
  return (await metrics.read(service)).text
}

const deployed = (file: string): string =>
  readFileSync(new URL(`../../../../deploy/${file}`, import.meta.url), 'utf8')

it.each(['grafana/dashboard.json', 'prometheus/alerts.yaml'])(
  'deploy/%s uses only metrics that the server has',
  async (file) => {
    const known = [...(await metricsText()).matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(
      ([, name = '', kind]) =>
        kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
    const names = deployed(file).match(/\b(?:agent_messaging|nodejs|process)_[a-z0-9_]+/g) ?? []
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => !known.includes(name))).toEqual([])
  },
)

// promtool checks that the planted values raise these alerts: scripts/deploy-check.mjs.
it('the test of the alerts raises each of them, by values that the server can have', async () => {
  const alerts = [...deployed('prometheus/alerts.yaml').matchAll(/alert: (\w+)/g)]
  const test = deployed('prometheus/alerts.test.yaml')
  const raised = test
    .split('alertname: ')
    .filter((part) => part.includes('exp_alerts:'))
    .map((part) => /^\w+/.exec(part)?.[0])
  expect(new Set(raised)).toEqual(new Set(alerts.map(([, name]) => name)))

  const samples = (await metricsText()).split('\n')
  const planted = [...test.matchAll(/'(agent_messaging_\w+)\{([^}]*)\}'/g)]
  expect(planted.length).toBeGreaterThan(20)
  for (const [series, name, labels = ''] of planted) {
    const own = labels.split(', ').filter((label) => !/^(job|instance)=/.test(label))
    const isShown = (line: string) =>
      new RegExp(`^${name}[{ ]`).test(line) &&
      own.every((label) => line.includes(label.replace(' ', '')))
    expect([series, samples.some(isShown)]).toEqual([series, true])
  }
})
