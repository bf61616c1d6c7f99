import { PLATFORM_PROJECT } from '@org/agent-messaging-http-kit'
import { isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { isAgentName, isExternalId } from '@org/agent-messaging-core/host'
import type { RouteContext } from './env.js'

// An illegal id is replaced by an id that no row has. The answer is then the same 404 after the
// same checks, and no odd text (NUL, broken percent-encoding, a megabyte) reaches a store.
const UNUSED_ID = '00000000-0000-0000-0000-000000000000'

export const idIn = (segment = ''): string => (isUuid(segment) ? segment.toLowerCase() : UNUSED_ID)

/**
 * Returns a session id or an end user's id. A text that no store accepts becomes empty: no row has
 * that.
 */
export const textIn = (segment = ''): string => (isStorableText(segment) ? segment : '')

/** Returns an agent's id or name. */
export const agentIn = (segment = ''): string => (isAgentName(segment) ? segment : idIn(segment))

/** Returns the agent that the path names as `:id`. */
export const agentRef = (c: RouteContext) => ({
  projectId: c.get('projectId'),
  agent: agentIn(c.req.param('id')),
})

/** Returns the message that the path names as `:id` and `:messageId`. */
export const messageRef = (c: RouteContext) => ({
  ...agentRef(c),
  messageId: idIn(c.req.param('messageId')),
})

/** Names the project of the caller. */
export const inProject = <T extends object>(c: RouteContext, input: T) => ({
  projectId: c.get('projectId'),
  ...input,
})

/** Returns the event that the path names as `:id`. */
export const eventRef = (c: RouteContext) => inProject(c, { eventId: textIn(c.req.param('id')) })

/** Names the caller in the audit log. */
export const byActor = <T extends object>(c: RouteContext, input: T) => ({
  ...input,
  actor: c.get('actor'),
})

/** Limits a call to what the caller reaches. */
export const byAccess = <T extends object>(c: RouteContext, input: T) => ({
  ...input,
  access: c.get('requester').access,
})

/** Returns the id or the external id of the project that the path names as `:id`. */
export const projectIn = (c: RouteContext): string => {
  const ref = c.req.param('id')
  return isExternalId(ref) ? ref : idIn(ref)
}

/** Returns the row of the project that the path names as `:id`. */
export const refIn = <Name extends string>(c: RouteContext, name: Name) =>
  ({ projectId: c.get('projectId'), [name]: idIn(c.req.param('id')) }) as {
    readonly [Field in Name | 'projectId']: string
  }

/**
 * Returns the path under which callers reach the app: the `basePath` option, or else the part of
 * the request's path before `route`. The last match counts, because a host can mount the app
 * under a path that contains `route` too.
 */
export const basePathOf = (
  { req }: RouteContext,
  { basePath, route }: { readonly basePath: string | undefined; readonly route: string },
): string => basePath ?? encodeURI(req.path.slice(0, req.path.lastIndexOf(route)))

/** Returns the `Location` of a row below `route`. */
export const locationOf = (
  c: RouteContext,
  basePath: string | undefined,
  at: { readonly route: string; readonly id: string },
) => {
  const project = c.req.param(PLATFORM_PROJECT)
  const route = project === undefined ? at.route : belowProject(at.route, project)
  return { Location: `${basePathOf(c, { basePath, route })}${route}/${at.id}` }
}

/** Returns where a platform finds the route of a project, such as `/v1/projects/:project/webhooks`. */
export const belowProject = (route: string, project: string): string =>
  route.replace('/v1', `/v1/projects/${project}`)
