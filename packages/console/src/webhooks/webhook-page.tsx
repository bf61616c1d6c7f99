import type { DeliveryDetail, Instant, Webhook } from '@org/agent-messaging-core'
import {
  cutAnswer,
  deliveryStatusOf,
  webhookSettings,
  type ReadWebhook,
  type FilterCondition,
  type WebhookFilter,
  type WebhookLimit,
  lineOf,
} from '@org/agent-messaging-core/host'
import type { LastFailure } from '@org/agent-messaging-core/storage'
import { type ConsoleDeps, BASE } from '../context.js'
import {
  deliveryColumns,
  DeliveryLink,
  detailsOf,
  mergePages,
} from '../deliveries/delivery-table.js'
import { Chart } from '../parts/charts.js'
import { textsOf, titleOf } from '../parts/fields.js'
import { can } from '../parts/input.js'
import { deliveriesPath, recoverPath } from '../parts/filter.js'
import { numbersOf, readCounts } from '../parts/numbers.js'
import { Facts, Id, Post, Status, Time, WholeId } from '../parts/parts.js'
import { Empty, Live, TableSection } from '../parts/table.js'
import { TestForm } from './events.js'
import { healthOf, limitText, outcomeLabel } from '../parts/wording.js'
import { useView } from '../parts/zone.js'

type WebhookPageProps = {
  readonly webhook: ReadWebhook
  readonly limit: WebhookLimit
  readonly deliveries: readonly DeliveryDetail[]
  readonly recent: WebhookActivity
  /** The test event that was just sent. */
  readonly tested: DeliveryDetail | undefined
}

/** Shows a webhook: its health, actions, settings, attempts, and recent deliveries. */
export const WebhookPage = ({ webhook, limit, deliveries, recent, tested }: WebhookPageProps) => (
  <>
    <h1 class="long">{webhook.description ?? webhook.url}</h1>
    <Actions webhook={webhook} />
    <Live every={tested && isWaiting(tested) ? 1_000 : 5_000}>
      {tested && <TestEvent {...tested} webhook={webhook} />}
      <WebhookFacts webhook={webhook} limit={limit} />
      <ActivitySections webhook={webhook} {...recent} />
      <TableSection
        id="recent"
        title={
          <>
            Recent deliveries <a href={`${BASE}/deliveries?webhook=${webhook.id}`}>Show all</a>
          </>
        }
        rows={deliveries}
        columns={deliveryColumns([], webhook)}
        empty={
          <Empty title="No deliveries yet">
            <p>Send a test event to see it here with the answer of the receiver.</p>
          </Empty>
        }
      />
    </Live>
  </>
)

function Actions({ webhook }: Pick<WebhookPageProps, 'webhook'>) {
  const { id, status, isPaused } = webhook
  const isEnabled = status.kind === 'enabled'
  const { c, now } = useView()
  if (!can(c, 'webhooks.update')) return null
  const isRotating = isSigningTwice(webhook, now)
  const post = (action: string, label: string, style?: string) => (
    <Post call="webhooks.update" to={`/webhooks/${id}/${action}`} class={style}>
      {label}
    </Post>
  )
  const ask = (action: string, label: string, style = 'button') => (
    <a class={style} href={`${BASE}/webhooks/${id}/${action}`}>
      {label}
    </a>
  )
  return (
    <div class="buttons">
      {isEnabled ? <TestForm webhookId={id} /> : post('enable', 'Enable', 'primary')}
      {isPaused ? post('resume', 'Resume') : post('pause', 'Pause')}
      {isEnabled && ask('disable', 'Disable')}
      {ask('edit', 'Edit')}
      {ask('rotate', 'Rotate secret')}
      {isRotating && post('finish', 'Finish rotation')}
      {ask('delete', 'Delete', 'button quiet')}
    </div>
  )
}

type TestProps = DeliveryDetail & { readonly webhook: Webhook }

const isWaiting = ({ delivery, attempts }: DeliveryDetail) =>
  attempts.length === 0 && deliveryStatusOf(delivery.state) === 'pending'

/** Shows the answer of the receiver to a test event. */
function TestEvent({ delivery: { id }, attempts: [attempt], webhook }: TestProps) {
  return (
    <section class="notice" role="status">
      Test event:{' '}
      {attempt ? (
        <Answered deliveryId={id} {...attempt} outcome={cutAnswer(attempt.outcome)} />
      ) : (
        <>
          {webhook.isPaused
            ? 'the paused webhook keeps it until you resume the webhook'
            : 'waiting for the answer of the receiver'}
          , delivery <DeliveryLink id={id} />
        </>
      )}
    </section>
  )
}

/** True if the old secret signs too. */
const isSigningTwice = ({ previousSecret }: Webhook, now: Instant) =>
  previousSecret !== undefined && previousSecret.until > now

function WebhookFacts({ webhook, limit }: Pick<WebhookPageProps, 'webhook' | 'limit'>) {
  const { id, url, events, filter, description, headers, health, status, sending } = webhook
  const { lastFailure } = webhook
  const { now } = useView()
  const { reason, ...label } = healthOf(webhook, now)
  const texts = textsOf(others, { ...webhook, ...sending })
  return (
    <Facts
      facts={{
        Health: (
          <>
            <Status {...label} /> {status.kind === 'disabled' && <Time at={status.at} />}
            {reason !== undefined && <div class="muted">{reason}</div>}
          </>
        ),
        'Limit now': limitText(limit),
        URL: description !== undefined && <span class="url">{url}</span>,
        Events: events.includes('*') ? 'all' : events.join(', '),
        ...(filter && factsOfFilter(filter)),
        'Custom headers': headers && headers.names.join(', '),
        ...Object.fromEntries(
          Object.entries(others).map(([name, setting]) => [
            titleOf(setting),
            texts[name] || undefined,
          ]),
        ),
        'Last accepted': <TimeOrNever at={health.lastSuccessAt} />,
        'Last failed': lastFailure ? (
          <Answered {...lastFailure} />
        ) : (
          <TimeOrNever at={health.lastFailureAt} />
        ),
        'Old secret': webhook.previousSecret && isSigningTwice(webhook, now) && (
          <>
            signs too, expires <Time at={webhook.previousSecret.until} />
          </>
        ),
        ID: <WholeId id={id} />,
        Registered: <Time at={webhook.createdAt} />,
      }}
    />
  )
}

/** The title of the page is the description. */
const { description: _, ...others } = webhookSettings

const factsOfFilter = ({ agentId, sessionIdPrefix, metadata = [], data = [] }: WebhookFilter) => ({
  Agent: agentId !== undefined && <Id id={agentId} />,
  Sessions: sessionIdPrefix !== undefined && (
    <>
      start with <code>{sessionIdPrefix}</code>
    </>
  ),
  Metadata: metadata.length > 0 && <Conditions all={metadata} />,
  Data: data.length > 0 && <Conditions all={data} />,
})

const Conditions = ({ all }: { readonly all: readonly FilterCondition[] }) => (
  <>
    {all.map((condition) => (
      <div>
        <code>{lineOf(condition)}</code>
      </div>
    ))}
  </>
)

/** Shows an attempt: its result, when it started, and the answer. */
function Answered({ deliveryId, startedAt, outcome }: Omit<LastFailure, 'webhookId'>) {
  const answer = outcome.kind === 'unreachable' ? outcome.detail : outcome.responseBody
  return (
    <>
      <Status {...outcomeLabel(outcome)} /> <Time at={startedAt} />, delivery{' '}
      <DeliveryLink id={deliveryId} />
      {answer !== '' && (
        <div class="muted">
          <bdi>{answer}</bdi>
        </div>
      )}
    </>
  )
}

const TimeOrNever = ({ at }: { readonly at: Instant | undefined }) =>
  at === undefined ? <>never</> : <Time at={at} />

const MAX_FAILURES = 10
/** The pending deliveries that are read. Of these, the ones with an attempt have failed. */
const MAX_PENDING = 100

type WebhookActivity = Awaited<ReturnType<typeof readWebhookActivity>>

type WebhookRef = { readonly projectId: string; readonly webhookId: string }

/** Reads the attempts of a day, and the newest deliveries that failed and were not accepted yet. */
export async function readWebhookActivity(service: ConsoleDeps['service'], ref: WebhookRef) {
  const { deliveries } = service
  const counted = await readCounts(service, ref.projectId, '24h', ref.webhookId)
  const page = { limit: MAX_FAILURES }
  const exhausted = await deliveries.list({ ...ref, status: 'exhausted', ...page })
  const pending = await deliveries.list({ ...ref, status: 'pending', limit: MAX_PENDING })
  const failed = pending.data.filter(({ attemptCount }) => attemptCount > 0)
  const { data } = mergePages(
    [exhausted.data, failed].map((data) => ({ data, nextCursor: null })),
    MAX_FAILURES,
  )
  return { counted, failures: await detailsOf(service, data) }
}

type ActivityProps = WebhookActivity & { readonly webhook: Webhook }

/** Shows the attempts of a day as a chart, and the newest failures. */
function ActivitySections({ webhook, counted, failures }: ActivityProps) {
  const { at, ofWebhook } = numbersOf(counted, '24h')
  const { good, bad } = ofWebhook(webhook.id)
  const listOf = (answer: '2xx' | 'failed') =>
    deliveriesPath({ webhook: webhook.id, answer, from: counted.since })
  const series = [
    { name: 'accepted', tone: 'good', values: good, href: listOf('2xx') },
    { name: 'failed', tone: 'bad', values: bad, href: listOf('failed') },
  ] as const
  return (
    <>
      <Chart
        title="Attempts of 24 hours"
        at={at}
        series={series}
        listOf={(span) => deliveriesPath({ webhook: webhook.id, ...span })}
      />
      <TableSection
        id="failures"
        title={
          <>
            Recent failures{' '}
            <span>
              {can(useView().c, 'recoveries.start') && (
                <>
                  <a href={recoverPath({ webhook: webhook.id, status: 'failed' })}>Recover</a>{' '}
                </>
              )}
              <a href={deliveriesPath({ webhook: webhook.id, status: 'exhausted' })}>
                Show exhausted deliveries
              </a>
            </span>
          </>
        }
        rows={failures}
        columns={deliveryColumns([], webhook)}
        empty={
          <p class="inset muted">
            No delivery is exhausted, and none of the newest {MAX_PENDING} pending ones has failed.{' '}
            <a href={deliveriesPath({ webhook: webhook.id, answer: 'failed' })}>
              Show all whose last attempt failed
            </a>
          </p>
        }
      />
    </>
  )
}
