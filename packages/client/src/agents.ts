import { segment, type Http } from './http.js'
import { rowsOf } from './pages.js'
import type { Agent, AgentChange, CreatedAgent, NewAgent, Session } from './resources.js'

const path = (idOrName: string, rest = ''): string => `/v1/agents${segment(idOrName)}${rest}`

export function agentsOf(http: Http) {
  return {
    create: (settings: NewAgent): Promise<CreatedAgent> =>
      http.json({ method: 'POST', path: '/v1/agents', body: settings }),
    get: (idOrName: string): Promise<Agent> => http.json({ method: 'GET', path: path(idOrName) }),
    list: (): AsyncGenerator<Agent, void, undefined> => rowsOf(http, '/v1/agents'),
    update: (idOrName: string, change: AgentChange): Promise<CreatedAgent> =>
      http.json({ method: 'PATCH', path: path(idOrName), body: change, retryable: true }),
    start: (idOrName: string): Promise<Agent> =>
      http.json({ method: 'POST', path: path(idOrName, '/start'), retryable: true }),
    stop: (idOrName: string): Promise<Agent> =>
      http.json({ method: 'POST', path: path(idOrName, '/stop'), retryable: true }),
    /** `force` also deletes an agent with open messages. */
    delete: (idOrName: string, { force = false } = {}): Promise<void> =>
      http.json({ method: 'DELETE', path: path(idOrName), query: { force } }),
  }
}

export function sessionsOf(http: Http) {
  return {
    /** Lists the sessions with the newest messages first. */
    list: (idOrName: string): AsyncGenerator<Session, void, undefined> =>
      rowsOf(http, path(idOrName, '/sessions')),
    /** Erases a session and its messages. `force` also erases open messages. */
    erase: (idOrName: string, sessionId: string, { force = false } = {}): Promise<void> =>
      http.json({
        method: 'DELETE',
        path: path(idOrName, `/sessions${segment(sessionId)}`),
        query: { force },
      }),
  }
}
