import { createService, MessagingError, type MessagingService } from '@org/agent-messaging-core'
import { systemClock } from '@org/agent-messaging-core/node'
import { fakePlatform } from '@org/agent-messaging-testing'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const storage = openSqliteStorage({ path: ':memory:' })
const ID = '01a21f7b-e6f0-7651-b901-b0e529be0d64'
const OF_AGENT = { projectId: ID, agent: 'bot' }
const OF_MESSAGE = { ...OF_AGENT, messageId: ID }
const OF_WEBHOOK = { projectId: ID, webhookId: ID }
const OF_DELIVERY = { projectId: ID, deliveryId: ID }
const OF_RECOVERY = { projectId: ID, recoveryId: ID }
const PAGE = { limit: 1, cursor: ID }
const SEND = {
  ...OF_AGENT,
  sessionId: 's',
  message: 'hello',
  metadata: { a: 1 },
  earlierTurns: [],
  executionPrincipal: { type: 'service' },
  idempotencyKey: 'key',
  traceparent: '00-1-1-01',
  tracestate: 'a=b',
  waitMs: 1,
  access: { caller: 'c', permissions: [], sessions: 'all' },
}
const RUNTIME = { kind: 'fake' }
const URL = 'https://receiver.example/'

type Calls<Group> = { readonly [K in keyof Group]: object | undefined }
/** An input of each call, with all fields that a caller can give. */
const inputs = {
  messages: {
    send: { ...SEND, hook: { url: URL, name: 'n', headers: {}, secret: undefined } },
    enqueue: { ...SEND, transaction: { ...storage, onEnd: () => undefined } },
    get: { ...OF_MESSAGE, waitMs: 1 },
    history: { ...OF_MESSAGE, maxTurns: 1, maxLength: 1 },
    runs: OF_MESSAGE,
    list: {
      ...OF_AGENT,
      ...PAGE,
      sessionId: 's',
      status: 'pending',
      state: 'queued',
      progress: 'waiting',
      order: 'asc',
    },
    count: { ...OF_AGENT, most: 1, sessionId: 's', status: 'pending', changedFrom: 1 },
    search: {
      projectId: ID,
      ...PAGE,
      messageId: ID,
      sessionId: 's',
      endUserId: 'e',
      text: 't',
      correlationId: 'c',
      status: 'pending',
      state: 'queued',
      createdAfter: 1,
      createdBefore: 2,
    },
    stream: { ...OF_MESSAGE, lastEventId: '1' },
    cancel: OF_MESSAGE,
    retry: OF_MESSAGE,
    retryFailed: {
      ...OF_AGENT,
      errorCode: 'RUNTIME_ERROR',
      createdAfter: 1,
      createdBefore: 2,
    },
    setMetadata: { ...OF_MESSAGE, metadata: {} },
  },
  hooks: {
    set: { ...OF_MESSAGE, url: URL, name: 'n', headers: {} },
    list: OF_MESSAGE,
    delete: { ...OF_MESSAGE, name: 'n' },
  },
  inputs: {
    list: { projectId: ID, ...PAGE, endUserId: 'e' },
    answer: { ...OF_MESSAGE, inputId: ID, value: 1, executionPrincipal: { type: 'service' } },
    withdraw: { ...OF_MESSAGE, inputId: ID },
  },
  agents: {
    create: { projectId: ID, name: 'bot', runtime: RUNTIME, desiredState: 'stopped' },
    update: { ...OF_AGENT, change: { name: 'b' } },
    delete: { ...OF_AGENT, force: true },
    start: { projectId: ID, agent: 'nobody' },
    stop: OF_AGENT,
    declare: { projectId: ID, agents: [{ name: 7, runtime: RUNTIME }] },
    get: OF_AGENT,
    list: { projectId: ID, ...PAGE },
  },
  sessions: {
    list: { ...OF_AGENT, ...PAGE },
    erase: { ...OF_AGENT, sessionId: 's', force: true },
  },
  webhooks: {
    create: { projectId: ID, url: URL, events: ['*'] },
    update: { ...OF_WEBHOOK, change: { url: URL } },
    enable: OF_WEBHOOK,
    disable: OF_WEBHOOK,
    delete: OF_WEBHOOK,
    rotateSecret: { ...OF_WEBHOOK, secret: undefined, graceMs: 1 },
    finishRotation: OF_WEBHOOK,
    get: OF_WEBHOOK,
    list: { projectId: ID, ...PAGE },
    sendTestEvent: OF_WEBHOOK,
  },
  deliveries: {
    get: OF_DELIVERY,
    list: {
      projectId: ID,
      ...PAGE,
      messageId: ID,
      sessionId: 's',
      webhookId: ID,
      event: 'message.responded',
      status: 'pending',
      createdAfter: 1,
      createdBefore: 2,
      lastAnswer: '5xx',
    },
    redeliver: OF_DELIVERY,
    cancel: OF_DELIVERY,
    skip: OF_DELIVERY,
  },
  recoveries: {
    start: { projectId: ID, filter: { webhookId: ID } },
    cancel: OF_RECOVERY,
    get: OF_RECOVERY,
    list: { projectId: ID, ...PAGE },
  },
  events: {
    read: { projectId: ID, after: undefined, limit: 1, waitMs: 1, abort: { aborted: true } },
  },
  principals: {
    count: { projectId: ID, endUserId: 'e', cursor: 'c' },
    erase: { projectId: ID, endUserId: 'e', cursor: 'c', force: true },
  },
  projects: {
    create: { name: 'p' },
    update: { projectId: ID, sendLimits: { key: { messagesPerMinute: 1, burst: 1 } } },
    get: { projectId: ID },
    list: PAGE,
  },
  keys: {
    create: { projectId: ID, name: 'k', permissions: ['project:message'], expiresAt: 1, key: 'k' },
    list: { projectId: ID, ...PAGE },
    revoke: { projectId: ID, keyId: ID },
  },
  sessionTokens: {
    create: {
      projectId: ID,
      sessions: { prefix: 'a/' },
      agents: ['bot'],
      endUserId: 'e',
      expiresInMs: 1_000,
      apiKey: 'k',
    },
  },
  portals: {
    create: {
      projectId: ID,
      permissions: ['project:webhooks'],
      title: 'T',
      returnUrl: URL,
      lifetimeSeconds: 60,
    },
    end: { projectId: ID, portalId: ID },
  },
  auditLog: {
    list: { projectId: ID, ...PAGE, action: 'key.created', actorKind: 'key', targetId: ID },
  },
  secrets: { reseal: { from: { of: 'webhooks', after: 0, unopened: 0 } } },
  host: {
    authenticate: { key: 'k' },
    authenticateToken: { token: 't' },
    answerRun: { messageId: ID, runToken: 't', run: { kind: 'answered', response: 'r' } },
    readByLink: { messageId: ID, token: 't' },
    answerByLink: { messageId: ID, token: 't', value: 1 },
    findPortalLink: { code: 'c' },
    openPortal: { code: 'c' },
    findOpenPortal: { portalId: ID },
    endSignIn: { id: ID, until: 1 },
    isSignInOver: { id: ID, until: 1 },
    recordDownload: { projectId: ID, list: 'deliveries' },
  },
} satisfies { readonly [G in keyof MessagingService]?: Partial<Calls<MessagingService[G]>> }

const CALLS = Object.entries(inputs).flatMap(([group, calls]) =>
  Object.entries(calls).map(([name, input]) => [`${group}.${name}`, input] as const),
)
const top = {
  backlog: { projectId: ID },
  stats: { projectId: ID, step: '1h', from: 1, to: 2, by: 'agent', id: ID },
  failures: { projectId: ID, from: 1 },
  tick: { budgetMs: 0 },
}

/** Values of the wrong type, and values that no storage takes. */
const WRONG = [
  null,
  7,
  1.5,
  Number.MAX_SAFE_INTEGER,
  [null],
  [7],
  1e300,
  -1,
  NaN,
  'x',
  'a\0',
  '\uD800',
  '',
  {},
  [],
  true,
  () => 1,
]

describe("a caller's mistake", () => {
  const service = createService({ ...fakePlatform(), clock: systemClock, storage })

  beforeAll(async () => {
    await storage.credentials.createProject({ id: ID, name: 'p', createdAt: 0 })
    await service.agents.create({
      projectId: ID,
      name: 'bot',
      runtime: RUNTIME,
      desiredState: 'stopped',
    })
  })
  afterAll(() => storage.close())

  const callOf = (path: string) => {
    const [group = '', name] = path.split('.')
    const of = service as never as Record<
      string,
      Record<string, (input?: unknown) => Promise<unknown>>
    >
    return (name === undefined ? of[group] : of[group]?.[name]) as (
      input?: unknown,
    ) => Promise<unknown>
  }

  it.each([...CALLS, ...Object.entries(top)])(
    'in %s is refused as invalid',
    async (path, input) => {
      const call = callOf(path)
      const problems: string[] = []
      const check = async (name: string, given: unknown, isInvalid = false) => {
        try {
          const called = call(given)
          const thrown = await called.then(
            () => undefined,
            (error: unknown) => error,
          )
          const kind = thrown instanceof MessagingError ? thrown.kind : String(thrown)
          if (
            isInvalid
              ? kind !== 'invalid'
              : kind === 'unavailable' ||
                !(thrown === undefined || thrown instanceof MessagingError)
          )
            problems.push(`${name}: ${kind} ${String(thrown).slice(0, 200)}`)
        } catch (error) {
          problems.push(`${name}: throws ${String(error)}`)
        }
      }
      await check('good', input)
      await check('undefined', undefined)
      for (const wrong of [null, 7, 'x']) await check(`all ${JSON.stringify(wrong)}`, wrong, true)
      for (const name of Object.keys(input ?? {})) {
        const { [name]: _, ...rest } = input as Record<string, unknown>
        await check(`no ${name}`, rest)
        for (const wrong of WRONG)
          await check(`${name} ${typeof wrong} ${JSON.stringify(wrong)}`, {
            ...input,
            [name]: wrong,
          })
      }
      expect(problems).toEqual([])
    },
  )
})
