import { accessProblem } from './domain/access/access.js'
import { ACTOR_KINDS, AUDIT_ACTIONS } from './domain/access/audit.js'
import { MESSAGE_STATES } from './domain/messages/message.js'
import { broken, IS_REQUIRED, type Invalid, type Rule } from './domain/values/input-rules.js'
import { isStorableText } from './domain/values/json.js'
import { valueRule } from './domain/values/setting.js'
import { eventNameRule } from './domain/webhooks/event-name.js'
import { recoverySettings } from './domain/webhooks/recovery.js'
import type { MessagingService } from './messaging-service.js'
import { STATS_STEPS } from './operations/read-stats.js'

type Check = (value: unknown) => Rule

/** For a text that the call itself checks before the storage gets it. */
const string: Check = (value) => (typeof value === 'string' ? undefined : 'must be a string')
const text: Check = (value) =>
  typeof value === 'string' && isStorableText(value)
    ? undefined
    : 'must be a string without NUL and lone surrogates'
const number: Check = (value) =>
  typeof value === 'number' && !Number.isNaN(value) ? undefined : 'must be a number'
/** The last time that a `Date` has. */
const LAST_TIME = 8.64e15
const integer: Check = (value) =>
  Number.isInteger(value) && Math.abs(Number(value)) <= LAST_TIME
    ? undefined
    : 'must be a whole number'
/** Of rows, or of characters: PostgreSQL counts with 32 bits. */
const count: Check = (value) =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31
    ? undefined
    : 'must be a whole number of 0 or more'
const boolean: Check = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const object: Check = (value) => (isObject(value) ? undefined : 'must be an object')
const transaction: Check = (value) =>
  isObject(value) && 'onEnd' in value ? undefined : 'must come from inTransaction'
const objects: Check = (value) =>
  Array.isArray(value) && value.every(isObject) ? undefined : 'must be a list of objects'
const texts: Check = (value) =>
  Array.isArray(value) && value.every((one) => text(one) === undefined)
    ? undefined
    : 'must be a list of strings'

const needed =
  (check: Check): Check =>
  (value) =>
    value === undefined ? IS_REQUIRED : check(value)
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)

/** A wrong `access` must not open more than the host meant. */
const access: Check = optional((value) =>
  accessProblem(value)
    ?.issues.map(({ path, message }) => `is no Access: ${path} ${message}`)
    .join('; '),
)
const notNull: Check = (value) => (value === null ? 'must not be null' : undefined)

const ID = needed(text)
const TEXT = optional(text)
const NUMBER = optional(number)
const INTEGER = optional(integer)
const oneOf = (words: readonly string[]): Check =>
  optional((value) => valueRule({ type: 'string', enum: words }, value))
const FORCE = { force: optional(boolean) }

const PROJECT = { projectId: ID }
const AGENT = { ...PROJECT, agent: ID }
const MESSAGE = { ...AGENT, messageId: ID }
const INPUT = { ...MESSAGE, inputId: ID }
const WEBHOOK = { ...PROJECT, webhookId: ID }
const SHOWN = { ...PROJECT, withoutHooks: optional(boolean) }
const DELIVERY = { ...SHOWN, deliveryId: ID }
const RECOVERY = { ...PROJECT, recoveryId: ID }
const CHANGE = { change: needed(object) }
const STATUS = { status: oneOf(['pending', 'responded']), state: oneOf(MESSAGE_STATES) }
const MESSAGES = {
  ...AGENT,
  ...STATUS,
  progress: oneOf(['waiting', 'working']),
  sessionId: TEXT,
  changedFrom: INTEGER,
}
const CREATED = { createdAfter: INTEGER, createdBefore: INTEGER }
const END_USER = { ...PROJECT, endUserId: ID, cursor: TEXT }
const STRING = needed(string)
const LINK = { messageId: STRING, token: STRING }

type Checks = Readonly<Record<string, Check>>
type Async<Group> = {
  readonly [
    K in keyof Group as Group[K] extends (...input: never) => Promise<unknown> ? K : never
  ]: Checks
}
type Grouped = {
  readonly [
    G in keyof MessagingService as G extends 'policy'
      ? never
      : MessagingService[G] extends (...input: never) => unknown
        ? never
        : G
  ]: Async<MessagingService[G]>
}

/**
 * What the calls have in common: the fields that name rows, and the types of fields that go to the
 * storage as they are. The use cases check the other fields.
 */
const CHECKS: Grouped = {
  messages: {
    send: { ...AGENT, waitMs: NUMBER, webhook: optional(object), hook: optional(object) },
    enqueue: { ...AGENT, webhook: optional(object), transaction: needed(transaction) },
    get: { ...MESSAGE, waitMs: NUMBER },
    history: { ...MESSAGE, maxTurns: needed(count), maxLength: needed(count) },
    runs: MESSAGE,
    story: {
      ...PROJECT,
      messageId: ID,
      withReceivers: optional(boolean),
      isForCustomer: optional(boolean),
    },
    list: { ...MESSAGES, order: oneOf(['asc', 'desc']) },
    count: { ...MESSAGES, most: needed(count) },
    search: {
      ...PROJECT,
      agent: TEXT,
      messageId: TEXT,
      sessionId: TEXT,
      endUserId: TEXT,
      correlationId: TEXT,
      ...STATUS,
      ...CREATED,
      text: TEXT,
    },
    stream: { ...MESSAGE, lastEventId: TEXT },
    cancel: MESSAGE,
    retry: MESSAGE,
    retryFailed: AGENT,
    setMetadata: MESSAGE,
  },
  hooks: { set: MESSAGE, list: MESSAGE, delete: { ...MESSAGE, name: ID } },
  inputs: {
    list: { ...PROJECT, agent: TEXT, sessionId: TEXT, endUserId: TEXT },
    answer: INPUT,
    withdraw: INPUT,
  },
  agents: {
    create: { ...PROJECT, name: notNull },
    update: { ...AGENT, ...CHANGE },
    delete: { ...AGENT, ...FORCE },
    start: AGENT,
    stop: AGENT,
    declare: { ...PROJECT, agents: needed(objects) },
    get: AGENT,
    list: PROJECT,
  },
  sessions: { list: AGENT, erase: { ...AGENT, sessionId: ID, ...FORCE } },
  webhooks: {
    create: PROJECT,
    update: { ...WEBHOOK, ...CHANGE },
    enable: WEBHOOK,
    disable: WEBHOOK,
    delete: WEBHOOK,
    rotateSecret: WEBHOOK,
    finishRotation: WEBHOOK,
    get: WEBHOOK,
    list: PROJECT,
    sendTestEvent: { ...WEBHOOK, event: optional(eventNameRule) },
  },
  deliveries: {
    get: DELIVERY,
    story: DELIVERY,
    list: {
      ...SHOWN,
      ...CREATED,
      eventId: TEXT,
      messageId: TEXT,
      sessionId: TEXT,
      webhookId: TEXT,
      event: optional(eventNameRule),
      status: oneOf(recoverySettings.status.enum),
      lastAnswer: oneOf(recoverySettings.lastAnswer.enum),
    },
    redeliver: DELIVERY,
    cancel: DELIVERY,
    skip: DELIVERY,
  },
  recoveries: {
    start: {
      ...PROJECT,
      filter: optional(object),
      events: optional(object),
      tryFirst: optional(boolean),
    },
    cancel: RECOVERY,
    continue: RECOVERY,
    get: RECOVERY,
    list: PROJECT,
  },
  events: {
    publish: { ...PROJECT, transaction: optional(transaction) },
    publishBatch: { ...PROJECT, transaction: optional(transaction) },
    get: { ...PROJECT, eventId: ID },
    story: { ...SHOWN, eventId: ID },
    list: { ...SHOWN, ...CREATED, types: optional(texts), published: optional(boolean) },
    read: { ...PROJECT, after: TEXT, limit: optional(count), waitMs: NUMBER },
  },
  eventTypes: {
    put: { projectId: TEXT, name: ID },
    delete: { projectId: TEXT, name: ID },
    get: { projectId: TEXT, name: ID },
    list: { projectId: TEXT },
  },
  principals: { count: END_USER, erase: { ...END_USER, ...FORCE } },
  projects: {
    create: {},
    update: PROJECT,
    get: PROJECT,
    list: {},
    overview: {},
  },
  keys: { create: PROJECT, list: PROJECT, revoke: { ...PROJECT, keyId: ID } },
  platformKeys: { create: {}, list: {}, revoke: { keyId: ID } },
  sessionTokens: { create: PROJECT },
  portals: { create: PROJECT, end: { ...PROJECT, portalId: ID } },
  auditLog: {
    list: {
      projectId: TEXT,
      targetId: TEXT,
      action: oneOf(AUDIT_ACTIONS),
      actorKind: oneOf(ACTOR_KINDS),
    },
  },
  secrets: { reseal: { from: optional(object) } },
  host: {
    authenticate: { key: STRING, project: (value) => (value === null ? undefined : TEXT(value)) },
    authenticateToken: { token: STRING },
    answerRun: {
      agent: TEXT,
      messageId: STRING,
      runToken: STRING,
      run: needed(object),
      parts: optional(objects),
    },
    readByLink: LINK,
    answerByLink: LINK,
    findPortalLink: { code: STRING },
    openPortal: { code: STRING },
    findOpenPortal: { portalId: ID },
    endSignIn: { id: ID, until: needed(integer) },
    isSignInOver: { id: ID },
    advanceRecovery: {},
    ping: {},
    recordDownload: { ...PROJECT, list: ID },
  },
}
const TOP: { readonly [K in keyof MessagingService]?: Checks } = {
  tick: { budgetMs: needed(number) },
  stop: { graceMs: NUMBER },
  backlog: { projectId: TEXT },
  stats: {
    ...PROJECT,
    from: INTEGER,
    to: INTEGER,
    id: TEXT,
    step: needed(oneOf(Object.keys(STATS_STEPS))),
    by: oneOf(['agent', 'webhook']),
  },
  failures: { ...PROJECT, from: INTEGER },
}

/** Returns a function that checks the input of a call, or undefined for a call without an input. */
export function inputRules(
  group: string,
  call?: string,
): ((input: unknown) => Invalid | undefined) | undefined {
  const checks = (
    call === undefined ? TOP : (CHECKS as Readonly<Record<string, object>>)[group]
  ) as Readonly<Record<string, Checks>> | undefined
  const own = checks?.[call ?? group]
  if (!own) return undefined
  const rules = Object.entries({ ...own, access })
  return (input) => inputProblem(rules, input)
}

function inputProblem(
  checks: readonly (readonly [string, Check])[],
  input: unknown,
): Invalid | undefined {
  if (typeof input !== 'object' || input === null)
    return broken({ input: 'must be an object' })?.error
  for (const [name, check] of checks)
    if (check((input as Record<string, unknown>)[name]) !== undefined)
      return broken(
        Object.fromEntries(
          checks.map(([of, rule]) => [of, rule((input as Record<string, unknown>)[of])]),
        ),
      )?.error
  return undefined
}
