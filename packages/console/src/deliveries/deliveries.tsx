import { circuitAt } from '@org/agent-messaging-core'
import type {
  DeliveryDetail,
  Instant,
  Page,
  PageOf,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, ResultAsync, safeTry } from 'neverthrow'
import { DeliveryPage } from './delivery-page.js'
import { DeliveryTable, detailsOf } from './delivery-table.js'
import {
  ANSWERS,
  deliveryFilter,
  EVENTS,
  fieldsOf,
  filtersOf,
  listFilterIn,
  STATUSES,
  type ListFilter,
} from '../parts/filter.js'
import { FilterFields, Periods } from '../parts/filter-fields.js'
import { listHeld, mergePages } from '../webhooks/held.js'
import { deliveryRef, pageOf, byActor } from '../parts/input.js'
import { show, showError } from '../parts/layout.js'
import type { ConsoleDeps, Env } from '../context.js'
import { BASE } from '../options.js'
import { Empty, Next, pathOf, refreshed } from '../parts/parts.js'
import { need } from '../access/sign-in.js'
import { webhookLabel } from '../webhooks/webhook-name.js'
import { zoneOf } from '../parts/zone.js'

const MAX_WEBHOOKS = 100
/** The notice after each action. */
const NOTICES = { redeliver: 'redelivered', cancel: 'cancelled', skip: 'skipped' } as const

export const deliveryRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const mayManage = need('project:webhooks')
  return new Hono<Env>()
    .get(`${BASE}/deliveries`, mayManage, (c) => listPage(c, d))

    .get(`${BASE}/deliveries/:id`, mayManage, async (c) => {
      const ref = deliveryRef(c)
      const found = await safeTry(async function* () {
        const detail = yield* service.deliveries.get(ref)
        // The deliveries of a deleted webhook stay on record.
        const webhook = await service.webhooks.get({
          projectId: ref.projectId,
          webhookId: detail.delivery.webhookId,
        })
        return ok({ detail, webhook: webhook.unwrapOr(undefined) })
      })
      if (found.isErr()) return showError(c, found.error)
      const title = `Delivery of ${found.value.detail.delivery.event}`
      return show(
        c,
        { title, section: 'Deliveries' },
        <DeliveryPage
          {...found.value}
          canOpen={canOpenMessages(c)}
          now={service.now()}
          path={pathOf(c)}
        />,
      )
    })

    .post(`${BASE}/deliveries/:id/:action{redeliver|cancel|skip}`, mayManage, async (c) => {
      const ref = deliveryRef(c)
      const action = c.req.param('action') as keyof typeof NOTICES
      const done = await service.deliveries[action](byActor(c, ref))
      if (done.isErr()) return showError(c, done.error)
      const isLater = action === 'redeliver' && (await isBackingOff(service, done.value))
      const notice = isLater ? 'redeliveredBackingOff' : NOTICES[action]
      return c.redirect(`${BASE}/deliveries/${ref.deliveryId}?notice=${notice}`, 303)
    })
}

async function isBackingOff(
  service: ConsoleDeps['service'],
  { projectId, webhookId }: WebhookDelivery,
): Promise<boolean> {
  const webhook = await service.webhooks.get({ projectId, webhookId })
  return webhook.isOk() && circuitAt(webhook.value.health, service.now()) !== 'closed'
}

const canOpenMessages = (c: Context<Env>): boolean =>
  c.get('apiKey').permissions.includes('project:message')

async function listPage(c: Context<Env>, { service }: ConsoleDeps) {
  const { projectId } = c.get('apiKey')
  const filter = listFilterIn(c.req.query(), zoneOf(c))
  const found = await safeTry(async function* () {
    const { data: webhooks } = yield* service.webhooks.list(projectId, { limit: MAX_WEBHOOKS })
    const page = yield* filter.held
      ? listHeld(service, projectId, webhooks, pageOf(c))
      : listMatches(service, projectId, filter, pageOf(c))
    const details = yield* detailsOf(service, page.data)
    return ok({ page, details, webhooks })
  })
  if (found.isErr()) return showError(c, found.error)
  const { page, details, webhooks } = found.value
  return show(
    c,
    { title: 'Deliveries', section: 'Deliveries' },
    <>
      <h1>{filter.held ? 'Held deliveries' : 'Deliveries'}</h1>
      {filter.held ? (
        <p class="muted">
          Pending deliveries of webhooks that are disabled, paused or backing off.{' '}
          <a href={`${BASE}/deliveries`}>Show all deliveries</a>
        </p>
      ) : (
        <>
          <Filters filter={filter} webhooks={webhooks} />
          <Periods c={c} now={service.now()} />
        </>
      )}
      <div {...refreshed('live', 4_000, pathOf(c))}>
        <DeliveryList
          details={details}
          webhooks={webhooks}
          now={service.now()}
          page={page}
          canSend={canOpenMessages(c)}
          isFiltered={Object.values(filter).some(Boolean)}
        />
        <Next c={c} cursor={page.nextCursor} />
      </div>
      {!filter.held &&
        filter.message === undefined &&
        filter.answer !== 'failed' &&
        page.data.length > 0 && <RecoverMatches filter={filter} />}
    </>,
  )
}

/** Lists the deliveries that match, newest first. */
const listMatches = (
  { deliveries }: ConsoleDeps['service'],
  projectId: string,
  filter: ListFilter,
  page: PageOf,
) =>
  ResultAsync.combine(
    filtersOf(filter).map((one) => deliveries.list(deliveryFilter(projectId, one), page)),
  ).map((pages) => mergePages(pages, page.limit))

/** The filter is part of the address, so that a reader can bookmark and share the result. */
function Filters({
  filter,
  webhooks,
}: {
  readonly filter: ListFilter
  readonly webhooks: readonly Webhook[]
}) {
  const same = (values: readonly string[]) => values.map((value) => [value, value] as const)
  return (
    <form method="get" action={`${BASE}/deliveries`} class="filters card">
      {filter.message !== undefined && (
        <div>
          <label for="message">Message ID</label>
          <input id="message" name="message" value={filter.message} />
        </div>
      )}
      <FilterFields
        filter={filter}
        choices={{
          status: same(STATUSES),
          webhook: webhooks.map((webhook) => [webhook.id, webhookLabel(webhook)]),
          event: same(EVENTS),
          answer: [
            ...ANSWERS.map(
              (answer) => [answer, answer === 'none' ? 'unreachable' : answer] as const,
            ),
            ['failed', 'all except 2xx'],
          ],
        }}
      />
      <p class="buttons">
        <button class="primary">Filter</button>
        <a href={`${BASE}/deliveries`}>Clear</a>
      </p>
    </form>
  )
}

type DeliveryListProps = {
  readonly details: readonly DeliveryDetail[]
  readonly webhooks: readonly Webhook[]
  readonly now: Instant
  readonly page: Page<WebhookDelivery>
  readonly canSend: boolean
  readonly isFiltered: boolean
}

function DeliveryList({ details, webhooks, now, page, canSend, isFiltered }: DeliveryListProps) {
  if (details.length === 0 && page.nextCursor !== null)
    return <p class="muted">No matches among the newest deliveries. Continue with older ones.</p>
  if (details.length === 0) {
    return isFiltered ? (
      <Empty title="No delivery matches">
        <p>
          The filter looks at the last answer of each delivery. A delivery that failed and was
          accepted later has an accepted answer.
        </p>
        <p>
          Change the filter, or <a href={`${BASE}/deliveries`}>show all deliveries</a>.
        </p>
      </Empty>
    ) : (
      <Empty title="No deliveries yet">
        <p>
          Each event creates one delivery for every subscribed webhook.{' '}
          <a href={`${BASE}/webhooks`}>Register a webhook</a>, then{' '}
          {canSend ? <a href={`${BASE}/sessions`}>send a message</a> : 'send a message'}.
        </p>
      </Empty>
    )
  }
  return (
    <div class="scroll card flush" role="region" aria-label="Deliveries" tabindex={0}>
      <DeliveryTable details={details} webhooks={webhooks} now={now} showsWebhook />
    </div>
  )
}

const RecoverMatches = ({ filter }: { readonly filter: ListFilter }) => (
  <p class="card buttons">
    <a class="button" href={`${BASE}/recover?${new URLSearchParams(fieldsOf(filter)).toString()}`}>
      Recover matches
    </a>
    <span class="muted">
      Shows how many {filter.status ?? 'exhausted'} deliveries match before it sends them again.
    </span>
  </p>
)
