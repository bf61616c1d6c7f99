import {
  EVENT_NAMES,
  type EventName,
  type SubscribableEvent,
  type WebhookSettings,
} from '@org/agent-messaging-core'
import { eventSummaries, sampleEvent } from '@org/agent-messaging-core/host'
import type { PageRequest } from '../context.js'
import { BASE } from '../options.js'
import type { Form } from '../parts/input.js'
import { useView } from '../parts/zone.js'
import { JsonView } from '../parts/json-view.js'
import { show } from '../parts/layout.js'
import { Verification } from './verification.js'

type Subscribed = WebhookSettings['events']

/** Undefined if the session sees all events. */
const chosenByPlatform = (c: PageRequest): readonly SubscribableEvent[] | undefined =>
  c.get('portalEvents')

/** The checkboxes of events, with their texts. */
export const eventChoices = (c: PageRequest) =>
  (chosenByPlatform(c) ?? (['*', ...EVENT_NAMES] as const)).map(
    (event) =>
      [event, event === '*' ? 'All events, including future ones' : <code>{event}</code>] as const,
  )

/** Returns the events whose checkboxes are ticked. */
export function tickedEvents(c: PageRequest, events: readonly string[]): readonly string[] {
  const shown: readonly string[] = chosenByPlatform(c) ?? events
  return events.includes('*') ? shown : shown.filter((event) => events.includes(event))
}

/** Returns the events that a customer chose, with those of `before` that the customer cannot see. */
export function chosenEvents(
  c: PageRequest,
  chosen: readonly string[],
  before: Subscribed = [],
): Subscribed {
  const shown = chosenByPlatform(c)
  if (shown === undefined) return chosen
  const seen = shown.filter((event) => chosen.includes(event))
  if (before.includes('*') && seen.length === shown.length) return before
  const isHidden = (event: string) => event !== '*' && !shown.some((one) => one === event)
  return [...seen, ...before.filter(isHidden)]
}

/** The events whose samples the session sees. */
const samplesFor = (c: PageRequest): readonly EventName[] => [
  'webhook.test',
  ...(chosenByPlatform(c) ?? EVENT_NAMES),
]

/** Returns the event of a form, or undefined if the session does not see it. */
export const sampleIn = (c: PageRequest, form: Form): EventName | undefined =>
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

/** Shows what receivers get, and how they check it. */
export function eventsPage(c: PageRequest): Promise<Response> {
  const events = samplesFor(c)
  return show(
    c,
    { title: 'Events', section: 'Webhooks' },
    <>
      <p class="crumbs">
        <a href={`${BASE}/webhooks`}>Webhooks</a> / events
      </p>
      <h1>Events</h1>
      <section class="card stack" aria-labelledby="bodies">
        <h2 id="bodies">Samples of each body</h2>
        {events.map((event) => (
          <details>
            <summary>
              <code>{event}</code> {eventSummaries[event]}
            </summary>
            <JsonView text={JSON.stringify(sampleEvent(event))} what="body" />
          </details>
        ))}
      </section>
      <section class="card stack" aria-labelledby="verify">
        <h2 id="verify">Verify a request</h2>
        <Verification />
      </section>
    </>,
  )
}
