import type { AgentHandler } from './agent-handler.js'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: {
    requestId: string
    /** Set when the API key is authorized. */
    projectId: string
    /** The agent of the path, when it is found. */
    handler: AgentHandler
  }
}
