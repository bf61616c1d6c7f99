import type { Activity, DeliveryDetail, Instant, Webhook } from '@org/agent-messaging-core'
import { ok, safeTry } from 'neverthrow'
import { Chart } from '../parts/charts.js'
import type { ConsoleDeps } from '../context.js'
import { DeliveryTable, detailsOf } from '../deliveries/delivery-table.js'
import { deliveriesPath } from '../parts/filter.js'
import { mergePages } from './held.js'
import { numbersOf } from '../parts/numbers.js'

const DAY = { bucketMs: 30 * 60_000, buckets: 48 } as const
const MAX_FAILURES = 10
/** The pending deliveries that are read. Of these, the ones with an attempt have failed. */
const MAX_PENDING = 100

export type WebhookActivity = {
  readonly activity: Activity
  readonly failures: readonly DeliveryDetail[]
}

type WebhookRef = { readonly projectId: string; readonly webhookId: string }

/** Reads the attempts of a day, and the newest deliveries that failed and were not accepted yet. */
export const readWebhookActivity = (service: ConsoleDeps['service'], ref: WebhookRef) =>
  safeTry(async function* () {
    const { deliveries } = service
    const activity = yield* service.activity({ projectId: ref.projectId, ...DAY })
    const page = { limit: MAX_FAILURES }
    const exhausted = yield* deliveries.list({ ...ref, status: 'exhausted' }, page)
    const pending = yield* deliveries.list({ ...ref, status: 'pending' }, { limit: MAX_PENDING })
    const failed = pending.data.filter(({ attemptCount }) => attemptCount > 0)
    const { data } = mergePages(
      [exhausted, { data: failed, nextCursor: null }].map((one) => ({ ...one, nextCursor: null })),
      MAX_FAILURES,
    )
    return ok<WebhookActivity>({ activity, failures: yield* detailsOf(service, data) })
  })

type Props = WebhookActivity & { readonly webhook: Webhook; readonly now: Instant }

/** Shows the attempts of a day as a chart, and the newest failures. */
export function ActivitySections({ webhook, activity, failures, now }: Props) {
  const { at, ofWebhook } = numbersOf(activity, DAY)
  const { good, bad } = ofWebhook(webhook.id)
  const listOf = (answer: '2xx' | 'failed') =>
    deliveriesPath({ webhook: webhook.id, answer, from: activity.since })
  const series = [
    { name: 'accepted', tone: 'good', values: good, href: listOf('2xx') },
    { name: 'failed', tone: 'bad', values: bad, href: listOf('failed') },
  ] as const
  return (
    <>
      <Chart title="Attempts of 24 hours" at={at} series={series} />
      <section class="card flush" aria-labelledby="failures">
        <h2 id="failures">
          Recent failures{' '}
          <a href={deliveriesPath({ webhook: webhook.id, status: 'exhausted' })}>
            Show exhausted deliveries
          </a>
        </h2>
        {failures.length === 0 ? (
          <p class="inset muted">No failed delivery is exhausted or waits for another attempt.</p>
        ) : (
          <div class="scroll" role="group" aria-labelledby="failures" tabindex={0}>
            <DeliveryTable details={failures} webhooks={[webhook]} now={now} showsWebhook={false} />
          </div>
        )}
      </section>
    </>
  )
}
