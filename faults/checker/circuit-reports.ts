import { groupBy } from './group-by.js'
import type { Invariant } from './violation.js'

type Report = { readonly event: string; readonly data: { readonly webhookId?: string } }

const REPORTS = ['webhook.failing', 'webhook.recovered']

/**
 * 12. A receiver gets one `webhook.failing` of each circuit that opens, and one `webhook.recovered`
 * before the next one. The newest delivery comes first in the history.
 */
export const circuitReports: Invariant = function* ({ final }) {
  if (final.purgedBefore !== undefined) return
  const receivers = new Set(final.webhooks.flatMap((one) => (one.isTemporary ? [] : one.webhookId)))
  const reports = final.deliveries
    .toReversed()
    .filter(({ webhookId }) => receivers.has(webhookId))
    .map(({ webhookId, body }) => ({ receiver: webhookId, ...(JSON.parse(body) as Report) }))
    .filter(({ event }) => REPORTS.includes(event))
  const ofCircuits = groupBy(reports, ({ receiver, data }) => `${data.webhookId} to ${receiver}`)
  for (const [of, told] of ofCircuits) {
    const events = told.map(({ event }) => event)
    if (events.some((event, at) => event !== REPORTS[at % 2]))
      yield { of, problem: `its circuit was reported as ${events.join(', ')}` }
  }
}
