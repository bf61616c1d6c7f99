import type { KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import type { AgentHandler } from './agent-handler.js'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: KitEnv['Variables'] & {
    /** The agent of the path, when it is found. */
    handler: AgentHandler
  }
}

/** One request, and its answer. */
export type RouteContext = Context<Env>
