import { subscriptionRule } from '@org/agent-messaging-core/host'
import { isStorableText } from '@org/agent-messaging-core/runtime'
import { subscribesTo, type ListedEvent } from '@org/agent-messaging-core/storage'
import { z } from 'zod'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { deliveryColumns, detailsOf } from '../deliveries/delivery-table.js'
import { FilterForm, Periods, TIME_RANGE } from '../parts/fields.js'
import { optional, timeRange } from '../parts/filter.js'
import { pageOf, shownTo } from '../parts/input.js'
import { JsonView } from '../parts/json-view.js'
import { show, showProblem, need } from '../parts/layout.js'
import { Facts, FullTime, Status, WholeId, Card } from '../parts/parts.js'
import { StoryText } from '../parts/story.js'
import { type Columns, Empty, listPage, TableSection } from '../parts/table.js'
import { zoneOf } from '../parts/zone.js'

export const eventPath = (id: string) => `${BASE}/events/${encodeURIComponent(id)}`

/** The stored events, and the page that says why a webhook did not get one. */
export const eventRoutes = (d: ConsoleDeps) =>
  newRoutes()
    .get('/events', need('events.list'), (c) => eventsPage(c, d))
    .get('/events/:id', need('events.story'), (c) => eventPage(c, d))

/** A customer sees the events that its webhooks could get. */
const seenTypes = (c: PageRequest): readonly string[] | undefined =>
  c.get('portal') && c.get('subscriptions')

const filterSchema = (zone: string) =>
  z.object({
    type: optional(z.string().refine((type) => subscriptionRule(type) === undefined)),
    published: optional(z.literal('yes')),
    ...timeRange(zone),
    cursor: optional(z.string().regex(/^[ps]\d{1,15}$/)),
  })

async function eventsPage(c: PageRequest, { service }: ConsoleDeps) {
  const { cursor, ...filter } = filterSchema(zoneOf(c)).parse(c.req.query())
  const page = await service.events.list({
    ...shownTo(c),
    limit: pageOf(c).limit,
    cursor,
    types: typesOf(filter.type, seenTypes(c)),
    published: filter.published && true,
    createdAfter: filter.from,
    createdBefore: filter.to,
  })
  return listPage(c, {
    title: 'Events',
    section: 'Events',
    before: (
      <>
        <FilterForm
          path={`${BASE}/events`}
          fields={{
            type: { label: 'Type or group', placeholder: 'order.*' },
            published: { label: 'only published events', check: 'yes' },
            ...TIME_RANGE,
          }}
          values={filter}
        />
        <Periods />
      </>
    ),
    page,
    columns: COLUMNS,
    empty: (
      <Empty title={Object.values(filter).some(Boolean) ? 'No event matches' : 'No events yet'}>
        <p>Events stand here whether a webhook got them or not.</p>
      </Empty>
    ),
  })
}

/** Returns what both choose. */
const typesOf = (type: string | undefined, seen: readonly string[] | undefined) =>
  type === undefined || seen === undefined
    ? (seen ?? (type === undefined ? undefined : [type]))
    : [
        ...(subscribesTo(seen, type) ? [type] : []),
        ...seen.filter((one) => subscribesTo([type], one)),
      ]

const COLUMNS: Columns<ListedEvent> = {
  Event: ({ id, name }) => (
    <a href={eventPath(id)}>
      <code>{name}</code>
    </a>
  ),
  Webhooks: ({ hasDeliveries }) =>
    hasDeliveries ? 'delivery stored' : <Status tone="idle" text="no delivery" />,
  Created: { at: ({ createdAt }) => createdAt },
  ID: { class: 'any', cell: ({ id }) => id },
}

async function eventPage(c: PageRequest, { service }: ConsoleDeps) {
  const asked = c.req.param('id') ?? ''
  const eventId = isStorableText(asked) ? asked : ''
  const story = await service.events.story({ ...shownTo(c), eventId })
  const seen = seenTypes(c)
  const { id, name, body, createdAt } = story.event
  if (seen && !subscribesTo(seen, name)) return showProblem(c, 404, 'No such event')
  const deliveries = story.receivers.deliveries.map(({ delivery }) => delivery)
  const sent = await detailsOf(service, deliveries)
  return show(
    c,
    { title: `Event ${name}`, section: 'Events', crumb: 'event' },
    <>
      <h1>
        <code>{name}</code>
      </h1>
      <div class="halves">
        <div>
          <StoryText story={story.story} />
          <Facts
            facts={{ Created: <FullTime at={createdAt} />, 'Event ID': <WholeId id={id} /> }}
          />
          <TableSection
            id="deliveries"
            title="Deliveries"
            rows={sent}
            columns={deliveryColumns(story.receivers.webhooks)}
            empty={<p class="muted">No webhook has a delivery of this event.</p>}
          />
        </div>
        <Card id="body" title="Body">
          <JsonView text={body} what="body" />
        </Card>
      </div>
    </>,
  )
}
