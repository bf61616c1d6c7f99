import { isLonger } from '../values/json.js'
import { IS_REQUIRED, type Rule } from '../values/input-rules.js'
import { EVENT_NAMES, LOGGED_EVENTS } from './event.js'

// The service has events of its own, whose names are `EVENT_NAMES`. A host publishes events of
// other types. A webhook subscribes to a name, to a group such as `order.*`, or to all with `*`.

export const MAX_EVENT_TYPE = 100
const WORD = '[A-Za-z0-9_-]+'
/** The types that a host can publish, and groups of them. For documents. */
export const EVENT_TYPE_PATTERN = `^${WORD}(\\.${WORD})+$`
export const SUBSCRIPTION_PATTERN = `^(\\*|${WORD}(\\.${WORD})*\\.(\\*|${WORD}))$`

/** The types without the names of the service. */
export const PUBLISHED_PATTERN = `^(?!(message|agent|webhook|delivery)\\.)${WORD}(\\.${WORD})+$`

const TYPE = new RegExp(EVENT_TYPE_PATTERN)
const GROUP = new RegExp(`^${WORD}(\\.${WORD})*\\.\\*$`)
const OWN = /^(?:message|agent|webhook|delivery)\./
const OWN_NAMES: ReadonlySet<string> = new Set(LOGGED_EVENTS)

/** True for an event of a host. */
export const isPublished = (name: string): boolean => !OWN.test(name)

/** Accepts a type that a host can publish. */
export function eventTypeRule(type: unknown): Rule {
  if (type === undefined) return IS_REQUIRED
  if (typeof type !== 'string' || !TYPE.test(type))
    return 'must be words of letters, digits, _ and -, with dots between them, such as order.paid'
  if (isLonger(type, MAX_EVENT_TYPE)) return `must have at most ${MAX_EVENT_TYPE} characters`
  return isPublished(type)
    ? undefined
    : 'must not begin with message., agent., webhook. or delivery.: these are events of the service'
}

/** Accepts the name of any event. */
export const eventNameRule = (name: unknown): Rule =>
  isKnown(name)
    ? undefined
    : `must be one of: ${[...OWN_NAMES].join(', ')}, or a type that is published, such as order.paid`

const isKnown = (name: unknown): boolean =>
  typeof name === 'string' && (OWN_NAMES.has(name) || eventTypeRule(name) === undefined)

/** Accepts what a webhook can subscribe to. */
export function subscriptionRule(name: unknown): Rule {
  const isOne =
    name === '*' ||
    (name !== 'webhook.test' && isKnown(name)) ||
    (typeof name === 'string' && name.length <= MAX_EVENT_TYPE && GROUP.test(name))
  return isOne
    ? undefined
    : `must be one of: *, ${EVENT_NAMES.join(', ')}, a type that is published, such as order.paid, or a group, such as order.*`
}

/** Returns all subscriptions that get the event: its name, its groups, and `*`. */
export function subscriptionsFor(name: string): string[] {
  const names = ['*', name]
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1))
    names.push(`${name.slice(0, dot)}.*`)
  return names
}

export const subscribesTo = (events: readonly string[], name: string): boolean =>
  subscriptionsFor(name).some((one) => events.includes(one))

/** Leaves out what a wider subscription contains, so that an event makes one delivery. */
export function widestOf(events: readonly string[]): readonly string[] {
  const given = new Set(events)
  if (given.has('*')) return ['*']
  return [...given].filter((one) =>
    subscriptionsFor(one).every((wider) => wider === one || !given.has(wider)),
  )
}
