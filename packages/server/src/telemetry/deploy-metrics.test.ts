import { readFileSync } from 'node:fs'
import { errAsync } from 'neverthrow'
import { expect, it } from 'vitest'
import { createMetrics } from './metrics.js'

const service = {
  load: () => ({
    waitingCallers: 0,
    waitingReaders: 0,
    runs: 0,
    attempts: 0,
    limits: { growing: 0, refusals: 0, slots: 0, setting: 0, circuit: 0 },
  }),
  backlog: () => errAsync({ kind: 'unavailable', reason: 'away' } as const),
  now: () => 0,
}

it.each(['grafana/dashboard.json', 'prometheus/alerts.yaml'])(
  'deploy/%s uses only metrics that the server has',
  async (file) => {
    const { text } = await createMetrics().read(service)
    const known = [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, name = '', kind]) =>
      kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
    const used = readFileSync(new URL(`../../../../deploy/${file}`, import.meta.url), 'utf8')
    const names = used.match(/\b(?:agent_messaging|nodejs|process)_[a-z0-9_]+/g) ?? []
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => !known.includes(name))).toEqual([])
  },
)
