import type { Instant, Webhook } from '@org/agent-messaging-core'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { badFirst, type ReadWebhook } from '@org/agent-messaging-core/host'
import { type ConsoleDeps, type PageRequest, BASE } from '../context.js'
import { deliveriesPath } from '../parts/filter.js'
import { holdsDeliveries } from '../deliveries/delivery-table.js'
import { can, projectIn } from '../parts/input.js'
import { numbersOf, readCounts, type Counted } from '../parts/numbers.js'
import { sumOf } from '../parts/charts.js'
import { Status, Time, Card, Tabs, CurlCommand } from '../parts/parts.js'
import { type Columns, Empty, listPage } from '../parts/table.js'
import { NEW_WEBHOOK, type WebhookDraft, WebhookForm } from './webhook-form.js'
import { healthOf, outcomeLabel, WebhookName } from '../parts/wording.js'

type Shown = {
  readonly name: string
  readonly text: string
  readonly matches: (webhook: Webhook, now: Instant) => boolean
}
const ALL: Shown = { name: 'all', text: 'All', matches: () => true }
const BAD: Shown = {
  name: 'bad',
  text: 'With failures',
  matches: (webhook, now) => healthOf(webhook, now).tone === 'bad',
}
const SHOWN: readonly Shown[] = [
  ALL,
  BAD,
  { name: 'held', text: 'Holding deliveries', matches: holdsDeliveries },
]

export async function webhooksPage(
  c: PageRequest,
  { service, catcher }: ConsoleDeps,
  draft?: WebhookDraft,
) {
  const projectId = projectIn(c)
  const limit = defaultLimits.webhooksPerProject
  const asked = SHOWN.find(({ name }) => name === c.req.query('show')) ?? ALL
  const [{ data: all }, counted] = await Promise.all([
    service.webhooks.list({ projectId, limit }),
    readCounts(service, projectId, '24h'),
  ])
  // A customer has no API key and no catcher.
  const isPortal = c.get('portal') !== undefined
  const hasCatcher = catcher !== undefined && !isPortal
  const { now } = counted
  const shownIn = ({ matches }: Shown) => all.filter((webhook) => matches(webhook, now))
  return listPage(c, {
    title: 'Webhooks',
    section: 'Webhooks',
    problem: draft?.problem,
    action: hasCatcher && <a href={`${BASE}/catcher`}>Catcher, a receiver for tests</a>,
    every: 5_000,
    tabs: all.length > 0 && (
      <Tabs
        label="Webhooks shown"
        tabs={SHOWN.map((one) => [
          `${one.text} ${shownIn(one).length}`,
          `${BASE}/webhooks?show=${one.name}`,
          one === asked,
        ])}
      />
    ),
    page: badFirst(shownIn(asked), (webhook) => BAD.matches(webhook, now), { limit }),
    columns: columnsFor(counted),
    empty:
      all.length > 0 ? (
        <p class="muted">No webhook matches.</p>
      ) : (
        <NoWebhooks hasCatcher={hasCatcher} hasApi={!isPortal} />
      ),
    aside: can(c, 'webhooks.create') && (
      <Card id="create" title="Register a webhook">
        <WebhookForm action={`${BASE}/webhooks`} draft={draft ?? NEW_WEBHOOK} button="Register" />
      </Card>
    ),
  })
}

function columnsFor(counted: Counted): Columns<ReadWebhook> {
  const numbers = numbersOf(counted, '24h')
  return {
    Webhook: (webhook) => (
      <>
        <WebhookName webhook={webhook} />
        <div class="muted small">
          {webhook.events.includes('*') ? 'all events' : webhook.events.join(', ')}
        </div>
      </>
    ),
    Health: (webhook) => {
      const { reason, ...label } = healthOf(webhook, counted.now)
      return (
        <>
          <Status {...label} />
          {reason !== undefined && <div class="muted small">{reason}</div>}
        </>
      )
    },
    'Attempts in 24 h': ({ id: webhook, health: { lastSuccessAt }, lastFailure }) => {
      const { good, bad } = numbers.ofWebhook(webhook)
      const from = counted.since
      return (
        <>
          <a href={deliveriesPath({ webhook, answer: '2xx', from })}>{sumOf(good)} accepted</a>,{' '}
          <a href={deliveriesPath({ webhook, answer: 'failed', from })}>{sumOf(bad)} failed</a>
          {lastSuccessAt !== undefined && (
            <div class="muted small">
              last accepted <Time at={lastSuccessAt} />
            </div>
          )}
          {lastFailure && (
            <div class="muted small">
              last failed <Time at={lastFailure.startedAt} />:{' '}
              {outcomeLabel(lastFailure.outcome).text}
            </div>
          )}
        </>
      )
    },
  }
}

type NoWebhooksProps = { readonly hasCatcher: boolean; readonly hasApi: boolean }

const NoWebhooks = ({ hasCatcher, hasApi }: NoWebhooksProps) => (
  <Empty title="No webhooks yet">
    <p>
      A webhook sends signed events to your URL, such as each answer of an agent. Failed deliveries
      are retried.
    </p>
    {hasCatcher ? (
      <p>
        No receiver yet? <a href={`${BASE}/catcher`}>Use the catcher</a>, a built-in receiver that
        shows each request.
      </p>
    ) : null}
    {hasApi && (
      <CurlCommand path="webhooks" body={{ url: 'https://example.com/hooks', events: ['*'] }} />
    )}
  </Empty>
)
