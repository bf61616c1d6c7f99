import { EVENT_NAMES, type WebhookSettings } from '@org/agent-messaging-core'
import { sendingSettings, webhookSettings } from '@org/agent-messaging-core/runtime'
import type { Child } from 'hono/jsx'
import { textIn, type Form } from '../parts/input.js'
import { Problem } from '../parts/parts.js'
import { SettingFields, settingsIn, textsIn, type Texts } from './setting-fields.js'
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

const { description, disableOnGone, ordering } = webhookSettings

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
      <SettingFields settings={{ description }} texts={draft.texts} />
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
      <SettingFields settings={{ disableOnGone, ordering }} texts={draft.texts} />
      <WebhookFilterFields {...draft} />
      <details>
        <summary>Limits, timeout and retries</summary>
        <div class="stack">
          <SettingFields settings={sendingSettings} texts={draft.texts} />
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
