import type { WebhookDelivery } from '@org/agent-messaging-core'
import { orUndefined, circuitAt } from '@org/agent-messaging-core/host'
import type { PageOf } from '@org/agent-messaging-core/storage'
import { DeliveryPage } from './delivery-page.js'
import { deliveryColumns, detailsOf, listHeld, mergePages } from './delivery-table.js'
import {
  ANSWER_CHOICES,
  deliveryFilter,
  filterFields,
  filtersOf,
  type ListFilter,
  listFilterIn,
  recoverPath,
} from '../parts/filter.js'
import { FilterForm, Periods } from '../parts/fields.js'
import { byActor, can, deliveryRef, pageOf, projectIn, shownTo } from '../parts/input.js'
import { goTo, show, need } from '../parts/layout.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { Empty, listPage } from '../parts/table.js'
import { sessionsPath } from '../messages/message-table.js'
import { useView, zoneOf } from '../parts/zone.js'

const MAX_WEBHOOKS = 100
/** The notice after each action. */
const NOTICES = { redeliver: 'redelivered', cancel: 'cancelled', skip: 'skipped' } as const

export const deliveryRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const maySee = need('deliveries.list')
  return newRoutes()
    .get('/deliveries', maySee, (c) => deliveriesPage(c, d))

    .get('/deliveries/:id', maySee, async (c) => {
      const found = await service.deliveries.story(deliveryRef(c))
      return show(
        c,
        {
          title: `Delivery of ${found.detail.delivery.event}`,
          section: 'Deliveries',
          crumb: 'delivery',
        },
        <DeliveryPage {...found} />,
      )
    })

    .post(
      '/deliveries/:id/:action{redeliver|cancel|skip}',
      need('deliveries.redeliver'),
      async (c) => {
        const ref = deliveryRef(c)
        const action = c.req.param('action') as keyof typeof NOTICES
        const delivery = await service.deliveries[action](byActor(c, ref))
        const isLater = action === 'redeliver' && (await isBackingOff(service, delivery))
        const notice = isLater ? 'redeliveredBackingOff' : NOTICES[action]
        return goTo(c, `/deliveries/${ref.deliveryId}?notice=${notice}`)
      },
    )
}

async function isBackingOff(
  service: ConsoleDeps['service'],
  { projectId, webhookId }: WebhookDelivery,
) {
  const webhook = await orUndefined(service.webhooks.get({ projectId, webhookId }))
  return webhook !== undefined && circuitAt(webhook.health, service.host.now()) !== 'closed'
}

async function deliveriesPage(c: PageRequest, { service }: ConsoleDeps) {
  const projectId = projectIn(c)
  const filter = listFilterIn(c.req.query(), zoneOf(c))
  const { data: webhooks } = await service.webhooks.list({ projectId, limit: MAX_WEBHOOKS })
  const list = filter.held
    ? listHeld(service, projectId, webhooks, pageOf(c))
    : listMatches(service, shownTo(c), filter, pageOf(c))
  const { data, nextCursor } = await list
  const page = { data: await detailsOf(service, data), nextCursor }
  return listPage(c, {
    title: 'Deliveries',
    section: 'Deliveries',
    heading: filter.held ? 'Held deliveries' : 'Deliveries',
    action: can(c, 'recoveries.start') &&
      !filter.held &&
      filter.message === undefined &&
      filter.answer !== 'failed' &&
      page.data.length > 0 && (
        <a
          class="button"
          href={recoverPath(filter)}
          title={`Counts the ${filter.status ?? 'exhausted'} matches before it sends them again`}
        >
          Recover matches
        </a>
      ),
    before: filter.held ? (
      <p class="muted">
        Pending deliveries of webhooks that are disabled, paused or backing off.{' '}
        <a href={`${BASE}/deliveries`}>Show all deliveries</a>
      </p>
    ) : (
      <>
        <FilterForm
          path={`${BASE}/deliveries`}
          fields={{
            message: filter.message !== undefined && { label: 'Message ID' },
            ...filterFields(webhooks, [...ANSWER_CHOICES, ['failed', 'all except 2xx']]),
          }}
          values={filter}
        />
        <Periods />
      </>
    ),
    every: 4_000,
    page,
    columns: deliveryColumns(webhooks),
    empty: Object.values(filter).some(Boolean) ? <NoMatch /> : <NoDeliveries />,
  })
}

/** Lists the deliveries that match, newest first. */
async function listMatches(
  { deliveries }: ConsoleDeps['service'],
  shown: ReturnType<typeof shownTo>,
  filter: ListFilter,
  page: PageOf,
) {
  const lists = filtersOf(filter).map((one) =>
    deliveries.list({ ...shown, ...deliveryFilter(one), ...page }),
  )
  return mergePages(await Promise.all(lists), page.limit)
}

const NoMatch = () => (
  <Empty title="No delivery matches">
    <p>
      The filter looks at the last answer of each delivery. A delivery that failed and was accepted
      later has an accepted answer.
    </p>
    <p>
      Change the filter, or <a href={`${BASE}/deliveries`}>show all deliveries</a>.
    </p>
  </Empty>
)

const NoDeliveries = () => (
  <Empty title="No deliveries yet">
    <p>
      Each event creates one delivery for every subscribed webhook.{' '}
      <a href={`${BASE}/webhooks`}>Register a webhook</a>, then{' '}
      {can(useView().c, 'messages.list') ? (
        <a href={sessionsPath()}>send a message</a>
      ) : (
        'send a message'
      )}
      .
    </p>
  </Empty>
)
