import { pathsBelow, segment, type Http } from './http.js'
import { listOf, type List, type PageInput } from './pages.js'
import type { Agent, AgentChange, CreatedAgent, NewAgent, Session } from './resources.js'

const path = pathsBelow('/v1/agents')

export function agentsOf(http: Http) {
  return {
    create: (settings: NewAgent): Promise<CreatedAgent> => http.post('/v1/agents', settings),
    get: (idOrName: string): Promise<Agent> => http.get(path(idOrName)),
    list: (page?: PageInput): List<Agent> => listOf(http, '/v1/agents', page),
    update: (idOrName: string, change: AgentChange): Promise<CreatedAgent> =>
      http.repeatable('PATCH', path(idOrName), change),
    start: (idOrName: string): Promise<Agent> => http.repeatable('POST', path(idOrName, '/start')),
    stop: (idOrName: string): Promise<Agent> => http.repeatable('POST', path(idOrName, '/stop')),
    /** `force` also deletes an agent with open messages. */
    delete: (idOrName: string, { force = false } = {}): Promise<void> =>
      http.json({ method: 'DELETE', path: path(idOrName), query: { force } }),
  }
}

export function sessionsOf(http: Http) {
  return {
    /** Lists the sessions with the newest messages first. */
    list: (idOrName: string, page?: PageInput): List<Session> =>
      listOf(http, path(idOrName, '/sessions'), page),
    /** Erases a session and its messages. `force` also erases open messages. */
    erase: (idOrName: string, sessionId: string, { force = false } = {}): Promise<void> =>
      http.json({
        method: 'DELETE',
        path: path(idOrName, `/sessions${segment(sessionId)}`),
        query: { force },
      }),
  }
}
