import { asker } from './ask.js'
import { agentsOf, sessionsOf } from './agents.js'
import { eventTypesOf } from './event-types.js'
import { eventsOf } from './events.js'
import { type ClientOptions, createHttp, type Http, pathsBelow, segment } from './http.js'
import { messagesOf } from './messages.js'
import { listOf, type List, type PageInput } from './pages.js'
import type {
  ApiKey,
  AuditEntry,
  AuditFilter,
  CreatedApiKey,
  CreatedPlatformKey,
  Message,
  NewApiKey,
  NewPlatformKey,
  NewPortalLink,
  NewSessionToken,
  PortalLink,
  PrincipalTraces,
  PlatformKey,
  Project,
  ProjectChange,
  ProjectOverview,
  SessionToken,
  Failures,
  Stats,
  StatsQuery,
  Usage,
  UsageRange,
} from './resources.js'
import { deliveriesOf, recoveriesOf, webhooksOf } from './webhooks-and-deliveries.js'

export type Client = ReturnType<typeof createClient>

/**
 * Creates a client for the API of one project. An error response rejects with an `ApiError`.
 * Requests that are safe to repeat are retried after a failed connection, and after a 429, 502, 503
 * or 504. The client waits at least as long as `Retry-After` says.
 */
export function createClient(options: ClientOptions) {
  const http = createHttp(options)
  const messages = messagesOf(http)
  return {
    /**
     * Sends a message and returns the text of the answer. Waits for 10 minutes by default. Rejects
     * with a `MessagingError` if there is no answer.
     */
    ask: asker(messages.complete),
    messages,
    /** Questions of agents to people. `messages.answer` answers them. */
    inputs: inputsOf(http),
    agents: agentsOf(http),
    sessions: sessionsOf(http),
    principals: principalsOf(http),
    webhooks: webhooksOf(http),
    deliveries: deliveriesOf(http),
    events: eventsOf(http),
    eventTypes: eventTypesOf(http, '/v1/event-types'),
    recoveries: recoveriesOf(http),
    /** All methods need the permission `project:admin`. */
    keys: keysOf(http),
    sessionTokens: {
      /** Makes a token that opens some sessions, for a browser. */
      create: (settings: NewSessionToken): Promise<SessionToken> =>
        http.post('/v1/session-tokens', settings),
    },
    /** All methods need the permission `project:admin`. */
    portalLinks: portalLinksOf(http),
    /** Needs the permission `project:audit`. */
    auditLog: {
      list: (filter?: AuditFilter & PageInput): List<AuditEntry> =>
        listOf(http, '/v1/audit-log', filter),
    },
    usage: {
      /** Returns what the project used, by day. Needs the permission `project:admin`. */
      get: (range: UsageRange = {}): Promise<Usage> => http.get('/v1/usage', range),
    },
    stats: {
      /** Returns the counts by step of time. Needs the permission `project:admin`. */
      get: (query: StatsQuery = {}): Promise<Stats> => http.get('/v1/stats', query),
    },
    failures: {
      /** Returns the agents and webhooks that fail. Needs the permission `project:admin`. */
      get: (query: { readonly from?: string } = {}): Promise<Failures> =>
        http.get('/v1/failures', query),
    },
    /** All methods need the operator key as `apiKey`. Some accept a platform key. */
    projects: projectsOf(http),
    /** All methods need the operator key as `apiKey`. */
    platformKeys: platformKeysOf(http),
  }
}

function keysOf(http: Http) {
  return {
    create: (settings: NewApiKey): Promise<CreatedApiKey> => http.post('/v1/keys', settings),
    list: (page?: PageInput): List<ApiKey> => listOf(http, '/v1/keys', page),
    revoke: (id: string): Promise<void> => http.repeatable('DELETE', `/v1/keys${segment(id)}`),
  }
}

function platformKeysOf(http: Http) {
  const path = pathsBelow('/v1/platform-keys')
  return {
    /** Creates a key that acts on all projects. The answer has the key, which is shown only once. */
    create: (settings: NewPlatformKey): Promise<CreatedPlatformKey> =>
      http.post('/v1/platform-keys', settings),
    list: (page?: PageInput): List<PlatformKey> => listOf(http, '/v1/platform-keys', page),
    revoke: (id: string): Promise<void> => http.repeatable('DELETE', path(id)),
  }
}

function portalLinksOf(http: Http) {
  return {
    /** Returns a link that opens the portal once. */
    create: (settings: NewPortalLink = {}): Promise<PortalLink> =>
      http.post('/v1/portal-links', settings),
    /** Ends the session, or makes the link unusable. */
    end: (id: string): Promise<void> => http.repeatable('DELETE', `/v1/portal-links${segment(id)}`),
  }
}

function projectsOf(http: Http) {
  const path = pathsBelow('/v1/projects')
  return {
    /** Returns the project that has the `externalId` already, as it is. */
    create: (settings: { readonly name: string; readonly externalId?: string }): Promise<Project> =>
      http.post('/v1/projects', settings),
    get: (id: string): Promise<Project> => http.get(path(id)),
    list: (page?: PageInput): List<Project> => listOf(http, '/v1/projects', page),
    /** Changes the limits of the project's sends. */
    update: (id: string, change: ProjectChange): Promise<Project> =>
      http.repeatable('PATCH', path(id), change),
    /** Returns what a project used, by day. */
    usage: (id: string, range: UsageRange = {}): Promise<Usage> =>
      http.get(path(id, '/usage'), range),
    /** Creates an API key of a project. The answer has the key, which is shown only once. */
    createKey: (projectId: string, settings: NewApiKey): Promise<CreatedApiKey> =>
      http.post(path(projectId, '/keys'), settings),
    /** Lists the keys of a project, without the keys themselves. */
    listKeys: (projectId: string, page?: PageInput): List<ApiKey> =>
      listOf(http, path(projectId, '/keys'), page),
    /** Revokes a key for all new requests. */
    revokeKey: (projectId: string, id: string): Promise<void> =>
      http.repeatable('DELETE', path(projectId, `/keys${segment(id)}`)),
    /** Returns what waits, fails and was used in each project, the failing ones first. */
    overview: (page?: PageInput): List<ProjectOverview> =>
      listOf(http, '/v1/operator/projects', page),
    /** The types of events that all projects have. */
    eventTypes: eventTypesOf(http, '/v1/operator/event-types'),
    /** The changes of all projects, or of one. */
    auditLog: (
      filter?: AuditFilter & PageInput & { readonly projectId?: string },
    ): List<AuditEntry> => listOf(http, '/v1/operator/audit-log', filter),
  }
}

type InputFilter = {
  readonly agent?: string
  readonly sessionId?: string
  readonly endUserId?: string
}

const inputsOf = (http: Http) => ({
  /** Lists the messages that wait for a person, the nearest deadline first. */
  list: (filter?: InputFilter & PageInput): List<Message> => listOf(http, '/v1/inputs', filter),
  /** Withdraws a question. Its message fails. */
  withdraw: (agent: string, messageId: string, inputId: string): Promise<Message> =>
    http.repeatable(
      'POST',
      `/v1/agents${segment(agent)}/messages${segment(messageId)}/input/withdraw`,
      { inputId },
    ),
})

type Page = PrincipalTraces & { readonly nextCursor: string | null }

type PrincipalOptions = {
  /** Called after each request, with the counts until then. */
  readonly onProgress?: (traces: PrincipalTraces) => void
}
type ErasureOptions = PrincipalOptions & { readonly force?: boolean | undefined }

/** The data of end users, by their `endUserId`. Needs the permission `project:admin`. */
function principalsOf(http: Http) {
  /** Each request covers a limited number of messages, and is safe to repeat. */
  async function sumOfPages(
    method: 'GET' | 'DELETE',
    endUserId: string,
    { onProgress, ...query }: ErasureOptions,
  ): Promise<PrincipalTraces> {
    const path = `/v1/principals${segment(endUserId)}`
    let sum = { messages: 0, openMessages: 0, deliveries: 0, events: 0 }
    for (let cursor: string | undefined; ;) {
      const call = { method, path, query: { ...query, cursor }, retryable: true }
      const page: Page = await http.json(call)
      sum = {
        messages: sum.messages + page.messages,
        openMessages: sum.openMessages + page.openMessages,
        deliveries: sum.deliveries + page.deliveries,
        events: sum.events + page.events,
      }
      onProgress?.(sum)
      if (page.nextCursor === null) return sum
      cursor = page.nextCursor
    }
  }

  return {
    count: (endUserId: string, options: PrincipalOptions = {}): Promise<PrincipalTraces> =>
      sumOfPages('GET', endUserId, options),
    /** Erases messages and their deliveries. Keeps open messages unless `force` is set. */
    erase: (endUserId: string, options: ErasureOptions = {}): Promise<PrincipalTraces> =>
      sumOfPages('DELETE', endUserId, options),
  }
}
