import { EVENT_NAMES, type WebhookSettings } from '@org/agent-messaging-core'
import { sendingSettings, webhookSettings } from '@org/agent-messaging-core/runtime'
import type { Child } from 'hono/jsx'
import { textIn, type Form } from '../parts/input.js'
import { Problem } from '../parts/parts.js'
import {
  Check,
  Fields,
  fieldsOfSettings,
  settingsIn,
  textsIn,
  type Texts,
} from '../parts/fields.js'
import { WebhookFilterFields, NO_FILTER, type FilterTexts } from './webhook-filter-form.js'

type Fields = FilterTexts & {
  /** True if the form has the fields of a filter. */
  readonly hasFilter: boolean
  readonly url: string
  readonly events: readonly string[]
  readonly texts: Texts
}

/** The contents of the form, and the reason if they were refused. */
export type WebhookDraft = Fields & {
  readonly problem?: string
  /** The webhook has custom headers, which a URL on another origin does not keep. */
  readonly hasHeaders?: boolean
}

export const NEW_WEBHOOK: WebhookDraft = {
  url: '',
  events: ['*'],
  texts: {},
  hasFilter: true,
  ...NO_FILTER,
}

export const fieldsIn = (form: Form): Fields => ({
  url: textIn(form, 'url').trim(),
  events: [form['events'] ?? []].flat().map(String),
  texts: textsIn(webhookSettings, form),
  hasFilter: 'filterMetadata' in form,
  filterAgent: textIn(form, 'filterAgent').trim(),
  filterSessions: textIn(form, 'filterSessions'),
  filterMetadata: textIn(form, 'filterMetadata'),
})

/** The service checks the names of the events. */
export const settingsOf = ({ url, events, texts }: Fields) => ({
  ...settingsIn(webhookSettings, texts),
  url,
  events: events as WebhookSettings['events'],
})

const { description, ...others } = webhookSettings
const DESCRIPTION = fieldsOfSettings({ description })
const SENDING = fieldsOfSettings(sendingSettings)

const URL_FIELD = {
  label: 'URL',
  type: 'url',
  required: true,
  placeholder: 'https://example.com/hooks',
} as const
const EVENTS_FIELD = {
  label: 'Events',
  set: ['*', ...EVENT_NAMES].map(
    (event) =>
      [event, event === '*' ? 'All events, including future ones' : <code>{event}</code>] as const,
  ),
}
/** The settings that have no place of their own in the form. */
const OTHERS = Object.fromEntries(
  Object.entries(fieldsOfSettings(others)).filter(([name]) => !(name in SENDING)),
)

type FormProps = {
  readonly action: string
  readonly draft: WebhookDraft
  readonly button: string
  /** Shown beside the button. */
  readonly children?: Child
}

export function WebhookForm({ action, draft, button, children }: FormProps) {
  const { problem, url, events, texts, hasHeaders } = draft
  return (
    <form method="post" action={action} class="stack">
      <Problem text={problem} />
      <Fields
        fields={{ url: URL_FIELD, ...DESCRIPTION, events: EVENTS_FIELD, ...OTHERS }}
        values={{ ...texts, url, events }}
      />
      <WebhookFilterFields {...draft} />
      <details>
        <summary>Limits, timeout and retries</summary>
        <div class="stack">
          <Fields fields={SENDING} values={texts} />
        </div>
      </details>
      {hasHeaders === true && (
        <Check name="dropHeaders" value="yes" required>
          Remove the custom headers (use the API to set new ones)
        </Check>
      )}
      <p class="buttons">
        <button class="primary">{button}</button>
        {children}
      </p>
    </form>
  )
}
