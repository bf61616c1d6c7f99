import type { RequestFacts } from './options.js'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: {
    requestId: string
    /** The path of the app, if the host has set it. */
    basePath: string | undefined
    /** Set when the API key is authorized. */
    projectId: string
    /** Set on the route for late answers, which takes a run token instead of an API key. */
    runToken: string
    refusal?: Pick<RequestFacts, 'errorCode' | 'reason'>
  }
}
