import { EVENT_NAMES, type WebhookSettings } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import { textIn, type Form } from './form.js'
import { Problem } from './parts.js'

type Fields = {
  readonly url: string
  readonly description: string
  readonly events: readonly string[]
  readonly disableOnGone: boolean
}

/** What was filled in, and why it was not taken if it was not. `hasHeaders`: of its own, which the URL cannot take along. */
export type WebhookDraft = Fields & { readonly problem?: string; readonly hasHeaders?: boolean }

export const NEW_WEBHOOK: WebhookDraft = {
  url: '',
  description: '',
  events: ['*'],
  disableOnGone: false,
}

export function fieldsIn(form: Form): Fields {
  const text = (name: string): string => textIn(form, name).trim()
  const events = [form['events'] ?? []].flat().map(String)
  return {
    url: text('url'),
    description: text('description'),
    events,
    disableOnGone: text('disableOnGone') === 'yes',
  }
}

/** Which events there are is the service's to say. */
export const settingsOf = ({ url, description, events, disableOnGone }: Fields) => ({
  ...{ url, disableOnGone, events: events as WebhookSettings['events'] },
  description: description === '' ? null : description,
})

type FormProps = {
  readonly action: string
  readonly draft: WebhookDraft
  readonly button: string
  /** Beside the button. */
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
            {event === '*' ? 'All, those of later versions too' : <code>{event}</code>}
          </label>
        ))}
      </fieldset>
      <label class="check">
        <input type="checkbox" name="disableOnGone" value="yes" checked={draft.disableOnGone} />
        Disable it when it answers 410 Gone
      </label>
      {draft.hasHeaders === true && (
        <label class="check">
          <input type="checkbox" name="dropHeaders" value="yes" required />
          Send none of its headers any more (others are given by the API)
        </label>
      )}
      <p class="buttons">
        <button class="primary">{button}</button>
        {children}
      </p>
    </form>
  )
}
