import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { until, type RealServer } from './real-server.js'
import { METRICS_TOKEN, sendMany, slowReceiver, twoServers } from './slow-receivers.js'

const MESSAGES = 800
const MAX_CONCURRENCY = 3
const PER_SECOND = 10
const ANSWER_MS = 150
/** A busy machine must not end requests that the receiver still counts. */
const TIMEOUT_MS = 5_000
/** A process that joins others waits for 15 s and one timeout. */
const BOTH_SEND_WITHIN_MS = 40_000
const MEASURED_MS = 6_000

async function attemptsOf({ url }: RealServer): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const text = await (await fetch(`${url}/metrics`, { headers })).text()
  const sums = text.matchAll(/^agent_messaging_delivery_attempts_total\{.*\} (\d+)$/gm)
  return [...sums].reduce((sum, [, count]) => sum + Number(count), 0)
}

it(
  'two servers on one PostgreSQL keep maxConcurrency and requestsPerSecond together',
  { timeout: 240_000 },
  async () => {
    const [one, other] = await twoServers(TIMEOUT_MS)
    const [parallel, paced] = [await slowReceiver(ANSWER_MS), await slowReceiver(ANSWER_MS)]
    const events = ['message.responded']
    const limits = [
      { url: parallel.url, events, maxConcurrency: MAX_CONCURRENCY },
      { url: paced.url, events, requestsPerSecond: PER_SECOND },
    ]
    for (const webhook of limits)
      expect((await one.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
    await sendMany([one, other], MESSAGES)

    const bothSend = async () => (await attemptsOf(one)) > 0 && (await attemptsOf(other)) > 0
    expect(await until(bothSend, BOTH_SEND_WITHIN_MS)).toBe(true)
    await sleep(1_000)
    const since = performance.now()
    const before = [paced.counts.received, await attemptsOf(one), await attemptsOf(other)]
    await sleep(MEASURED_MS)
    const after = [paced.counts.received, await attemptsOf(one), await attemptsOf(other)]
    const measuredMs = performance.now() - since
    const [sent = 0, ofOne = 0, ofOther = 0] = after.map((count, at) => count - (before[at] ?? 0))
    expect(sent).toBeGreaterThan((PER_SECOND * MEASURED_MS) / 2_000)
    expect(sent).toBeLessThanOrEqual((PER_SECOND * measuredMs) / 1_000 + PER_SECOND)
    expect(Math.min(ofOne, ofOther)).toBeGreaterThan(0)
    expect(parallel.counts.most).toBe(MAX_CONCURRENCY)
  },
)
