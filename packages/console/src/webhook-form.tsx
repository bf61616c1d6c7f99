import { EVENT_NAMES, type Webhook, type WebhookSettings } from '@org/agent-messaging-core'
import type { Ordering } from '@org/agent-messaging-core/runtime'
import type { Child } from 'hono/jsx'
import { textIn, type Form } from './input.js'
import { Problem } from './parts.js'
import { WebhookFilterFields, NO_FILTER, type FilterTexts } from './webhook-filter-form.js'

type Fields = FilterTexts & {
  /** True if the form has the fields of a filter. */
  readonly hasFilter: boolean
  readonly url: string
  readonly description: string
  readonly events: readonly string[]
  readonly disableOnGone: boolean
  readonly ordering: Ordering
  /** Texts of the form. An empty text clears the setting. */
  readonly maxConcurrency: string
  readonly requestsPerSecond: string
  readonly timeoutMs: string
  readonly retrySchedule: string
}

/** The contents of the form, and the reason if they were refused. */
export type WebhookDraft = Fields & {
  readonly problem?: string
  /** The webhook has custom headers, which a URL on another origin does not keep. */
  readonly hasHeaders?: boolean
}

export const NEW_WEBHOOK: WebhookDraft = {
  url: '',
  description: '',
  events: ['*'],
  disableOnGone: false,
  ordering: 'none',
  hasFilter: true,
  ...NO_FILTER,
  ...sendingTexts({}),
}

export function fieldsIn(form: Form): Fields {
  const text = (name: string): string => textIn(form, name).trim()
  const events = [form['events'] ?? []].flat().map(String)
  return {
    url: text('url'),
    description: text('description'),
    events,
    disableOnGone: text('disableOnGone') === 'yes',
    ordering: text('ordering') === 'session' ? 'session' : 'none',
    hasFilter: 'filterMetadata' in form,
    filterAgent: text('filterAgent'),
    filterSessions: textIn(form, 'filterSessions'),
    filterMetadata: textIn(form, 'filterMetadata'),
    maxConcurrency: text('maxConcurrency'),
    requestsPerSecond: text('requestsPerSecond'),
    timeoutMs: text('timeoutMs'),
    retrySchedule: text('retrySchedule'),
  }
}

/** The text of an empty retry schedule. An empty text clears the setting. */
const NO_RETRIES = 'none'

/** The texts of the form for these settings. */
export function sendingTexts(settings: NonNullable<Webhook['sending']>) {
  const { maxConcurrency = '', requestsPerSecond = '', timeoutMs = '', retrySchedule } = settings
  return {
    maxConcurrency: String(maxConcurrency),
    requestsPerSecond: String(requestsPerSecond),
    timeoutMs: String(timeoutMs),
    retrySchedule: retrySchedule?.length === 0 ? NO_RETRIES : (retrySchedule?.join(', ') ?? ''),
  }
}

/** `null` clears the setting. The service refuses a text that is no number. */
const numberIn = (text: string): number | null => (text === '' ? null : Number(text))

function delaysIn(text: string): number[] | null {
  if (text === '') return null
  return text === NO_RETRIES ? [] : text.split(',').map(Number)
}

/** The service checks the names of the events. */
export const settingsOf = ({
  url,
  description,
  events,
  disableOnGone,
  ordering,
  ...sending
}: Fields) => ({
  url,
  disableOnGone,
  ordering,
  maxConcurrency: numberIn(sending.maxConcurrency),
  requestsPerSecond: numberIn(sending.requestsPerSecond),
  timeoutMs: numberIn(sending.timeoutMs),
  retrySchedule: delaysIn(sending.retrySchedule),
  events: events as WebhookSettings['events'],
  description: description === '' ? null : description,
})

const SENDING_FIELDS = [
  {
    name: 'maxConcurrency',
    label: 'Most requests at a time',
    placeholder: 'adapts to the receiver',
  },
  {
    name: 'requestsPerSecond',
    label: 'Most requests per second',
    placeholder: 'adapts to the receiver',
  },
  { name: 'timeoutMs', label: 'Timeout in milliseconds', placeholder: 'the server’s setting' },
  {
    name: 'retrySchedule',
    label: 'Delays between attempts in milliseconds, or none',
    placeholder: '5000, 60000, 600000',
  },
] as const

type FormProps = {
  readonly action: string
  readonly draft: WebhookDraft
  readonly button: string
  /** Shown beside the button. */
  readonly children?: Child
}

export function WebhookForm({ action, draft, button, children }: FormProps) {
  return (
    <form method="post" action={action} class="stack">
      <Problem text={draft.problem} />
      <div>
        <label for="url">URL</label>
        <input
          id="url"
          name="url"
          type="url"
          required
          value={draft.url}
          placeholder="https://example.com/hooks"
        />
      </div>
      <div>
        <label for="description">
          Description <span class="muted">(optional)</span>
        </label>
        <input id="description" name="description" maxlength={500} value={draft.description} />
      </div>
      <fieldset>
        <legend>Events</legend>
        {['*', ...EVENT_NAMES].map((event) => (
          <label class="check">
            <input
              type="checkbox"
              name="events"
              value={event}
              checked={draft.events.includes(event)}
            />
            {event === '*' ? 'All events, including future ones' : <code>{event}</code>}
          </label>
        ))}
      </fieldset>
      <label class="check">
        <input type="checkbox" name="disableOnGone" value="yes" checked={draft.disableOnGone} />
        Disable this webhook if it answers 410 Gone
      </label>
      <label class="check">
        <input
          type="checkbox"
          name="ordering"
          value="session"
          checked={draft.ordering === 'session'}
        />
        Send the deliveries of each session in order
      </label>
      <WebhookFilterFields {...draft} />
      <details>
        <summary>Limits, timeout and retries</summary>
        <div class="stack">
          {SENDING_FIELDS.map(({ name, label, placeholder }) => (
            <div>
              <label for={name}>{label}</label>
              <input id={name} name={name} value={draft[name]} placeholder={placeholder} />
            </div>
          ))}
        </div>
      </details>
      {draft.hasHeaders === true && (
        <label class="check">
          <input type="checkbox" name="dropHeaders" value="yes" required />
          Remove the custom headers (use the API to set new ones)
        </label>
      )}
      <p class="buttons">
        <button class="primary">{button}</button>
        {children}
      </p>
    </form>
  )
}
