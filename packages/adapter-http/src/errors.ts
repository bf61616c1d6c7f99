import { entryFor, type Issue, type ByKind } from '@org/agent-messaging-core/host'
import type { BucketLevel } from '@org/agent-messaging-core/storage'
import { refusalHeaders, refusalOf, type HttpError, reply } from '@org/agent-messaging-http-kit'
import type { RouteContext } from './env.js'
import { errorAnchor, type ErrorBody } from './wire/error.js'

type Entries<T> = Partial<ByKind<HttpError, T>>

/** The words of this API, where they are not those of every protocol. */
const words: Entries<string> = {
  agent_not_running: ({ state, retryInMs }) =>
    `The agent is not running${stateAndAdvice(state, retryInMs !== undefined)}`,
  agent_busy: 'The agent has messages that are not final. ?force=true deletes them too',
  session_busy: 'The session has messages that are not final. ?force=true erases them too',
  rate_limited: ({ levels }) =>
    levels.some(({ of }) => of === 'events')
      ? 'The limit of published events of this project is reached'
      : `The limit of sends of this ${levels.find(({ remaining }) => remaining === 0)?.of ?? 'project'} is reached`,
}

const issues: Entries<readonly Issue[]> = {
  invalid: (error) => error.issues,
  end_user_id_required: [{ path: 'executionPrincipal.endUserId', message: 'is required' }],
  principal_invalid: ({ reason }) => [{ path: 'executionPrincipal', message: reason }],
}

/** Returns the error as the body of an answer shows it. */
export function errorBody(error: HttpError): ErrorBody['error'] {
  const { code, message } = refusalOf(error)
  const found = entryFor(issues, error)
  return { code, message: entryFor(words, error) ?? message, ...(found && { issues: found }) }
}

const ROOTS =
  /\/(?:v1|api\/cron\/webhooks|healthz|readyz|metrics|openapi\.json|docs|schemas|inputs)(?:\/|$)/

/** Returns the path of the app, for links to its own pages. */
const mountPathOf = ({ req }: RouteContext): string =>
  encodeURI(req.path.slice(0, Math.max(0, req.path.search(ROOTS))))

/** Answers with an error. */
export function refuse(c: RouteContext, error: HttpError) {
  const refusal = refusalOf(error)
  const { code, status } = refusal
  c.set('refusal', {
    errorCode: code,
    ...(error.kind === 'unavailable' && { reason: error.reason }),
  })
  const body: ErrorBody = { error: errorBody(error), requestId: c.get('requestId') }
  const help = `<${c.get('basePath') ?? mountPathOf(c)}/docs#${errorAnchor(code)}>; rel="help"`
  return reply(c, status, body, {
    Link: help,
    ...refusalHeaders(refusal),
    ...(error.kind === 'method_not_allowed' && { Allow: error.allow.join(', ') }),
    ...(error.kind === 'rate_limited' && rateLimitHeaders(c, error.levels)),
  })
}

function stateAndAdvice(state: string, isStarting: boolean): string {
  if (state === 'running') return ''
  if (state === 'stopped' && !isStarting)
    return ': its state is stopped. Start it with POST /v1/agents/:id/start'
  const advice = state === 'error' ? '. GET /v1/agents/:id shows the reason' : ''
  return `: its state is ${state}${advice}`
}

/**
 * Returns the fields of draft-ietf-httpapi-ratelimit-headers-09. The quota `q` is the size of the
 * bucket, and the window `w` is the time in which an empty bucket becomes full. A caller
 * without an API key sees only its own bucket: the one of the project tells what others send.
 */
export function rateLimitHeaders(
  c: RouteContext,
  all: readonly BucketLevel[],
): Record<string, string> {
  const { access } = c.get('requester')
  const levels = access ? all.filter(({ of }) => of === 'caller') : all
  if (levels.length === 0) return {}
  const policies = levels.map(
    ({ of, limit: { messagesPerMinute, burst } }) =>
      `"${of}";q=${burst};w=${Math.ceil((burst * 60) / messagesPerMinute)}`,
  )
  const states = levels.map(
    ({ of, remaining, fullInMs }) => `"${of}";r=${remaining};t=${Math.ceil(fullInMs / 1_000)}`,
  )
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') }
}
