import { err, ok } from 'neverthrow'
import { customHeadersProblem, type CustomHeaders } from '../domain/custom-headers.js'
import { EVENT_NAMES, type SubscribableEvent } from '../domain/event.js'
import { broken, integerRule, invalid, textRule, type Rule } from '../domain/input-rules.js'
import { isSecret } from '../domain/signature.js'
import { ORDERINGS, type Ordering } from '../domain/webhook.js'
import { filterRules, type WebhookFilter } from '../domain/webhook-filter.js'
import type { Platform } from '../platform.js'

export type WebhookSettings = {
  readonly url: string
  /** Event names, or `'*'` for all events, also in later versions. */
  readonly events: readonly (SubscribableEvent | '*')[]
  /** Limits the webhook to the events that match. */
  readonly filter?: WebhookFilter | null | undefined
  readonly description?: string | null | undefined
  /** Additional headers of each request. The values are secret: only the names are shown. */
  readonly headers?: CustomHeaders | null | undefined
  readonly enabled?: boolean | undefined
  /** True if an answer of 410 disables the webhook. Default: false. */
  readonly disableOnGone?: boolean | undefined
  /** `session`: the deliveries of one session keep the order of their events. Default: `none`. */
  readonly ordering?: Ordering | undefined
  /** The most requests at a time, over all processes. Default: adapts to the receiver. */
  readonly maxConcurrency?: number | null | undefined
  /** The most requests per second, over all processes. Default: adapts to the receiver. */
  readonly requestsPerSecond?: number | null | undefined
  /** The total deadline of an attempt. Default: the policy's. */
  readonly timeoutMs?: number | null | undefined
  /** The delays between attempts, in milliseconds. Default: the policy's. */
  readonly retrySchedule?: readonly number[] | null | undefined
  /** True keeps all deliveries and sends nothing. Default: false. */
  readonly paused?: boolean | undefined
}
export type WebhookChanges = {
  readonly [K in keyof WebhookSettings]?: WebhookSettings[K] | undefined
}

const MAX_DESCRIPTION = 500
const MAX_URL = 2_048
const HEADER_LIMITS = { maxHeaders: 20, maxValueLength: 4_096 }

/** Checks the fields that are given. */
export async function checkWebhook(d: Platform, projectId: string, settings: WebhookChanges) {
  const { url, events, filter, description, headers, ordering } = settings
  const problem = broken({
    url: url === undefined ? undefined : textRule(url, MAX_URL),
    events: events === undefined ? undefined : eventsRule(events),
    description:
      description === undefined || description === null
        ? undefined
        : textRule(description, MAX_DESCRIPTION),
    ...(filter && filterRules(filter)),
    ordering: ordering === undefined ? undefined : orderingRule(ordering),
    ...sendingRules(settings),
  })
  if (problem) return problem
  const misfit =
    headers &&
    customHeadersProblem(headers, { ...HEADER_LIMITS, headerPrefix: d.policy.headerPrefix })
  if (misfit) return invalid(misfit.path, misfit.message)
  if (url !== undefined) {
    const vetted = await d.sender.vet(url)
    if (vetted.isErr()) return invalid('url', vetted.error)
    if (!URL.canParse(url)) return invalid('url', 'must be a full URL')
  }
  const fits = await d.checkMasterKey()
  if (fits.isErr()) return err(fits.error)
  const agentId = filter?.agentId
  if (agentId === undefined) return ok(undefined)
  const agent = await d.storage.agents.get(projectId, agentId)
  if (agent.isErr()) return err(agent.error)
  return agent.value?.id === agentId
    ? ok(undefined)
    : invalid('filter.agentId', 'must be the id of an agent of this project')
}

function eventsRule(events: readonly string[]): Rule {
  const known: readonly string[] = ['*', ...EVENT_NAMES]
  const fits = events.length > 0 && events.every((name) => known.includes(name))
  return fits ? undefined : `must name one or more of: ${known.join(', ')}`
}

const MOST_CONCURRENT = 1_000
const MOST_PER_SECOND = 10_000
const TIMEOUT_MS = { min: 100, max: 300_000 }
const MOST_RETRIES = 50
const LONGEST_DELAY_MS = 30 * 24 * 3_600_000

function sendingRules(settings: WebhookChanges): Record<string, Rule> {
  const { maxConcurrency, requestsPerSecond, timeoutMs, retrySchedule } = settings
  const unlessAbsent = (value: unknown, rule: () => Rule): Rule =>
    value === undefined || value === null ? undefined : rule()
  return {
    maxConcurrency: unlessAbsent(maxConcurrency, () =>
      integerRule(maxConcurrency, 1, MOST_CONCURRENT),
    ),
    requestsPerSecond: unlessAbsent(requestsPerSecond, () => rateRule(requestsPerSecond)),
    timeoutMs: unlessAbsent(timeoutMs, () =>
      integerRule(timeoutMs, TIMEOUT_MS.min, TIMEOUT_MS.max),
    ),
    retrySchedule: unlessAbsent(retrySchedule, () => scheduleRule(retrySchedule)),
  }
}

const rateRule = (rate: unknown): Rule =>
  typeof rate === 'number' && rate >= 0.01 && rate <= MOST_PER_SECOND
    ? undefined
    : `must be a number from 0.01 to ${MOST_PER_SECOND}`

function scheduleRule(delays: unknown): Rule {
  const fits =
    Array.isArray(delays) &&
    delays.length <= MOST_RETRIES &&
    delays.every((delay) => integerRule(delay, 1, LONGEST_DELAY_MS) === undefined)
  return fits
    ? undefined
    : `must be an array of at most ${MOST_RETRIES} whole numbers of milliseconds from 1 to ${LONGEST_DELAY_MS}`
}

const orderingRule = (ordering: Ordering): Rule =>
  ORDERINGS.includes(ordering) ? undefined : `must be one of: ${ORDERINGS.join(', ')}`

export const secretRule = (secret: string | undefined): Rule =>
  secret === undefined || isSecret(secret)
    ? undefined
    : 'must be whsec_ followed by base64 of 24 to 64 bytes'
