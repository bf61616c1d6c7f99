import { BASE } from '../context.js'
import type { MessagingService } from '@org/agent-messaging-core'
import {
  orUndefined,
  sendingSettings,
  webhookSettings,
  type WebhookFilter,
  lineOf,
} from '@org/agent-messaging-core/host'
import type { Child } from 'hono/jsx'
import { useView } from '../parts/zone.js'
import { eventChoices, eventsIn, otherEvents, tickedEvents } from './events.js'
import { conditionsIn } from './filter-lines.js'
import { agentIn, type Form, textIn } from '../parts/input.js'
import {
  Check,
  Fields,
  fieldsOfSettings,
  PostForm,
  settingsIn,
  type Texts,
  textsIn,
} from '../parts/fields.js'

/** The texts of a filter in the form. Empty texts mean no filter. */
type FilterTexts = Readonly<Record<keyof typeof FILTER_FIELDS, string>>

type Typed = FilterTexts & {
  /** True if the form has the fields of a filter. */
  readonly hasFilter: boolean
  readonly url: string
  readonly events: readonly string[]
  readonly texts: Texts
}

/** The contents of the form, and the reason if they were refused. */
export type WebhookDraft = Typed & {
  readonly problem?: string
  /** The webhook has custom headers, which a URL on another origin does not keep. */
  readonly hasHeaders?: boolean
}

export const fieldsIn = (form: Form) => ({
  url: textIn(form, 'url').trim(),
  events: eventsIn(form),
  texts: textsIn(webhookSettings, form),
  hasFilter: 'filterMetadata' in form,
  filterAgent: textIn(form, 'filterAgent').trim(),
  filterSessions: textIn(form, 'filterSessions'),
  filterMetadata: textIn(form, 'filterMetadata'),
  filterData: textIn(form, 'filterData'),
})

export const settingsOf = ({ url, texts }: Typed) => ({
  ...settingsIn(webhookSettings, texts),
  url,
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
const OTHER_EVENTS = {
  label: 'Other events and groups',
  rows: 2,
  spellcheck: false,
  placeholder: 'order.paid\norder.*',
} as const
/** The fields that limit a webhook to some of its events. */
const FILTER_FIELDS = {
  filterAgent: {
    label: (
      <>
        Only events of the agent <span class="muted">(name or ID)</span>
      </>
    ),
    spellcheck: false,
  },
  filterSessions: { label: 'Only sessions that start with', spellcheck: false },
  filterMetadata: {
    label: (
      <>
        Only messages with this metadata <span class="muted">(one condition per line)</span>
      </>
    ),
    rows: 3,
    spellcheck: false,
    placeholder: 'customer.plan = "pro"\nticket exists\ntest missing',
  },
  filterData: {
    label: (
      <>
        Only events with this data <span class="muted">(one condition per line)</span>
      </>
    ),
    rows: 3,
    spellcheck: false,
    placeholder:
      'error.code = "RUNTIME_TIMEOUT"\norder.number starts with DE-\namount from 100 to 500',
  },
}

/** The settings that have no place of their own in the form. */
const OTHERS = Object.entries(fieldsOfSettings(others)).filter(([name]) => !(name in SENDING))
const EXPERT = { ...Object.fromEntries(OTHERS), ...FILTER_FIELDS, ...SENDING }

type FormProps = {
  readonly action: string
  readonly draft: WebhookDraft
  readonly button: string
  /** Shown beside the button. */
  readonly children?: Child
}

export function WebhookForm({ action, draft, button, children }: FormProps) {
  const { problem, url, events, texts, hasHeaders, hasFilter: _, ...filter } = draft
  const { c } = useView()
  const expert: Texts = { ...texts, ...filter }
  return (
    <PostForm
      action={action}
      problem={problem}
      fields={{
        url: URL_FIELD,
        ...DESCRIPTION,
        events: { label: 'Events', set: eventChoices(c) },
        otherEvents: !c.get('portal') && OTHER_EVENTS,
      }}
      values={{
        ...texts,
        url,
        events: tickedEvents(c, events),
        otherEvents: otherEvents(c, events),
      }}
      button={button}
      beside={children}
    >
      <p>
        <a href={`${BASE}/webhooks/events`}>What each event sends</a>
      </p>
      <details open={Object.keys(EXPERT).some((name) => (expert[name] ?? '') !== '')}>
        <summary>Order, filter, limits and retries</summary>
        <div class="stack">
          <Fields fields={EXPERT} values={expert} />
        </div>
      </details>
      {hasHeaders === true && (
        <Check name="dropHeaders" value="yes" required>
          Remove the custom headers (use the API to set new ones)
        </Check>
      )}
    </PostForm>
  )
}

/** Returns the texts of the form for a filter. `agent` is the name or the id to show. */
export const filterTexts = (
  { sessionIdPrefix = '', metadata = [], data = [] }: WebhookFilter = {},
  agent: string,
): FilterTexts => ({
  filterAgent: agent,
  filterSessions: sessionIdPrefix,
  filterMetadata: metadata.map(lineOf).join('\n'),
  filterData: data.map(lineOf).join('\n'),
})

export const NO_FILTER = filterTexts(undefined, '')

export const NEW_WEBHOOK: WebhookDraft = {
  url: '',
  events: ['*'],
  texts: {},
  hasFilter: true,
  ...NO_FILTER,
}

/** Returns the filter, or null if all texts are empty. The service checks its parts. */
export function filterOf(
  { filterSessions, filterMetadata, filterData }: FilterTexts,
  agentId: string | undefined,
): WebhookFilter | null {
  const [metadata, data] = [conditionsIn(filterMetadata), conditionsIn(filterData)]
  const filter = {
    ...(agentId !== undefined && { agentId }),
    ...(filterSessions !== '' && { sessionIdPrefix: filterSessions }),
    ...(metadata.length > 0 && { metadata }),
    ...(data.length > 0 && { data }),
  }
  return Object.keys(filter).length === 0 ? null : filter
}

/**
 * Returns the filter of the form with the id of its agent. A form without the fields of a filter
 * changes no filter. The service refuses an unknown agent.
 */
export async function readFilter(
  { agents }: MessagingService,
  projectId: string,
  { hasFilter, ...texts }: FilterTexts & { readonly hasFilter: boolean },
): Promise<{ readonly filter?: WebhookFilter | null }> {
  if (!hasFilter) return {}
  const { filterAgent } = texts
  if (filterAgent === '') return { filter: filterOf(texts, undefined) }
  const agent = await orUndefined(agents.get({ projectId, agent: agentIn(filterAgent) }))
  return { filter: filterOf(texts, agent?.id ?? filterAgent) }
}
