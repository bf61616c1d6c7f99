import { agentsOf, sessionsOf } from './agents.js'
import { eventsOf } from './events.js'
import { createHttp, segment, type ClientOptions, type Http } from './http.js'
import { messagesOf } from './messages.js'
import { rowsOf } from './pages.js'
import { principalsOf } from './principals.js'
import type {
  ApiKey,
  AuditEntry,
  AuditFilter,
  CreatedApiKey,
  NewApiKey,
  NewPortalLink,
  PortalLink,
  Project,
  ProjectChange,
  Usage,
  UsageRange,
  Message,
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
  return {
    messages: messagesOf(http),
    /** Questions of agents to people. `messages.answer` answers them. */
    inputs: inputsOf(http),
    agents: agentsOf(http),
    sessions: sessionsOf(http),
    principals: principalsOf(http),
    webhooks: webhooksOf(http),
    deliveries: deliveriesOf(http),
    events: eventsOf(http),
    recoveries: recoveriesOf(http),
    /** All methods need the permission `project:admin`. */
    keys: keysOf(http),
    /** All methods need the permission `project:admin`. */
    portalLinks: portalLinksOf(http),
    /** Needs the permission `project:audit`. */
    auditLog: {
      list: (filter: AuditFilter = {}): AsyncGenerator<AuditEntry, void, undefined> =>
        rowsOf(http, '/v1/audit-log', filter),
    },
    /** What the project used, by day. Needs the permission `project:admin`. */
    usage: {
      get: (range: UsageRange = {}): Promise<Usage> =>
        http.json({ method: 'GET', path: '/v1/usage', query: range, retryable: true }),
    },
    /** All methods need the operator key as `apiKey`. */
    projects: projectsOf(http),
  }
}

function keysOf(http: Http) {
  return {
    create: (settings: NewApiKey): Promise<CreatedApiKey> =>
      http.json({ method: 'POST', path: '/v1/keys', body: settings }),
    list: (): AsyncGenerator<ApiKey, void, undefined> => rowsOf(http, '/v1/keys'),
    revoke: (id: string): Promise<void> =>
      http.json({ method: 'DELETE', path: `/v1/keys${segment(id)}`, retryable: true }),
  }
}

function portalLinksOf(http: Http) {
  return {
    /** Returns a link that opens the portal once. */
    create: (settings: NewPortalLink = {}): Promise<PortalLink> =>
      http.json({ method: 'POST', path: '/v1/portal-links', body: settings }),
    /** Ends the session, or makes the link unusable. */
    end: (id: string): Promise<void> =>
      http.json({ method: 'DELETE', path: `/v1/portal-links${segment(id)}`, retryable: true }),
  }
}

function projectsOf(http: Http) {
  const keysPath = (projectId: string) => `/v1/projects${segment(projectId)}/keys`
  return {
    create: (settings: { readonly name: string }): Promise<Project> =>
      http.json({ method: 'POST', path: '/v1/projects', body: settings }),
    get: (id: string): Promise<Project> =>
      http.json({ method: 'GET', path: `/v1/projects${segment(id)}`, retryable: true }),
    list: (): AsyncGenerator<Project, void, undefined> => rowsOf(http, '/v1/projects'),
    /** Changes the limits of the project's sends. */
    update: (id: string, change: ProjectChange): Promise<Project> =>
      http.json({
        method: 'PATCH',
        path: `/v1/projects${segment(id)}`,
        body: change,
        retryable: true,
      }),
    usage: (id: string, range: UsageRange = {}): Promise<Usage> =>
      http.json({
        method: 'GET',
        path: `/v1/projects${segment(id)}/usage`,
        query: range,
        retryable: true,
      }),
    createKey: (projectId: string, settings: NewApiKey): Promise<CreatedApiKey> =>
      http.json({ method: 'POST', path: keysPath(projectId), body: settings }),
    listKeys: (projectId: string): AsyncGenerator<ApiKey, void, undefined> =>
      rowsOf(http, keysPath(projectId)),
    revokeKey: (projectId: string, id: string): Promise<void> =>
      http.json({
        method: 'DELETE',
        path: `${keysPath(projectId)}${segment(id)}`,
        retryable: true,
      }),
    /** The changes of all projects, or of one. */
    auditLog: (
      filter: AuditFilter & { readonly projectId?: string } = {},
    ): AsyncGenerator<AuditEntry, void, undefined> =>
      rowsOf(http, '/v1/operator/audit-log', filter),
  }
}

const inputsOf = (http: Http) => ({
  /** Lists the messages that wait for a person, newest first. */
  list: (filter: { readonly endUserId?: string } = {}): AsyncGenerator<Message, void, undefined> =>
    rowsOf(http, '/v1/inputs', filter),
  /** Withdraws a question. Its message fails. */
  withdraw: (agent: string, messageId: string, inputId: string): Promise<Message> => {
    const path = `/v1/agents${segment(agent)}/messages${segment(messageId)}/input/withdraw`
    return http.json({ method: 'POST', path, body: { inputId }, retryable: true })
  },
})
