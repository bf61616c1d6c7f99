import { Card } from '../parts/parts.js'
import { EVENT_NAMES, type WebhookSettings } from '@org/agent-messaging-core'
import { eventSummaries, sampleEvent } from '@org/agent-messaging-core/host'
import {
  subscriptionsFor,
  type EventType,
  type ListedEventType,
} from '@org/agent-messaging-core/storage'
import type { MiddlewareHandler } from 'hono'
import { type ConsoleDeps, type Env, type PageRequest, BASE } from '../context.js'
import { projectIn, textIn, type Form } from '../parts/input.js'
import { useView } from '../parts/zone.js'
import { JsonView } from '../parts/json-view.js'
import { show, showProblem } from '../parts/layout.js'
import { Verification } from './verification.js'

type Subscribed = WebhookSettings['events']

/** Reads the catalogue for the pages of webhooks, as far as the session sees it. */
export const readEventTypes =
  ({ service, portal }: ConsoleDeps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const found = await service.eventTypes.list({ projectId: projectIn(c) })
    const isSeen = ({ definedBy, name, visible }: ListedEventType) =>
      definedBy === 'service' ? portal.events?.some((one) => one === name) !== false : visible
    const seen = c.get('portal') ? found.data.filter(isSeen) : found.data
    c.set('eventTypes', seen)
    c.set('subscriptions', subscriptionsTo(seen, found.data))
    return next()
  }

/** Returns the names of types, and each group whose types are all seen. */
function subscriptionsTo(seen: readonly ListedEventType[], all: readonly ListedEventType[]) {
  const names = seen.map(({ name }) => name)
  const published = seen.filter(({ definedBy }) => definedBy !== 'service')
  const groups = new Set(['*', ...published.flatMap(({ name }) => groupsOf(name))])
  const isWhole = (group: string) =>
    all.every(({ name }) => names.includes(name) || !subscriptionsFor(name).includes(group))
  return [...[...groups].filter(isWhole), ...names]
}

const groupsOf = (name: string) => subscriptionsFor(name).slice(2)

/** The checkboxes of events, with their texts. */
export const eventChoices = (c: PageRequest) =>
  c.get('subscriptions').map((name) => [name, <Choice name={name} />] as const)

function Choice({ name }: { readonly name: string }) {
  const type = useView()
    .c.get('eventTypes')
    .find((one) => one.name === name)
  if (name === '*') return 'All events, including future ones'
  if (!type)
    return (
      <>
        <code>{name}</code> including future ones
      </>
    )
  return (
    <>
      <code>{name}</code> <Marks type={type} />
      {type.definedBy !== 'service' && <span class="muted">{type.description}</span>}
    </>
  )
}

const Marks = ({ type }: { readonly type: Pick<EventType, 'group' | 'deprecated'> }) => (
  <>
    {type.group !== undefined && `${type.group} `}
    {type.deprecated && <span class="status warn">deprecated</span>}
  </>
)

/** Returns the subscriptions that the session sees as checkboxes and has ticked. */
export function tickedEvents(c: PageRequest, events: readonly string[]): readonly string[] {
  const shown = c.get('subscriptions')
  const isTicked = (name: string) =>
    subscriptionsFor(name).some(
      (one) => events.includes(one) && (one === name || !shown.includes(one)),
    )
  return shown.filter((name) => events.includes(name) || isTicked(name))
}

/** Returns the subscriptions that have no checkbox, one per line. */
export const otherEvents = (c: PageRequest, events: readonly string[]) =>
  events.filter((name) => !c.get('subscriptions').includes(name)).join('\n')

export const eventsIn = (form: Form): readonly string[] => [
  ...[form['events'] ?? []].flat().map(String),
  ...textIn(form, 'otherEvents')
    .split(/[\s,]+/)
    .filter(Boolean),
]

/**
 * Returns the chosen events. A customer keeps the subscriptions that have no checkbox, unless one
 * of their events is no longer ticked.
 */
export function chosenEvents(c: PageRequest, chosen: readonly string[], before: Subscribed = []) {
  if (!c.get('portal')) return chosen
  const shown = c.get('subscriptions')
  const seen = shown.filter((name) => chosen.includes(name))
  const keeps = (wide: string) =>
    shown.every((name) => seen.includes(name) || !subscriptionsFor(name).includes(wide))
  const kept = before.filter((name) => !shown.includes(name) && keeps(name))
  const isCovered = (name: string) => subscriptionsFor(name).some((one) => kept.includes(one))
  return [...seen.filter((name) => !isCovered(name)), ...kept]
}

/** The events whose samples the session sees. */
const samplesFor = (c: PageRequest): readonly string[] => [
  'webhook.test',
  ...c.get('eventTypes').flatMap(({ name, hasExample }) => (hasExample ? [name] : [])),
]

/** Returns the event of a form, or undefined if the session does not see it. */
export const sampleIn = (c: PageRequest, form: Form) =>
  samplesFor(c).find((event) => event === form['event'])

/** Sends a test event that the reader chooses. */
export const TestForm = ({ webhookId }: { readonly webhookId: string }) => (
  <form method="post" action={`${BASE}/webhooks/${webhookId}/test`} class="buttons">
    <select name="event" aria-label="Event to send">
      {samplesFor(useView().c).map((event) => (
        <option>{event}</option>
      ))}
    </select>
    <button class="primary">Send test event</button>
  </form>
)

const OWN = ['webhook.test', ...EVENT_NAMES] as const

/** Shows what receivers get, and how they check it. */
export const eventsPage = (c: PageRequest) =>
  show(
    c,
    { title: 'Events', section: 'Webhooks', crumb: 'events' },
    <>
      <h1>Events</h1>
      <Card class="card stack" id="bodies" title="Samples of each body">
        {OWN.filter((name) => samplesFor(c).includes(name)).map((name) => (
          <details>
            <summary>
              <code>{name}</code> {eventSummaries[name]}
            </summary>
            <JsonView text={JSON.stringify(sampleEvent(name))} what="body" />
          </details>
        ))}
        {c.get('eventTypes').map(
          (type) =>
            type.definedBy !== 'service' && (
              <p>
                <a href={`${BASE}/webhooks/events/${encodeURIComponent(type.name)}`}>
                  <code>{type.name}</code>
                </a>{' '}
                <Marks type={type} /> {type.description}
              </p>
            ),
        )}
      </Card>
      <Card class="card stack" id="verify" title="Verify a request">
        <Verification />
      </Card>
    </>,
  )

/** Shows an event type with its schema, and the body of its example. */
export async function eventPage(c: PageRequest, { service }: ConsoleDeps) {
  const name = c.req.param('name') ?? ''
  if (!c.get('eventTypes').some((type) => type.name === name))
    return showProblem(c, 404, 'No such event type')
  const type = await service.eventTypes.get({ projectId: projectIn(c), name })
  return show(
    c,
    { title: name, section: 'Webhooks', crumb: <a href={`${BASE}/webhooks/events`}>events</a> },
    <>
      <h1>
        <code>{name}</code> <Marks type={type} />
      </h1>
      <section class="card stack">
        {type.description !== undefined && <p>{type.description}</p>}
        {type.example && (
          <JsonView
            text={JSON.stringify({
              ...sampleEvent('webhook.test'),
              event: name,
              data: type.example,
            })}
            what="body"
          />
        )}
        {type.schema && <JsonView text={JSON.stringify(type.schema)} what="schema" />}
      </section>
    </>,
  )
}
