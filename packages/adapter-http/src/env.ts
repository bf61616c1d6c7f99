import type { Actor } from '@org/agent-messaging-core'
import type { KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: KitEnv['Variables'] & {
    /** The path of the app, if the host has set it. */
    basePath: string | undefined
    /** The caller that the audit log names. Set with `projectId`, unless the host has set it. */
    actor: Actor
    /** Set on the route for late answers, which takes a run token instead of an API key. */
    runToken: string
  }
}

/** One request, and its answer. */
export type RouteContext = Context<Env>
