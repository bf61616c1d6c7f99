import type {
  DeliveryDetail,
  Instant,
  Page,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { DeliveryPage } from './delivery-page.js'
import { DeliveryTable, detailsOf } from './delivery-table.js'
import {
  ANSWERS,
  deliveryFilter,
  EVENTS,
  fieldsOf,
  fieldTime,
  filterIn,
  STATUSES,
  type Filter,
} from './filter.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { Empty, Next, pathOf, refreshed } from './parts.js'
import { idIn, pageOf } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { need } from './sign-in.js'

const WEBHOOKS = 100

export const deliveryRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const mayManage = need('project:webhooks')
  const refIn = (c: Context<Env>) => ({
    projectId: c.get('apiKey').projectId,
    deliveryId: idIn(c.req.param('id') ?? ''),
  })
  return new Hono<Env>()
    .get(`${BASE}/deliveries`, mayManage, (c) => listPage(c, d))

    .get(`${BASE}/deliveries/:id`, mayManage, async (c) => {
      const ref = refIn(c)
      const found = await safeTry(async function* () {
        const detail = yield* service.deliveries.get(ref)
        // It may be deleted: what it was sent stays on record.
        const webhook = await service.webhooks.get({
          projectId: ref.projectId,
          webhookId: detail.delivery.webhookId,
        })
        return ok({ detail, webhook: webhook.unwrapOr(undefined) })
      })
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      const title = `Delivery of ${found.value.detail.delivery.event}`
      return show(
        c,
        { title, section: 'Deliveries' },
        <DeliveryPage {...found.value} now={service.now()} path={pathOf(c)} />,
      )
    })

    .post(`${BASE}/deliveries/:id/:action{redeliver|cancel}`, mayManage, async (c) => {
      const ref = refIn(c)
      const action = c.req.param('action')
      const done = await (action === 'cancel'
        ? service.deliveries.cancel(ref)
        : service.deliveries.redeliver(ref))
      if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
      return c.redirect(
        `${BASE}/deliveries/${ref.deliveryId}?notice=${action === 'cancel' ? 'cancelled' : 'redelivered'}`,
        303,
      )
    })
}

async function listPage(c: Context<Env>, { service }: ConsoleDeps) {
  const { projectId } = c.get('apiKey')
  const filter = filterIn(c.req.query())
  const found = await safeTry(async function* () {
    const page = yield* service.deliveries.list(deliveryFilter(projectId, filter), pageOf(c))
    const details = yield* detailsOf(service, page.data)
    const webhooks = yield* service.webhooks.list(projectId, { limit: WEBHOOKS })
    return ok({ page, details, webhooks: webhooks.data })
  })
  if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
  const { page, details, webhooks } = found.value
  return show(
    c,
    { title: 'Deliveries', section: 'Deliveries' },
    <>
      <h1>Deliveries</h1>
      <Filters filter={filter} webhooks={webhooks} />
      <div {...refreshed('live', 4_000, pathOf(c))}>
        <Found
          details={details}
          webhooks={webhooks}
          now={service.now()}
          page={page}
          isFiltered={Object.values(filter).some(Boolean)}
        />
        <Next c={c} cursor={page.nextCursor} />
      </div>
      {filter.webhook !== undefined && page.data.length > 0 && (
        <RecoverAll filter={filter} webhook={filter.webhook} />
      )}
    </>,
  )
}

/** A form that changes the address alone: what it finds can be bookmarked and sent to others. */
function Filters({
  filter,
  webhooks,
}: {
  readonly filter: Filter
  readonly webhooks: readonly Webhook[]
}) {
  const pick = (
    name: keyof Filter,
    label: string,
    options: readonly (readonly [value: string, words: string])[],
  ) => (
    <div>
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">any</option>
        {options.map(([value, words]) => (
          <option value={value} selected={filter[name] === value}>
            {words}
          </option>
        ))}
      </select>
    </div>
  )
  const same = (values: readonly string[]) => values.map((value) => [value, value] as const)
  return (
    <form method="get" action={`${BASE}/deliveries`} class="filters card">
      {pick('status', 'Status', same(STATUSES))}
      {pick(
        'webhook',
        'Webhook',
        webhooks.map(({ id, url }) => [id, url] as const),
      )}
      {pick('event', 'Event', same(EVENTS))}
      {pick(
        'answer',
        'Last answer',
        ANSWERS.map((answer) => [answer, answer === 'none' ? 'not reached' : answer] as const),
      )}
      <div>
        <label for="from">From (UTC)</label>
        <input id="from" name="from" type="datetime-local" value={fieldTime(filter.from)} />
      </div>
      <div>
        <label for="to">To (UTC)</label>
        <input id="to" name="to" type="datetime-local" value={fieldTime(filter.to)} />
      </div>
      <p class="buttons">
        <button class="primary">Filter</button>
        <a href={`${BASE}/deliveries`}>Clear</a>
      </p>
    </form>
  )
}

type FoundProps = {
  readonly details: readonly DeliveryDetail[]
  readonly webhooks: readonly Webhook[]
  readonly now: Instant
  readonly page: Page<WebhookDelivery>
  readonly isFiltered: boolean
}

function Found({ details, webhooks, now, page, isFiltered }: FoundProps) {
  if (details.length === 0 && page.nextCursor !== null)
    return <p class="muted">Nothing among the newest of them: go on with the older ones.</p>
  if (details.length === 0) {
    return isFiltered ? (
      <Empty title="No delivery matches">
        <p>
          Widen the filter, or <a href={`${BASE}/deliveries`}>see all of them</a>.
        </p>
      </Empty>
    ) : (
      <Empty title="No deliveries yet">
        <p>
          Each event makes one for every webhook that is subscribed to it.{' '}
          <a href={`${BASE}/webhooks`}>Register a webhook</a>, then{' '}
          <a href={`${BASE}/sessions`}>send a message</a>.
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

const RecoverAll = ({ filter, webhook }: { readonly filter: Filter; readonly webhook: string }) => (
  <p class="card buttons">
    <a
      class="button"
      href={`${BASE}/webhooks/${webhook}/recover?${new URLSearchParams(fieldsOf({ ...filter, webhook: undefined })).toString()}`}
    >
      Recover what matches
    </a>
    <span class="muted">
      Says first how many are {filter.status ?? 'exhausted'}, then sends them again.
    </span>
  </p>
)
